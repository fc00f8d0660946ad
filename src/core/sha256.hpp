#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace waybill {

std::array<std::uint8_t, 32> sha256(std::string_view bytes);

/// The same as 32 raw bytes of text: what `Append::body_hash` carries.
std::string sha256_bytes(std::string_view bytes);

}  // namespace waybill
