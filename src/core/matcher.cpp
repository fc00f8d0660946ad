#include "core/wildcard.hpp"
#include "waybill/target.hpp"

namespace waybill {

bool matches(std::string_view pattern, std::string_view text) {
    return detail::wildcard_match(pattern, text);
}

bool matches(const Matcher& matcher, const Message& message) {
    return matches(matcher.type, message.type) && matches(matcher.source, message.source) &&
           (matcher.tenant == other_tenants || matches(matcher.tenant, message.tenant));
}

}  // namespace waybill
