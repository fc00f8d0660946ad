#pragma once

#include <atomic>

#include "waybill/runtime.hpp"

namespace waybill::testkit {

/// Time stands still until the test moves it. Both clocks move together; `step_wall` is for a wall
/// clock that somebody set.
///
/// Thread safety: any call from any thread.
class ManualClock final : public Clock {
public:
    /// 2024-01-01, so that times before the start exist.
    static constexpr Duration start = std::chrono::seconds{1'704'067'200};

    LocalTime now() override { return LocalTime{Duration{local_.load()}}; }
    StoreTime wall() override { return StoreTime{Duration{wall_.load()}}; }

    void advance(Duration by) {
        local_ += by.count();
        wall_ += by.count();
    }
    void step_wall(Duration by) { wall_ += by.count(); }

private:
    std::atomic<Duration::rep> local_{start.count()};
    std::atomic<Duration::rep> wall_{start.count()};
};

}  // namespace waybill::testkit
