#pragma once

#include <algorithm>
#include <cstddef>

#include "waybill/time.hpp"

namespace waybill::runtime {

/// For how many callers a group commit waits, and how long. Those who were answered together mostly come
/// back together: whoever commits with the first of them leaves the others the next commit, and two
/// half-full ones cost the disk twice. Waiting is worth as much as a commit takes, as long as they do
/// come; where they do not, it is tried less and less often. A caller alone never waits. Where several
/// commits go on at once, each waits for its part of them.
class Company {
public:
    explicit Company(std::size_t parts = 1) : parts_(std::max<std::size_t>(parts, 1)) {}

    std::size_t parts() const { return parts_; }
    /// After a commit: how many are around, those it answered and those who came meanwhile.
    void note(std::size_t around, LocalTime now, Duration took) {
        if (took < kCheap) {
            around_ = 0;
        } else {
            // Some are between two calls, and not seen.
            around_ = std::max(around, around_ - (around_ + 15) / 16);
        }
        until_ = later(now, std::min(took, kPatienceMax));
        if (skip_ > 0) --skip_;
    }
    /// Whether so many are enough to go ahead.
    bool is_complete(std::size_t here) const { return skip_ > 0 || here * parts_ >= around_; }
    /// When to go ahead without the others.
    LocalTime until() const { return until_; }
    /// They did, or did not, come in time.
    void came(bool all) {
        if (skip_ > 0) return;
        lean_ = all ? 0 : std::min(2 * lean_ + 1, kLeanMax);
        skip_ = lean_;
    }

private:
    /// A commit that takes less costs no more than the threads that go to sleep for it.
    static constexpr Duration kCheap = std::chrono::microseconds{50};
    static constexpr Duration kPatienceMax = std::chrono::milliseconds{5};
    static constexpr unsigned kLeanMax = 63;

    std::size_t parts_;
    std::size_t around_ = 0;
    LocalTime until_{};
    /// Commits that wait for nobody, from now and after the next disappointment.
    unsigned skip_ = 0;
    unsigned lean_ = 0;
};

}  // namespace waybill::runtime
