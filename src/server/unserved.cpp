#include "server/unserved.hpp"

#include <algorithm>

#include "core/wording.hpp"
#include "server/store_access.hpp"
#include "waybill/system.hpp"

namespace waybill::server {
namespace {

constexpr Duration kGoodFor = std::chrono::seconds{30};

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
    // Another server may have another configuration, and serve it: nobody is asked yet.
    if (is_shared(config.store)) return {};
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

std::vector<UnservedTarget> UnservedWatch::last() const {
    const std::lock_guard lock{mutex_};
    return last_;
}

bool UnservedWatch::is_due() {
    const std::lock_guard lock{mutex_};
    const LocalTime now = system_clock().now();
    if (now < due_at_) return false;
    due_at_ = later(now, kGoodFor);
    return true;
}

std::vector<UnservedTarget> UnservedWatch::look() {
    const LocalTime before = system_clock().now();
    std::vector<UnservedTarget> seen;
    try {
        if (store_.catalogue() != nullptr) seen = unserved_targets(*store_.catalogue(), config_());
    } catch (const StoreError&) {
        // That it does not answer is said elsewhere.
    }
    const LocalTime after = system_clock().now();
    constexpr int kShare = 20;  // looking is a twentieth of its time at most
    const std::lock_guard lock{mutex_};
    due_at_ = later(after, std::max<Duration>(kGoodFor, (after - before) * kShare));
    last_ = seen;
    return seen;
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
