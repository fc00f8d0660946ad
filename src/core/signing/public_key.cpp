#include "core/signing/public_key.hpp"

#include <climits>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "core/signing/openssl.hpp"

namespace waybill::signing {
namespace {

constexpr int kRsaBitsMin = 2'048;
constexpr std::size_t kEd25519Bytes = 32;

/// A failed attempt leaves its reasons in a queue of the thread; nobody reads them.
struct Quietly {
    ~Quietly() { ERR_clear_error(); }
};

Owned<BIO> reader_of(std::string_view text) {
    return Owned<BIO>{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

Owned<EVP_PKEY> read_pem(std::string_view pem) {
    if (pem.find("BEGIN CERTIFICATE") == std::string_view::npos) {
        return Owned<EVP_PKEY>{
            PEM_read_bio_PUBKEY(reader_of(pem).get(), nullptr, nullptr, nullptr)};
    }
    const Owned<X509> certificate{
        PEM_read_bio_X509(reader_of(pem).get(), nullptr, nullptr, nullptr)};
    return Owned<EVP_PKEY>{certificate ? X509_get_pubkey(certificate.get()) : nullptr};
}

}  // namespace

PublicKey::PublicKey(evp_pkey_st* key, bool hashes_first)
    : key_(key, EVP_PKEY_free), hashes_first_(hashes_first) {}

std::optional<PublicKey> PublicKey::ed25519(std::string_view bytes) {
    const Quietly quietly;
    if (bytes.size() != kEd25519Bytes) return std::nullopt;
    EVP_PKEY* const key =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(bytes), bytes.size());
    if (key == nullptr) return std::nullopt;
    return PublicKey{key, false};
}

std::optional<PublicKey> PublicKey::p256(std::string_view der) {
    const Quietly quietly;
    if (der.size() > INT_MAX) return std::nullopt;
    const unsigned char* at = bytes_of(der);
    Owned<EVP_PKEY> key{d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size()))};
    const bool is_whole = key && at == bytes_of(der) + der.size();
    if (!is_whole || EVP_PKEY_is_a(key.get(), "EC") != 1 || EVP_PKEY_get_bits(key.get()) != 256) {
        return std::nullopt;
    }
    return PublicKey{key.release(), true};
}

std::optional<PublicKey> PublicKey::rsa(std::string_view pem) {
    const Quietly quietly;
    if (pem.size() > INT_MAX) return std::nullopt;
    Owned<EVP_PKEY> key = read_pem(pem);
    if (!key || EVP_PKEY_is_a(key.get(), "RSA") != 1 ||
        EVP_PKEY_get_bits(key.get()) < kRsaBitsMin) {
        return std::nullopt;
    }
    return PublicKey{key.release(), true};
}

bool PublicKey::verifies(std::string_view signed_bytes, std::string_view signature) const {
    const Quietly quietly;
    const Owned<EVP_MD_CTX> context{EVP_MD_CTX_new()};
    const EVP_MD* const hash = hashes_first_ ? EVP_sha256() : nullptr;
    return context &&
           EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr, key_.get()) == 1 &&
           EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(),
                            bytes_of(signed_bytes), signed_bytes.size()) == 1;
}

std::optional<std::string> ed25519_sign(std::string_view seed, std::string_view bytes) {
    const Quietly quietly;
    if (seed.size() != kEd25519Bytes) return std::nullopt;
    const Owned<EVP_PKEY> key{
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(seed), seed.size())};
    const Owned<EVP_MD_CTX> context{EVP_MD_CTX_new()};
    std::string signature(64, '\0');
    std::size_t size = signature.size();
    const bool done =
        key && context &&
        EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
        EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                       bytes_of(bytes), bytes.size()) == 1;
    return done && size == signature.size() ? std::optional{signature} : std::nullopt;
}

std::optional<std::string> ed25519_public(std::string_view seed) {
    const Quietly quietly;
    if (seed.size() != kEd25519Bytes) return std::nullopt;
    const Owned<EVP_PKEY> key{
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes_of(seed), seed.size())};
    std::string bytes(kEd25519Bytes, '\0');
    std::size_t size = bytes.size();
    const bool done =
        key && EVP_PKEY_get_raw_public_key(
                   key.get(), reinterpret_cast<unsigned char*>(bytes.data()), &size) == 1;
    return done && size == bytes.size() ? std::optional{bytes} : std::nullopt;
}

}  // namespace waybill::signing
