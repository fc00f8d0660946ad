#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace waybill::signing {

enum class Hash : std::uint8_t { sha1, sha256, sha512 };

/// What is signed, in pieces: a body of megabytes is not copied to put a timestamp before it.
using Pieces = std::span<const std::string_view>;

/// Of the pieces, one after the other.
std::string hmac(Hash hash, std::string_view key, Pieces pieces);
/// The plain hash of them.
std::string digest(Hash hash, Pieces pieces);

/// In a time that depends on the lengths alone.
bool same_bytes(std::string_view left, std::string_view right);

}  // namespace waybill::signing
