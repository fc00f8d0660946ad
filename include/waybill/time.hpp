#pragma once

#include <chrono>
#include <cstdint>

/// Two clocks that must never be confused: the store's, which all instances share and which decides
/// due times, leases and retention; and this host's, which only measures how long something took here.
namespace waybill {

/// The unit of every span of time here.
using Duration = std::chrono::microseconds;

/// "Never expires", for retention and dedup windows.
inline constexpr Duration forever = Duration::max();

/// The store's wall clock. Never read locally: it arrives with the store's answers.
struct StoreClock {
    using rep = std::int64_t;
    using period = std::micro;
    using duration = Duration;
    using time_point = std::chrono::time_point<StoreClock, Duration>;
    static constexpr bool is_steady = false;
};

/// This host's CLOCK_BOOTTIME: monotonic, and it goes on while the machine is suspended.
struct BootClock {
    using rep = std::int64_t;
    using period = std::micro;
    using duration = Duration;
    using time_point = std::chrono::time_point<BootClock, Duration>;
    static constexpr bool is_steady = true;
};

/// A moment of the store, shared by all its hosts.
using StoreTime = StoreClock::time_point;
/// A moment of this host, for measuring.
using LocalTime = BootClock::time_point;

/// A moment that is never reached.
inline constexpr StoreTime store_never = StoreTime::max();
/// The same on this host.
inline constexpr LocalTime local_never = LocalTime::max();

/// `time + delay` that stops at the end of time instead of overflowing.
template <class Clock>
constexpr std::chrono::time_point<Clock, Duration> later(
    std::chrono::time_point<Clock, Duration> time, Duration delay) {
    const auto left = std::chrono::time_point<Clock, Duration>::max() - time;
    return time.time_since_epoch().count() > 0 && delay > left
               ? std::chrono::time_point<Clock, Duration>::max()
               : time + delay;
}

}  // namespace waybill
