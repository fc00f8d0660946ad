#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waybill/catalogue.hpp"
#include "waybill/subscription.hpp"

namespace waybill::server {

/// Those of the configuration in its order, then those of the store in the order of their ids, so that whoever turns
/// pages meets each once, whatever comes and goes meanwhile. Pure. Throws InvalidCursor.
Page<Subscription> page_of(const std::vector<Subscription>& fixed, std::vector<Subscription> stored,
                           const std::string& cursor, std::uint32_t rows_max);

}  // namespace waybill::server
