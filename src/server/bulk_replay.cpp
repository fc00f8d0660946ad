#include "server/bulk_replay.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "server/admin_query.hpp"

namespace waybill::server {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kReplayBatch = 100;

StoreTime time_of(std::int64_t microseconds) {
    return StoreTime{Duration{microseconds}};
}

Duration time_for(double messages, double rate) {
    return Duration{static_cast<std::int64_t>(std::ceil(messages / rate * 1e6))};
}

/// What a pause may save up: a second's worth, and one message at least.
Duration pause_max(double rate) {
    return std::max<Duration>(1s, time_for(1, rate));
}

/// How many the rate allows by now.
std::uint64_t allowance(const ReplayOrder& order, StoreTime now, BulkProgress& progress) {
    if (order.rate <= 0) return UINT64_MAX;
    const StoreTime earliest = now - pause_max(order.rate);
    const StoreTime from = std::clamp(time_of(progress.paced_at), earliest, now);
    progress.paced_at = from.time_since_epoch().count();
    const double seconds = std::chrono::duration<double>(now - from).count();
    return static_cast<std::uint64_t>(seconds * order.rate + 1e-6);
}

/// A replay gives its message a new generation: who finds a later one than was written down has done
/// it already.
bool was_replayed(Catalogue& catalogue, const LetterRef& ref, const Uuid& message) {
    const auto detail = catalogue.get(message);
    return detail && detail->summary.requeues > ref.requeues;
}

/// `after_crash`: some of them may have been carried out before it.
void carry_out_replays(Catalogue& catalogue, bool after_crash, BulkProgress& progress) {
    std::vector<DeliveryRef> deliveries;
    for (const LetterRef& ref : progress.batch) {
        const Uuid message = parse_uuid(ref.message).value_or(Uuid{});
        if (after_crash && was_replayed(catalogue, ref, message)) {
            ++progress.carried_out;
        } else {
            deliveries.push_back({message, ref.target});
        }
    }
    for (const OperationResult& result : catalogue.replay(deliveries)) {
        ++(result.carried_out ? progress.carried_out : progress.refused);
        if (!result.carried_out && progress.refusal.empty()) progress.refusal = result.text;
    }
    progress.batch.clear();
    progress.cursor = progress.after_batch;
}

/// Counts what there is, and remembers up to when.
void begin(Catalogue& catalogue, const Filter& filter, BulkProgress& progress) {
    Filter newest = filter;
    newest.oldest_first = false;
    const auto page = catalogue.browse(newest, "", 1);
    if (!page.items.empty()) {
        const StoreTime end = page.items[0].appended_at + Duration{1};
        progress.last = std::to_string(end.time_since_epoch().count());
        progress.total = catalogue.count(newest);
    }
    progress.counted = true;
}

StoreTime end_of(const BulkProgress& progress) {
    std::int64_t microseconds = 0;
    const std::string& text = progress.last;
    std::from_chars(text.data(), text.data() + text.size(), microseconds);
    return time_of(microseconds);
}

}  // namespace

void replay_matching(Catalogue& catalogue, const ReplayOrder& order, std::uint32_t messages_max,
                     StoreTime now, Operation& operation) {
    using enum Filter::State;
    if (order.target.empty()) throw BadQuery{"target: say which target gets them again"};
    Filter filter = order.filter;
    if (filter.state != any && filter.state != done) {
        throw BadQuery{"state: what is replayed has ended; say done (the default) or any"};
    }
    filter.target.clear();
    filter.oldest_first = true;
    BulkProgress& progress = operation.bulk;
    if (!progress.counted) begin(catalogue, filter, progress);
    filter.until = std::min(filter.until, end_of(progress));
    if (!progress.batch.empty()) {
        carry_out_replays(catalogue, true, progress);
        if (progress.cursor.empty()) return;
    }
    std::uint64_t left = std::min<std::uint64_t>(messages_max, allowance(order, now, progress));
    while (progress.total > 0) {
        if (operation.must_end()) return;
        if (left == 0) {
            operation.unfinished = true;
            return;
        }
        const auto page = catalogue.browse(
            filter, progress.cursor, static_cast<std::uint32_t>(std::min(left, kReplayBatch)));
        for (const MessageSummary& item : page.items) {
            progress.batch.push_back({to_string(item.message->id), order.target, item.requeues});
        }
        const std::size_t count = page.items.size();
        if (order.rate > 0) {
            progress.paced_at += time_for(static_cast<double>(count), order.rate).count();
        }
        left -= count;
        progress.after_batch = page.next;
        operation.save();
        carry_out_replays(catalogue, false, progress);
        if (progress.cursor.empty()) return;
    }
}

Duration wait_of(const ReplayOrder& order, StoreTime now, const Operation& operation) {
    if (!operation.unfinished || order.rate <= 0) return {};
    // A few at once rather than one by one.
    const double few = std::max(1.0, order.rate / 4);
    const StoreTime next = time_of(operation.bulk.paced_at) + time_for(few, order.rate);
    return std::max(next - now, Duration{});
}

void replay_one(Catalogue& catalogue, const Uuid& message, const std::string& target,
                Operation& operation) {
    BulkProgress& progress = operation.bulk;
    const bool after_crash = progress.counted;
    if (!progress.counted) {
        const auto detail = catalogue.get(message);
        progress.batch = {{to_string(message), target, detail ? detail->summary.requeues : 0}};
        progress.total = 1;
        progress.counted = true;
        operation.save();
    }
    carry_out_replays(catalogue, after_crash, progress);
}

}  // namespace waybill::server
