#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "waybill/time.hpp"

namespace waybill::engine {

/// When results are settled. A batch of a few costs the store almost as much as one of hundreds, so that a stream of
/// results that nobody waits for would keep it busy with small ones: these wait for company, for as long as the last
/// batch took. A single result after a while goes at once. Two halves of a batch let store and handlers work side by side,
/// and are one more call: that pays where the store takes no longer for a result than the engine does.
class SettlePace {
public:
    explicit SettlePace(Duration quick) : quick_(quick) {}

    /// Somebody waits for a result: the next of its lane or chain, an operator, a retry.
    void hurry() { hurries_ = true; }
    bool hurries() const { return hurries_; }
    /// A batch of `rows` goes out; `left`: not all of what there is.
    void sent(LocalTime now, std::size_t rows, bool left) {
        hurries_ = left;
        sent_at_ = now;
        rows_ = rows;
    }
    void answered(LocalTime now) {
        const Duration took = now - sent_at_;
        after_ = now + std::min(took, kPauseMax);
        if (rows_ >= kTelling) pays_halves_ = took <= static_cast<std::int64_t>(rows_) * quick_;
    }

    bool is_time(LocalTime now) const { return hurries_ || now >= after_; }
    /// When it is time, at the latest.
    LocalTime next() const { return after_; }
    /// Going by the last batch that was not small.
    bool pays_halves() const { return pays_halves_; }

private:
    static constexpr Duration kPauseMax = std::chrono::milliseconds{5};
    /// What so many take is not only the way there and back.
    static constexpr std::size_t kTelling = 32;

    const Duration quick_;  ///< is a store that takes no longer for each
    bool hurries_ = false;
    bool pays_halves_ = true;
    LocalTime sent_at_{};
    std::size_t rows_ = 0;
    LocalTime after_{};
};

}  // namespace waybill::engine
