#include "core/runtime/system_clock.hpp"

#include <time.h>

#include "core/assert.hpp"
#include "waybill/system.hpp"

namespace waybill {
namespace {

Duration read(clockid_t clock) {
    timespec time{};
    WAYBILL_ASSERT(::clock_gettime(clock, &time) == 0);
    return std::chrono::duration_cast<Duration>(std::chrono::seconds{time.tv_sec} +
                                                std::chrono::nanoseconds{time.tv_nsec});
}

}  // namespace

LocalTime SystemClock::now() {
    return LocalTime{read(CLOCK_BOOTTIME)};
}

StoreTime SystemClock::wall() {
    return StoreTime{read(CLOCK_REALTIME)};
}

Clock& system_clock() {
    static SystemClock clock;
    return clock;
}

}  // namespace waybill
