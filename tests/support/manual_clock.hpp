#pragma once

#include "waybill/testkit/manual_clock.hpp"

namespace waybill::test {

using testkit::ManualClock;

}  // namespace waybill::test
