#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "waybill/time.hpp"

/// Numbers, times and names as they appear in problems that people read.
namespace waybill::detail {

/// 100000 → "100,000"
std::string grouped(std::uint64_t number);
/// 1 → "once", 3 → "3 times"
std::string times(std::uint64_t number);
/// 90 s → "90 s", 86,400 s → "24 h": the largest unit that leaves no rest.
std::string readable(Duration duration);
/// "name" in quotes, cleaned and cut to what fits a line.
std::string in_quotes(std::string_view name);

/// Why a store does not discard a dead letter.
inline constexpr std::string_view lane_stands_at_it =
    "a halted lane stands at it; skip or resume the lane first";

}  // namespace waybill::detail
