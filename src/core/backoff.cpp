#include "waybill/backoff.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace waybill {
namespace {

using Ticks = Duration::rep;

/// Towards zero, and stopping at the ends of the range instead of overflowing.
Ticks to_ticks(double value) {
    constexpr double end = 0x1.0p63;
    if (std::isnan(value)) return 0;
    if (value >= end) return std::numeric_limits<Ticks>::max();
    if (value <= -end) return std::numeric_limits<Ticks>::min();
    return static_cast<Ticks>(value);
}

/// `delay` is not negative; neither is the result of taking away at most all of it.
Ticks moved(Ticks delay, double by) {
    const Ticks offset = to_ticks(by);
    if (offset > std::numeric_limits<Ticks>::max() - delay)
        return std::numeric_limits<Ticks>::max();
    return std::max<Ticks>(delay + offset, 0);
}

Ticks exponential(const Backoff& backoff, std::uint32_t failures) {
    const Ticks base = std::max<Ticks>(backoff.base.count(), 0);
    const Ticks cap = std::max<Ticks>(backoff.cap.count(), 0);
    if (base == 0) return 0;  // 0 × infinity has no value
    const double grown =
        static_cast<double>(base) * std::pow(backoff.multiplier, static_cast<double>(failures - 1));
    // Also true of infinity and of what is not a number.
    if (!(grown < static_cast<double>(cap))) return cap;
    return std::min(to_ticks(std::round(grown)), cap);
}

Ticks scheduled(const std::vector<Duration>& schedule, std::uint32_t failures) {
    const std::size_t index = std::min<std::size_t>(failures - 1, schedule.size() - 1);
    return std::max<Ticks>(schedule[index].count(), 0);
}

Ticks spread(const Jitter& jitter, Ticks delay, double random) {
    const auto whole = static_cast<double>(delay);
    switch (jitter.kind) {
        case Jitter::Kind::none: break;
        case Jitter::Kind::symmetric: {
            const double share = std::clamp(jitter.share, 0.0, 1.0);
            return moved(delay, whole * share * (2.0 * random - 1.0));
        }
        case Jitter::Kind::equal: return moved(delay, -whole / 2.0 * (1.0 - random));
    }
    return delay;
}

}  // namespace

Duration delay_after(const Backoff& backoff, std::uint32_t failures, double random) {
    failures = std::max(failures, 1U);
    random = std::clamp(random, 0.0, 1.0);
    const Ticks delay = backoff.schedule.empty() ? exponential(backoff, failures)
                                                 : scheduled(backoff.schedule, failures);
    return std::max(Duration{spread(backoff.jitter, delay, random)}, delay_floor);
}

}  // namespace waybill
