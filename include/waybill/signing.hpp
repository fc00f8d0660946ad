#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// What a provider of your own needs to check a signature, on OpenSSL's libcrypto.
namespace waybill::signing {

/// Of an HMAC or alone.
enum class Hash : std::uint8_t { sha1, sha256, sha512 };

/// What is signed, in pieces: a body of megabytes is not copied to put a timestamp before it.
using Pieces = std::span<const std::string_view>;

/// Of the pieces, one after the other.
std::string hmac(Hash hash, std::string_view key, Pieces pieces);
/// The plain hash of them.
std::string digest(Hash hash, Pieces pieces);

/// In a time that depends on the lengths alone: compare decoded signatures with it.
bool same_bytes(std::string_view left, std::string_view right);

/// Digits in either case, an even number of them. Nothing: it is not that.
std::optional<std::string> from_hex(std::string_view text);
/// In lower case.
std::string to_hex(std::string_view bytes);

/// RFC 4648 with its padding; bits that mean nothing must be zero. Nothing: it is not that.
std::optional<std::string> from_base64(std::string_view text);
/// With its padding.
std::string to_base64(std::string_view bytes);

}  // namespace waybill::signing
