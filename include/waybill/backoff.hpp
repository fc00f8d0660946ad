#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waybill/time.hpp"

namespace waybill {

/// How a delay is spread so that a thousand failures do not come back in the same instant.
struct Jitter {
    enum class Kind { none, symmetric, equal };
    Kind kind = Kind::none;
    /// symmetric: the share of the delay it may move either way. 0 … 1.
    double share = 0.0;

    static constexpr Jitter none() { return {}; }
    /// delay × (1 ± share)
    static constexpr Jitter symmetric(double share) { return {Kind::symmetric, share}; }
    /// delay/2 + random(0 … delay/2)
    static constexpr Jitter equal() { return {Kind::equal, 0.0}; }

    bool operator==(const Jitter&) const = default;
};

/// The wait after the n-th failure: min(base × multiplier^(n-1), cap) with jitter, or the n-th
/// entry of an explicit schedule (its last one repeated).
struct Backoff {
    Duration base = std::chrono::seconds{5};
    /// 1 … 100
    double multiplier = 2.0;
    Duration cap = std::chrono::minutes{5};
    Jitter jitter = Jitter::symmetric(0.2);
    /// Used instead of base, multiplier and cap when not empty. Jitter applies to it too.
    std::vector<Duration> schedule{};

    bool operator==(const Backoff&) const = default;
};

/// No delay is ever shorter, so that nothing can spin.
inline constexpr Duration delay_floor = std::chrono::milliseconds{10};

/// Pure: `failures` >= 1 counts the one just seen, `random` is uniform in [0, 1). Safe for any
/// count; never below `delay_floor`, never above cap × (1 + share).
Duration delay_after(const Backoff& backoff, std::uint32_t failures, double random);

}  // namespace waybill
