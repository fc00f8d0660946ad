#include "server/waiting.hpp"

#include <algorithm>

#include "core/asking.hpp"
#include "core/wording.hpp"
#include "server/log.hpp"
#include "waybill/instances.hpp"

namespace waybill::server {
namespace {

/// A message for thousands of subscriptions: each answer costs a look into the store.
constexpr std::size_t kAskedMost = 100;

const Progress* progress_of(const Entry& row, const Target& target) {
    const auto found = std::ranges::find_if(
        row.progress, [&](const Progress& one) { return is_named(target, one.target); });
    return found == row.progress.end() ? nullptr : &*found;
}

bool is_open(const Entry& row, const Target& target, std::span<const Target> registry) {
    return !row.parked && row.message->box == target.box &&
           detail::waits_for(target, row, *row.message, registry);
}

bool is_replaced(const Target& target, std::span<const Target> registry) {
    return std::ranges::any_of(registry,
                               [&](const Target& other) { return took_over(other, target); });
}

std::string predecessor_of(const Entry& row, const Target& target,
                           std::span<const Target> registry) {
    const auto before = std::ranges::find_if(registry, [&](const Target& other) {
        return other.box == target.box && other.key == target.after;
    });
    if (target.after.empty() || before == registry.end()) return {};
    return is_open(row, *before, registry) ? before->key : std::string{};
}

/// One row, and what is asked for it at most once.
class Row {
public:
    Row(const Entry& row, const WaitingFacts& facts) : row_(row), facts_(facts) {}

    std::string why(const Target& target, const OpenDelivery& delivery, bool may_ask) {
        const std::string& box = row_.message->box;
        if (row_.halted) {
            return "its lane is halted at it; `waybill lanes list` says why, `waybill lanes "
                   "resume` or `skip` goes on";
        }
        if (facts_.box_is_paused) {
            return "the box is paused; `waybill boxes resume " + box + "` lets it go on";
        }
        if (may_ask && facts_.of_target) {
            if (std::string text = facts_.of_target(target); !text.empty()) return text;
        }
        if (const std::string before = predecessor_of(row_, target, facts_.registry);
            !before.empty()) {
            return "it runs after " + before + ", which has not ended";
        }
        if (delivery.due > facts_.now) return until_its_time(delivery);
        if (const Entry* ahead = may_ask ? ahead_of(target) : nullptr) {
            const std::string id = to_string(ahead->message->id);
            return "it is behind message " + id + " in lane " +
                   detail::in_quotes(row_.message->lane) + "; `waybill messages show " + id + "`";
        }
        return facts_.refused;
    }

private:
    static std::string until_its_time(const OpenDelivery& delivery) {
        const std::string time = time_text(delivery.due);
        if (delivery.failures == 0) return "its time comes at " + time;
        return "it failed " + detail::times(delivery.failures) +
               ", the last time: " + delivery.last_error + "; tried again at " + time;
    }

    /// The oldest of its lane that this target has not ended.
    const Entry* ahead_of(const Target& target) {
        if (!facts_.lanes_are_strict || row_.message->lane.empty() || !facts_.lane) return nullptr;
        if (!lane_) lane_ = facts_.lane(row_);
        const auto found = std::ranges::find_if(*lane_, [&](const Entry& other) {
            return other.sequence < row_.sequence && is_open(other, target, facts_.registry);
        });
        return found == lane_->end() ? nullptr : &*found;
    }

    const Entry& row_;
    const WaitingFacts& facts_;
    std::optional<std::vector<Entry>> lane_{};
};

}  // namespace

std::vector<OpenDelivery> open_deliveries(std::span<const Entry> open, const WaitingFacts& facts) {
    std::vector<OpenDelivery> all;
    for (const Entry& entry : open) {
        Row row{entry, facts};
        for (const Target& target : facts.registry) {
            if (!is_open(entry, target, facts.registry) || is_replaced(target, facts.registry)) {
                continue;
            }
            OpenDelivery delivery{.target = target.key, .due = entry.due};
            if (const Progress* known = progress_of(entry, target)) {
                delivery.failures = known->failures;
                delivery.last_error = known->last_error;
                delivery.due = std::max(delivery.due, known->due);
            }
            delivery.waits = row.why(target, delivery, all.size() < kAskedMost);
            all.push_back(std::move(delivery));
        }
    }
    return all;
}

}  // namespace waybill::server
