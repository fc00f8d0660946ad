#include <algorithm>

#include "server/admin.hpp"
#include "server/admin_json.hpp"
#include "server/answer.hpp"
#include "server/waiting.hpp"
#include "waybill/json.hpp"
#include "waybill/store.hpp"
#include "waybill/system.hpp"

/// Everything of one message, with why it waits.
namespace waybill::server {
namespace {

using json::Array;
using json::Object;

/// Enough to find the head; the bodies come along.
constexpr std::uint32_t kLaneRows = 64;
constexpr std::uint64_t kLaneBytes = std::uint64_t{1} << 20;

/// Nothing, if that cannot be said now: the rest of the answer is worth more than none. Asked once, for the engine has no
/// other way to the store than this.
std::vector<Entry> lane_of(const Entry& row, Store& store) try {
    return store
        .read({.kind = ReadRequest::Kind::lanes,
               .lanes = {{.partition = row.partition, .lane = row.message->lane}},
               .lane_rows = kLaneRows,
               .rows_max = kLaneRows,
               .bytes_max = kLaneBytes})
        .entries;
} catch (const StoreError&) {
    return {};
}

/// By those who attend the box.
std::string refused(const std::vector<InstanceSeen>& instances, const std::string& box) {
    std::string all;
    for (const InstanceSeen& one : instances) {
        const bool attends = std::ranges::find(one.boxes, box) != one.boxes.end();
        if (!one.alive || !attends || one.refused.empty()) continue;
        if (!all.empty()) all += "; ";
        if (one.refused.starts_with("results")) all += "it may have run and is not recorded: ";
        all += one.name + ": the store has refused " + one.refused;
    }
    return all;
}

bool is_strict(const Config* config, const std::string& box) {
    if (config == nullptr) return true;
    const auto found = std::ranges::find(config->boxes, box, &BoxConfig::name);
    return found == config->boxes.end() || found->options.lanes == Lanes::strict;
}

}  // namespace

HttpResponse Admin::message(const std::string& text) {
    const auto id = parse_uuid(text);
    if (!id) return error_response(400, "bad-id", "the id of a message is a UUID");
    const auto detail = catalogue_.get(*id);
    if (!detail) return error_response(404, "not-found", "there is no message " + text);
    return json_response(200, to_json(*detail, open_deliveries(*detail)));
}

std::vector<OpenDelivery> Admin::open_deliveries(const MessageDetail& detail) {
    if (detail.open.empty()) return {};
    const std::string& box = detail.summary.message->box;
    const auto config = config_();
    const auto boxes = catalogue_.boxes();
    const auto state = std::ranges::find(boxes, box, &BoxState::name);
    const std::vector<Target> registry = catalogue_.targets();
    const auto instances = who_.instances ? who_.instances() : std::vector<InstanceSeen>{};
    const auto of_subscription = subscriptions_.why_they_wait();
    return server::open_deliveries(
        detail.open, {.registry = registry,
                      .box_is_paused = state != boxes.end() && state->paused,
                      .lanes_are_strict = is_strict(config.get(), box),
                      .refused = refused(instances, box),
                      .now = system_clock().wall(),
                      .of_target =
                          [&](const Target& target) {
                              return why_unserved(target, config.get(), instances, of_subscription);
                          },
                      .lane = [&](const Entry& row) { return lane_of(row, store_.store()); }});
}

/// Whom nobody serves, or who is not to get anything now.
std::string Admin::why_unserved(const Target& target, const Config* config,
                                const std::vector<InstanceSeen>& instances,
                                const SubscriptionDesk::WhyItWaits& of_subscription) {
    if (target.key.starts_with(subscription_prefix)) {
        const auto id = parse_uuid(target.key.substr(subscription_prefix.size()));
        const auto why = id ? of_subscription(*id) : std::nullopt;
        if (why) return *why;
        if (is_of_a_file(target.key) && config == nullptr) return {};
        return is_of_a_file(target.key)
                   ? "the subscription is not in this server's configuration: put it there with "
                     "the same box, type and tenant, or, if no other server has it, `waybill "
                     "targets forget " +
                         target.key + "`"
                   : "there is no such subscription any more; `waybill targets forget " +
                         target.key + "`";
    }
    if (!can_tell_served(config, who_)) return {};
    const bool is_run = std::ranges::any_of(
        instances, [&](const InstanceSeen& instance) { return serves(instance, target); });
    if (is_run || (who_.configuration_counts && is_served(*config, target))) return {};
    return "nobody serves this target; `waybill targets list` names those, `waybill stats` says "
           "what to do";
}

}  // namespace waybill::server
