#include "core/engine/ready_queue.hpp"

#include <utility>

#include "core/assert.hpp"

namespace waybill::engine {
namespace {

/// Idle tenants are forgotten beyond this many, so that a million tenants cost no memory.
constexpr std::size_t kTenantsKept = 1024;

}  // namespace

ReadyQueue::Tenant& ReadyQueue::tenant_of(const Work& work) {
    if (!work.tenanted) {
        return nobody_;
    }
    const auto found = tenants_.try_emplace(work.message->tenant).first;
    found->second.name = &found->first;
    return found->second;
}

void ReadyQueue::forget_if_idle(const Tenant& tenant) {
    if (tenants_.size() > kTenantsKept && tenant.name != nullptr && tenant.items.empty() &&
        !tenant.in_turn) {
        tenants_.erase(*tenant.name);
    }
}

void ReadyQueue::push(Work& work, std::uint32_t delivery) {
    Tenant& tenant = tenant_of(work);
    tenant.items.push_back({&work, delivery});
    if (!tenant.in_turn) {
        tenant.in_turn = true;
        turns_.push_back(&tenant);
    }
    ++size_;
}

ReadyQueue::Item ReadyQueue::pop() {
    WAYBILL_ASSERT(size_ > 0);
    if (last_ != nullptr) {
        forget_if_idle(*std::exchange(last_, nullptr));
    }
    for (;;) {
        Tenant& tenant = *turns_.front();
        turns_.pop_front();
        if (tenant.items.empty()) {  // emptied by pop_more
            tenant.in_turn = false;
            forget_if_idle(tenant);
            continue;
        }
        const Item item = tenant.items.front();
        tenant.items.pop_front();
        --size_;
        last_ = &tenant;
        // Its next turn comes after everybody else's.
        tenant.in_turn = !tenant.items.empty();
        if (tenant.in_turn) {
            turns_.push_back(&tenant);
        }
        return item;
    }
}

}  // namespace waybill::engine
