#include <algorithm>

#include "core/signing/public_key.hpp"
#include "core/signing/random_bytes.hpp"
#include "core/webhook/standard_key.hpp"
#include "waybill/signing.hpp"
#include "waybill/webhook.hpp"

namespace waybill::webhook {
namespace {

using Kind = StandardKey::Kind;

constexpr std::size_t kSecretBytes = 32;

std::string problem_of_broken(std::string_view secret) {
    if (secret.starts_with(secret_prefix)) {
        return "starts with whsec_ and goes on with something that is not base64; copy it again, "
               "with its padding";
    }
    if (secret.starts_with(private_key_prefix)) {
        return "starts with whsk_ and is not an Ed25519 private key: 32 bytes of seed in base64, "
               "or "
               "64 with the public key";
    }
    return "starts with whpk_ and is not an Ed25519 public key: 32 bytes in base64";
}

bool can_sign(std::string_view secret, HeaderSet set) {
    return problem_of_secret(secret, set).empty();
}

}  // namespace

std::string_view to_string(HeaderSet set) {
    return set == HeaderSet::standard ? "standard" : "outbox";
}

std::optional<HeaderSet> parse_header_set(std::string_view text) {
    for (const HeaderSet set : {HeaderSet::standard, HeaderSet::outbox}) {
        if (text == to_string(set)) return set;
    }
    return std::nullopt;
}

std::string problem_of_secret(std::string_view secret, HeaderSet set) {
    if (secret.empty()) return "is empty";
    const StandardKey key = standard_key(secret);
    if (key.kind == Kind::public_key) {
        return "is a public key, which cannot sign; give the whsk_ it belongs to";
    }
    const bool is_private = secret.starts_with(private_key_prefix);
    if (set == HeaderSet::outbox && is_private) {
        return "is an Ed25519 key, and the header set \"outbox\" has no such signature; add a "
               "secret "
               "that does not start with whsk_, or sign with \"standard\" alone";
    }
    if (set == HeaderSet::standard && key.kind == Kind::broken) return problem_of_broken(secret);
    return {};
}

std::string problem_of_secrets(std::span<const std::string> secrets,
                               std::span<const HeaderSet> sets) {
    if (secrets.empty()) return {};
    for (const std::string& secret : secrets) {
        const bool is_useful =
            std::ranges::any_of(sets, [&](HeaderSet set) { return can_sign(secret, set); });
        if (!is_useful && !sets.empty()) return problem_of_secret(secret, sets.front());
    }
    for (const HeaderSet set : sets) {
        const bool is_signed = std::ranges::any_of(
            secrets, [&](const std::string& secret) { return can_sign(secret, set); });
        if (!is_signed) return problem_of_secret(secrets.front(), set);
    }
    return {};
}

std::string make_secret() {
    return std::string{secret_prefix} + signing::to_base64(signing::random_bytes(kSecretBytes));
}

KeyPair make_key_pair() {
    const std::string seed = signing::random_bytes(kSecretBytes);
    const std::string its_public = signing::ed25519_public(seed).value();
    return {std::string{private_key_prefix} + signing::to_base64(seed + its_public),
            std::string{public_key_prefix} + signing::to_base64(its_public)};
}

std::optional<std::string> public_key_of(std::string_view private_key) {
    const StandardKey key = standard_key(private_key);
    if (key.kind != Kind::private_key) return std::nullopt;
    return std::string{public_key_prefix} +
           signing::to_base64(signing::ed25519_public(key.bytes).value());
}

}  // namespace waybill::webhook
