#pragma once

#include <cstddef>

#include "waybill/box.hpp"
#include "waybill/message.hpp"
#include "waybill/problems.hpp"

/// What does not fit is refused when it is offered, in the same words by every store, and never later
/// by a column in the middle of someone's bookkeeping.
namespace waybill {

/// Of type, source, content_type, tenant, user, correlation_id, lane, dedup_key and collapse_key
/// each. They are UTF-8 without NUL, and all but the type may be empty.
inline constexpr std::size_t field_bytes_max = 256;
/// How many a message may have.
inline constexpr std::size_t attributes_max = 100;
/// Of each name.
inline constexpr std::size_t attribute_name_bytes_max = 256;
/// Names and values of all attributes together.
inline constexpr std::size_t attributes_bytes_max = std::size_t{64} << 10;

/// All reasons why `message`, with its box set, cannot be appended to a box with these options.
Problems check(const Message& message, const BoxOptions& options);

}  // namespace waybill
