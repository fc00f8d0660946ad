#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// What Standard Webhooks writes in front of its keys. Shared by who signs and who verifies.
namespace waybill::webhook {

inline constexpr std::string_view secret_prefix = "whsec_";
inline constexpr std::string_view private_key_prefix = "whsk_";
inline constexpr std::string_view public_key_prefix = "whpk_";

/// A secret, read.
struct StandardKey {
    enum class Kind : std::uint8_t {
        broken,       ///< a prefix, and after it not what it promises
        hmac,         ///< bytes of any number but zero
        private_key,  ///< the seed, 32 bytes
        public_key,   ///< 32 bytes
    };
    Kind kind = Kind::broken;
    std::string bytes{};
};

/// Without a prefix, the bytes of the text.
StandardKey standard_key(std::string_view secret);

}  // namespace waybill::webhook
