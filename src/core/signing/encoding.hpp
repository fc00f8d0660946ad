#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Bytes as text and back, strictly: what is not exactly the encoding of some bytes is nothing.
namespace waybill::signing {

/// Digits in either case, an even number of them.
std::optional<std::string> from_hex(std::string_view text);
std::string to_hex(std::string_view bytes);

/// RFC 4648 with its padding; bits that mean nothing must be zero.
std::optional<std::string> from_base64(std::string_view text);
std::string to_base64(std::string_view bytes);

}  // namespace waybill::signing
