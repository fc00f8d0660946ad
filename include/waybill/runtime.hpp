#pragma once

#include <cstdint>

#include "waybill/time.hpp"

/// What the engine may know of the world it runs in. Production and simulation differ in these and
/// in nothing else.
namespace waybill {

/// Two clocks: one that measures, one that names moments.
class Clock {
public:
    virtual ~Clock() = default;
    /// CLOCK_BOOTTIME.
    virtual LocalTime now() = 0;
    /// Wall time, for ids and for stores that have no clock of their own. Never used for leases.
    virtual StoreTime wall() = 0;
};

/// Chance, so that a test can own it.
class Random {
public:
    virtual ~Random() = default;
    virtual std::uint64_t next() = 0;

    /// Uniform in [0, 1).
    virtual double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
};

}  // namespace waybill
