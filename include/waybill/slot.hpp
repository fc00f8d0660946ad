#pragma once

#include <cstdint>
#include <string_view>

#include "waybill/message.hpp"

namespace waybill {

/// Every message falls into one of these; a partition is a range of them, so that boxes are re-cut
/// without moving data.
inline constexpr std::uint32_t slot_count = 1024;

/// The first 10 bits of SHA-256, the same in SQL and here.
std::uint32_t slot_of(std::string_view key_bytes);
/// By lane, else by the 16 bytes of the id.
std::uint32_t slot_of(const Message& message);

}  // namespace waybill
