#include "server/unserved.hpp"

#include <algorithm>

#include "core/wording.hpp"

namespace waybill::server {
namespace {

bool took_over(const Target& newer, const Target& older) {
    return newer.box == older.box && newer.key != older.key &&
           std::ranges::find(newer.legacy_keys, older.key) != newer.legacy_keys.end();
}

}  // namespace

bool is_served(const Config& config, const Target& target) {
    return has_target(config, target.box, target.key) ||
           std::ranges::any_of(config.targets, [&](const TargetConfig& one) {
               return took_over(one.target, target);
           });
}

std::vector<UnservedTarget> unserved_targets(Catalogue& catalogue, const Config& config) {
    std::vector<UnservedTarget> unserved;
    const std::vector<Target> registry = catalogue.targets();
    for (const Target& target : registry) {
        const bool is_replaced = std::ranges::any_of(
            registry, [&](const Target& other) { return took_over(other, target); });
        if (is_replaced || is_served(config, target)) continue;
        unserved.push_back({target.box, target.key, catalogue.waiting_for(target)});
    }
    return unserved;
}

std::string text_of(const UnservedTarget& target) {
    return "target " + detail::in_quotes(target.key) + " of box " + detail::in_quotes(target.box) +
           " is registered and nobody serves it; " + detail::grouped(target.waiting) +
           (target.waiting == 1 ? " message waits" : " messages wait") +
           " for it. Renamed: put its key into legacy_keys of the new one. Removed: "
           "`waybill targets forget " +
           target.key + " --box " + target.box + "`";
}

}  // namespace waybill::server
