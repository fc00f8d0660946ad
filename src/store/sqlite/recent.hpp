#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>

#include "waybill/store.hpp"

namespace waybill::sqlite {

/// Messages this process has just appended, for whoever reads their rows next: the body need not be
/// fetched and copied again. Each is handed out once; the oldest go when there are too many.
///
/// Thread safety: any thread.
class RecentMessages {
public:
    explicit RecentMessages(std::uint64_t bytes_max = 16ULL << 20) : bytes_max_(bytes_max) {}

    /// Those that are fresh, once they are committed.
    void add(std::span<const Append> items, std::span<const AppendResult> results);
    /// Null: not here.
    MessagePtr take(Sequence sequence);
    /// Nobody will read those up to there.
    void forget_through(Sequence sequence);
    void clear();

private:
    struct Known {
        Sequence sequence = 0;
        MessagePtr message{};
    };
    static std::uint64_t bytes_of(const Message& message);
    void put(Sequence sequence, const MessagePtr& message);
    void shrink();

    const std::uint64_t bytes_max_;
    std::mutex mutex_{};  ///< guards the two below
    /// By sequence; what was handed out is null.
    std::deque<Known> known_{};
    std::uint64_t bytes_ = 0;
};

}  // namespace waybill::sqlite
