#include "recent.hpp"

namespace waybill::postgres {
namespace {

/// Beside its texts.
constexpr std::uint64_t kOverhead = 512;
constexpr std::size_t kOrderMax = 100'000;

}  // namespace

std::uint64_t Recent::size_of(const Message& message) {
    return message.body.size() + kOverhead;
}

void Recent::put(Sequence sequence, MessagePtr message) {
    const std::uint64_t bytes = size_of(*message);
    const std::lock_guard lock{mutex_};
    while (!order_.empty() && (bytes_ + bytes > bytes_max_ || order_.size() >= kOrderMax)) {
        if (const auto oldest = messages_.find(order_.front()); oldest != messages_.end()) {
            bytes_ -= size_of(*oldest->second);
            messages_.erase(oldest);
        }
        order_.pop_front();
    }
    if (bytes > bytes_max_) return;
    bytes_ += bytes;
    order_.push_back(sequence);
    messages_.emplace(sequence, std::move(message));
}

MessagePtr Recent::take(Sequence sequence) {
    const std::lock_guard lock{mutex_};
    const auto found = messages_.find(sequence);
    if (found == messages_.end()) return nullptr;
    MessagePtr message = std::move(found->second);
    messages_.erase(found);
    bytes_ -= size_of(*message);
    if (messages_.empty()) order_.clear();
    return message;
}

}  // namespace waybill::postgres
