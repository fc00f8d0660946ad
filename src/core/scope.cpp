#include "waybill/scope.hpp"

#include <utility>

#include "core/assert.hpp"

namespace waybill {
namespace {

thread_local const Scope* innermost = nullptr;

void fill(std::string& field, const std::string& value) {
    if (field.empty()) field = value;
}

}  // namespace

Scope::Scope(Ambient values) : values_(std::move(values)), around_(innermost) {
    const Ambient& around = ambient();
    fill(values_.tenant, around.tenant);
    fill(values_.user, around.user);
    fill(values_.correlation_id, around.correlation_id);
    innermost = this;
}

Scope::~Scope() {
    WAYBILL_ASSERT(innermost == this);
    innermost = around_;
}

const Ambient& ambient() {
    static const Ambient none{};
    return innermost == nullptr ? none : innermost->values();
}

void stamp(Message& message) {
    const Ambient& now = ambient();
    fill(message.tenant, now.tenant);
    fill(message.user, now.user);
    fill(message.correlation_id, now.correlation_id);
}

}  // namespace waybill
