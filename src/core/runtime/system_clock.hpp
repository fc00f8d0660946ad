#pragma once

#include "waybill/runtime.hpp"

namespace waybill {

/// CLOCK_BOOTTIME and CLOCK_REALTIME of this host.
class SystemClock final : public Clock {
public:
    LocalTime now() override;
    StoreTime wall() override;
};

}  // namespace waybill
