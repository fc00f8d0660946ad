#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/signing/public_key.hpp"
#include "providers/signature.hpp"
#include "providers/signed_string.hpp"

namespace waybill::providers {

/// What a secret was made into.
class Key {
public:
    Key(Algorithm algorithm, std::string bytes) : algorithm_(algorithm), bytes_(std::move(bytes)) {}
    explicit Key(signing::PublicKey key) : public_(std::move(key)) {}

    /// Whether one of the candidates is its signature of the string.
    bool matches(const SignedString& text, const std::vector<Candidate>& candidates) const;
    /// What it would sign; nothing: it can only check.
    std::optional<std::string> sign(const SignedString& text) const;

private:
    Algorithm algorithm_ = Algorithm::hmac_sha256;
    std::string bytes_{};
    std::optional<signing::PublicKey> public_{};
};

/// The keys a secret may mean: one, or two where senders do not agree. Empty: it is not of the form.
std::vector<Key> keys_of(const Scheme& scheme, std::string_view secret);
/// In words: "a base64 text, after whsec_ if there is one".
std::string_view form_of_secret(const Scheme& scheme);

}  // namespace waybill::providers
