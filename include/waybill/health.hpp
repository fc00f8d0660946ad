#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waybill/time.hpp"
#include "waybill/upkeep.hpp"

namespace waybill {

/// An instance as it is now.
struct Status {
    /// Between start and stop.
    bool started = false;
    /// It owns or may own: started, its lease alive, not resigned.
    bool ready = false;
    /// Too many handlers are stuck past their deadline: it gave up; restart the process.
    bool resigned = false;
    /// After crashes it runs few messages at a time, to find the one that kills.
    bool careful = false;
    /// The lease ran out here: nothing is started until it is renewed.
    bool late = false;
    std::uint32_t partitions = 0;
    /// Messages in memory, and the bytes they and the blocked lanes take.
    std::uint64_t entries = 0;
    std::uint64_t window_used = 0;
    std::uint64_t running = 0;
    /// Handlers that run past their deadline or for a lost partition.
    std::uint64_t ghosts = 0;
    /// Results on their way into the store.
    std::uint64_t unsettled = 0;
    std::uint64_t blocked_lanes = 0;
    /// Rows that should have been known and were not: anything but zero is a bug of ours.
    std::uint64_t reconciled = 0;
    /// Targets of a partition that left memory and catch up from the store.
    std::uint32_t chains_behind = 0;
    /// What the store refuses for some seconds now, since when and why: "results for 12 s: …". Empty: nothing.
    std::string refused{};
    /// Messages that wait in append() while others are being stored; also when not started.
    std::uint64_t appends_waiting = 0;

    bool operator==(const Status&) const = default;
};

/// From where on people should look, and from where on they should hurry.
struct HealthLimits {
    std::uint64_t open_degraded = 1'000;
    std::uint64_t open_unhealthy = 10'000;
    Duration lag_degraded = std::chrono::minutes{5};
    Duration lag_unhealthy = std::chrono::minutes{30};
    std::uint64_t dead_degraded = 100;
    std::uint64_t dead_unhealthy = 1'000;
    std::uint64_t parked_degraded = 1;
};

/// Whether people should look, and why.
struct Health {
    enum class State : std::uint8_t { healthy, degraded, unhealthy };
    State state = State::healthy;
    /// For people, the worst first. Empty when healthy.
    std::vector<std::string> reasons{};
    Status status{};
    StoreHealth store{};
};

/// Pure: the verdict on a status and a store.
Health judge(const Status& status, const StoreHealth& store, const HealthLimits& limits);

}  // namespace waybill
