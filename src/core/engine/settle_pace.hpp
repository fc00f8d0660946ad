#pragma once

#include <algorithm>
#include <chrono>

#include "waybill/time.hpp"

namespace waybill::engine {

/// When results are settled. A batch of a few costs the store almost as much as one of hundreds, so that a stream of
/// results that nobody waits for would keep it busy with small ones: these wait for company, for as long as the last
/// batch took. A single result after a while goes at once.
class SettlePace {
public:
    /// Somebody waits for a result: the next of its lane or chain, an operator, a retry.
    void hurry() { hurries_ = true; }
    bool hurries() const { return hurries_; }
    /// A batch goes out; `left`: not all of what there is.
    void sent(LocalTime now, bool left) {
        hurries_ = left;
        sent_at_ = now;
    }
    void answered(LocalTime now) { after_ = now + std::min(now - sent_at_, kPauseMax); }

    bool is_time(LocalTime now) const { return hurries_ || now >= after_; }
    /// When it is time, at the latest.
    LocalTime next() const { return after_; }

private:
    static constexpr Duration kPauseMax = std::chrono::milliseconds{5};

    bool hurries_ = false;
    LocalTime sent_at_{};
    LocalTime after_{};
};

}  // namespace waybill::engine
