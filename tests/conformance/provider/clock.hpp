#pragma once

#include "waybill/time.hpp"

namespace waybill::providers {

/// When every request of these tests is made.
inline const StoreTime kNow{std::chrono::seconds{1'700'000'000}};

}  // namespace waybill::providers
