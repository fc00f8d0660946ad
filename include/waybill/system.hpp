#pragma once

#include "waybill/runtime.hpp"

namespace waybill {

/// This host's own clocks, for whatever is not under test.
///
/// Thread safety: any thread.
/// Lifetime:      the process.
Clock& system_clock();

}  // namespace waybill
