#include "server/unserved.hpp"

#include <algorithm>

#include "core/wording.hpp"
#include "waybill/system.hpp"

namespace waybill::server {
namespace {

constexpr Duration kGoodFor = std::chrono::seconds{30};

}  // namespace

bool is_of_a_file(std::string_view key) {
    if (!key.starts_with(subscription_prefix)) return false;
    const auto id = parse_uuid(key.substr(subscription_prefix.size()));
    return id && id->bytes[6] >> 4 == 8;
}

bool is_served(const Config& config, const Target& target) {
    // Those in the store are every server's.
    if (target.key.starts_with(subscription_prefix)) {
        return !is_of_a_file(target.key) ||
               std::ranges::any_of(config.subscriptions,
                                   [&](const auto& one) { return key_of(one) == target.key; });
    }
    return has_target(config, target.box, target.key) ||
           std::ranges::any_of(config.targets, [&](const TargetConfig& one) {
               return took_over(one.target, target);
           });
}

InstanceSeen described(const Config& config, const Status& status, StoreTime since) {
    InstanceSeen seen{.name = config.instance == "auto" ? "this server" : config.instance,
                      .alive = status.started,
                      .since = since,
                      .last_beat = system_clock().wall(),
                      .lease = config.engine.lease,
                      .waiting = status.entries - std::min(status.entries, status.running),
                      .running = static_cast<std::uint32_t>(status.running),
                      .partitions = status.partitions,
                      .refused = status.refused};
    for (const BoxConfig& box : config.boxes) seen.boxes.push_back(box.name);
    return seen;
}

bool can_tell_served(const Config* config, const WhoServes& who) {
    return who.configuration_counts ? config != nullptr : who.instances != nullptr;
}

std::vector<UnservedTarget> unserved_targets(Catalogue& catalogue, const Config* config,
                                             const WhoServes& who) {
    if (!can_tell_served(config, who)) return {};
    std::vector<UnservedTarget> unserved;
    const auto instances = who.instances ? who.instances() : std::vector<InstanceSeen>{};
    const std::vector<Target> registry = catalogue.targets();
    const auto add = [&](const Target& target) {
        unserved.push_back({target.box, target.key, catalogue.waiting_for(target)});
    };
    // Where nobody lives nobody serves anything, and that is no reason to forget what a server will serve again.
    const bool anybody = std::ranges::any_of(instances, &InstanceSeen::alive);
    for (const Target& target : without_instance(registry, instances)) {
        if (config != nullptr && is_of_a_file(target.key)) continue;
        if (!anybody && (config == nullptr || is_served(*config, target))) continue;
        if (!who.configuration_counts || !is_served(*config, target)) add(target);
    }
    // Whoever carries out subscriptions would carry out any: only a file can say that one is gone.
    for (const Target& target : registry) {
        if (config != nullptr && is_of_a_file(target.key) && !is_served(*config, target)) {
            add(target);
        }
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
        const Config config = config_();
        if (store_.catalogue() != nullptr) {
            seen = unserved_targets(*store_.catalogue(), &config, who_);
        }
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
    if (is_of_a_file(target.key)) {
        return "subscription " + target.key.substr(subscription_prefix.size()) + " of box " +
               detail::in_quotes(target.box) + " is not in this server's configuration; " +
               detail::grouped(target.waiting) +
               (target.waiting == 1 ? " message waits" : " messages wait") +
               " for it. Put it there with the same box, type and tenant, and they are sent; or, "
               "if "
               "no other server has it, let go of them: `waybill targets forget " +
               target.key + " --box " + target.box + "`";
    }
    return "target " + detail::in_quotes(target.key) + " of box " + detail::in_quotes(target.box) +
           " is registered and nobody serves it; " + detail::grouped(target.waiting) +
           (target.waiting == 1 ? " message waits" : " messages wait") +
           " for it. Renamed: put its key into legacy_keys of the new one. Removed: "
           "`waybill targets forget " +
           target.key + " --box " + target.box + "`";
}

}  // namespace waybill::server
