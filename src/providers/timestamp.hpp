#pragma once

#include <optional>
#include <string_view>

#include "providers/scheme.hpp"

namespace waybill::providers {

/// Strictly: digits alone, without sign or space; or RFC 3339 with its zone. Nothing: it is neither.
std::optional<StoreTime> parse_time(std::string_view text, TimeUnit unit);
/// As a sender writes it.
std::string write_time(StoreTime time, TimeUnit unit);
/// `time` without what the unit cannot say.
StoreTime floor_to(StoreTime time, TimeUnit unit);

}  // namespace waybill::providers
