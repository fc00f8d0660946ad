#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace waybill::signing {

/// One half of a pair of keys: whoever has it can check and cannot sign.
///
/// Thread safety: any thread.
/// Lifetime:      a value; copies share the key.
/// Errors:        what is no key of its kind is nothing; a signature that is none is not valid.
class PublicKey {
public:
    /// 32 bytes.
    static std::optional<PublicKey> ed25519(std::string_view bytes);
    /// ECDSA on P-256 with SHA-256; the key is a DER SubjectPublicKeyInfo, the signature DER too.
    static std::optional<PublicKey> p256(std::string_view der);
    /// RSA PKCS#1 v1.5 with SHA-256, of at least 2,048 bits; a PEM certificate or public key.
    static std::optional<PublicKey> rsa(std::string_view pem);

    bool verifies(std::string_view signed_bytes, std::string_view signature) const;

private:
    PublicKey(evp_pkey_st* key, bool hashes_first);

    std::shared_ptr<evp_pkey_st> key_;
    bool hashes_first_;  ///< Ed25519 does not: it takes the message whole
};

/// With the 32 bytes of a private key.
std::optional<std::string> ed25519_sign(std::string_view seed, std::string_view bytes);
/// The 32 bytes of the public key that belongs to it. Nothing: it is no private key.
std::optional<std::string> ed25519_public(std::string_view seed);

}  // namespace waybill::signing
