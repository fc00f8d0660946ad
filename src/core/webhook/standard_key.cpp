#include "core/webhook/standard_key.hpp"

#include <optional>
#include <utility>

#include "core/signing/public_key.hpp"
#include "waybill/signing.hpp"

namespace waybill::webhook {
namespace {

using Kind = StandardKey::Kind;

constexpr std::size_t kKeyBytes = 32;

std::optional<std::string> decoded(std::string_view secret, std::string_view prefix) {
    return signing::from_base64(secret.substr(prefix.size()));
}

/// The seed, or the seed and the public key that belongs to it.
StandardKey private_key(std::string bytes) {
    const std::string seed = bytes.substr(0, kKeyBytes);
    const std::optional<std::string> its_public = signing::ed25519_public(seed);
    const bool is_whole =
        bytes.size() == kKeyBytes || (its_public && bytes.substr(kKeyBytes) == *its_public);
    if (!its_public || !is_whole) return {};
    return {Kind::private_key, seed};
}

}  // namespace

StandardKey standard_key(std::string_view secret) {
    if (secret.starts_with(secret_prefix)) {
        auto bytes = decoded(secret, secret_prefix);
        if (!bytes || bytes->empty()) return {};
        return {Kind::hmac, *std::move(bytes)};
    }
    if (secret.starts_with(private_key_prefix)) {
        auto bytes = decoded(secret, private_key_prefix);
        return bytes ? private_key(*std::move(bytes)) : StandardKey{};
    }
    if (secret.starts_with(public_key_prefix)) {
        auto bytes = decoded(secret, public_key_prefix);
        if (!bytes || !signing::PublicKey::ed25519(*bytes)) return {};
        return {Kind::public_key, *std::move(bytes)};
    }
    return secret.empty() ? StandardKey{} : StandardKey{Kind::hmac, std::string{secret}};
}

}  // namespace waybill::webhook
