#include "recent.hpp"

#include <algorithm>
#include <utility>

namespace waybill::sqlite {

std::uint64_t RecentMessages::bytes_of(const Message& message) {
    return sizeof(Message) + message.body.size();
}

void RecentMessages::add(std::span<const Append> items, std::span<const AppendResult> results) {
    const std::lock_guard lock{mutex_};
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (results[i].status == AppendResult::Status::fresh) {
            put(results[i].sequence, items[i].message);
        }
    }
    shrink();
}

void RecentMessages::put(Sequence sequence, const MessagePtr& message) {
    bytes_ += bytes_of(*message);
    if (known_.empty() || known_.back().sequence < sequence) {
        known_.push_back({sequence, message});
        return;
    }
    // Two that committed one after the other may come here the other way round.
    const auto place = std::ranges::lower_bound(known_, sequence, {}, &Known::sequence);
    known_.insert(place, {sequence, message});
}

void RecentMessages::shrink() {
    while (!known_.empty() && (bytes_ > bytes_max_ || !known_.front().message)) {
        if (known_.front().message) bytes_ -= bytes_of(*known_.front().message);
        known_.pop_front();
    }
}

MessagePtr RecentMessages::take(Sequence sequence) {
    const std::lock_guard lock{mutex_};
    const auto found = std::ranges::lower_bound(known_, sequence, {}, &Known::sequence);
    if (found == known_.end() || found->sequence != sequence || !found->message) return nullptr;
    bytes_ -= bytes_of(*found->message);
    MessagePtr message = std::exchange(found->message, nullptr);
    if (found == known_.begin()) shrink();
    return message;
}

void RecentMessages::forget_through(Sequence sequence) {
    const std::lock_guard lock{mutex_};
    while (!known_.empty() && known_.front().sequence <= sequence) {
        if (known_.front().message) bytes_ -= bytes_of(*known_.front().message);
        known_.pop_front();
    }
}

void RecentMessages::clear() {
    const std::lock_guard lock{mutex_};
    known_.clear();
    bytes_ = 0;
}

}  // namespace waybill::sqlite
