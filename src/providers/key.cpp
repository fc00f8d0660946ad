#include "providers/key.hpp"

#include <algorithm>

#include "core/webhook/standard_key.hpp"
#include "waybill/signing.hpp"

namespace waybill::providers {
namespace {

using signing::Hash;

std::optional<std::string> bytes_of(KeyForm form, std::string_view secret) {
    switch (form) {
        case KeyForm::hex: return signing::from_hex(secret);
        case KeyForm::base64:
            if (secret.starts_with(webhook::secret_prefix)) {
                secret.remove_prefix(webhook::secret_prefix.size());
            }
            return signing::from_base64(secret);
        default: return std::string{secret};
    }
}

std::optional<signing::PublicKey> public_key(Algorithm algorithm, std::string_view bytes) {
    switch (algorithm) {
        case Algorithm::ed25519: return signing::PublicKey::ed25519(bytes);
        case Algorithm::p256: return signing::PublicKey::p256(bytes);
        case Algorithm::rsa: return signing::PublicKey::rsa(bytes);
        default: return std::nullopt;
    }
}

std::vector<Key> standard_keys(std::string_view secret) {
    using Kind = webhook::StandardKey::Kind;
    webhook::StandardKey key = webhook::standard_key(secret);
    std::vector<Key> keys;
    if (key.kind == Kind::public_key) {
        keys.emplace_back(signing::PublicKey::ed25519(key.bytes).value());
    } else if (key.kind == Kind::hmac) {
        // Some senders leave the prefix away and mean base64 all the same.
        const bool is_marked = secret.starts_with(webhook::secret_prefix);
        auto bytes = is_marked ? std::nullopt : signing::from_base64(secret);
        if (bytes && !bytes->empty()) keys.emplace_back(Algorithm::hmac_sha256, *std::move(bytes));
        keys.emplace_back(Algorithm::hmac_sha256, std::move(key.bytes));
    }
    return keys;  // of a private key none: it signs, and belongs to the sender
}

std::string code(Algorithm algorithm, std::string_view key, const SignedString& text) {
    switch (algorithm) {
        case Algorithm::hmac_sha1: return signing::hmac(Hash::sha1, key, text.pieces());
        case Algorithm::hmac_sha512: return signing::hmac(Hash::sha512, key, text.pieces());
        case Algorithm::token: return std::string{key};
        case Algorithm::sha256_of_secret_first: {
            std::vector<std::string_view> pieces{key};
            pieces.insert(pieces.end(), text.pieces().begin(), text.pieces().end());
            return signing::digest(Hash::sha256, pieces);
        }
        default: return signing::hmac(Hash::sha256, key, text.pieces());
    }
}

}  // namespace

bool Key::matches(const SignedString& text, const std::vector<Candidate>& candidates) const {
    if (public_) {
        const std::string whole = text.joined();
        return std::ranges::any_of(candidates, [&](const Candidate& candidate) {
            return candidate.version != "v1" && public_->verifies(whole, candidate.bytes);
        });
    }
    const std::string expected = code(algorithm_, bytes_, text);
    return std::ranges::any_of(candidates, [&](const Candidate& candidate) {
        return candidate.version != "v1a" && signing::same_bytes(candidate.bytes, expected);
    });
}

std::optional<std::string> Key::sign(const SignedString& text) const {
    if (public_) return std::nullopt;
    return code(algorithm_, bytes_, text);
}

std::vector<Key> keys_of(const Scheme& scheme, std::string_view secret) {
    if (secret.empty()) return {};
    if (scheme.key == KeyForm::standard) return standard_keys(secret);
    std::optional<std::string> bytes = bytes_of(scheme.key, secret);
    if (!bytes || bytes->empty()) return {};
    std::vector<Key> keys;
    const bool is_public = scheme.algorithm == Algorithm::ed25519 ||
                           scheme.algorithm == Algorithm::p256 ||
                           scheme.algorithm == Algorithm::rsa;
    if (!is_public) {
        keys.emplace_back(scheme.algorithm, *std::move(bytes));
    } else if (auto key = public_key(scheme.algorithm, *bytes)) {
        keys.emplace_back(*std::move(key));
    }
    return keys;
}

std::string_view form_of_secret(const Scheme& scheme) {
    switch (scheme.key) {
        case KeyForm::text: return "a text that is not empty";
        case KeyForm::hex: return "a text of hex digits";
        case KeyForm::base64: return "base64, after whsec_ if there is one";
        case KeyForm::standard:
            return "\"whsec_\" and base64, or \"whpk_\" and an Ed25519 public key in base64";
        case KeyForm::pem:
            return "a certificate or an RSA public key of 2,048 bits or more, in PEM";
    }
    return "a text";
}

}  // namespace waybill::providers
