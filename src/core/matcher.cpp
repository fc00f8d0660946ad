#include <algorithm>

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

bool is_named(const Target& target, std::string_view key) {
    return key == target.key ||
           std::ranges::find(target.legacy_keys, key) != target.legacy_keys.end();
}

bool wants(const Target& target, const Message& message, std::span<const Target> registry) {
    if (!matches(target.matcher, message)) return false;
    if (target.matcher.tenant != other_tenants || message.tenant.empty()) return true;
    return std::ranges::none_of(registry, [&](const Target& other) {
        const std::string& tenant = other.matcher.tenant;
        return other.box == target.box && tenant.find('*') == std::string::npos &&
               matches(tenant, message.tenant);
    });
}

}  // namespace waybill
