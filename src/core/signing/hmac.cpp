#include <array>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>

#include "core/assert.hpp"
#include "core/signing/openssl.hpp"
#include "waybill/signing.hpp"

namespace waybill::signing {
namespace {

const char* name_of(Hash hash) {
    switch (hash) {
        case Hash::sha1: return "SHA1";
        case Hash::sha256: return "SHA256";
        case Hash::sha512: return "SHA512";
    }
    return "SHA256";
}

/// Found once: OpenSSL 3 searches its providers on every fetch, which costs more than a short HMAC.
EVP_MAC_CTX* prepared(Hash hash) {
    static const auto contexts = [] {
        EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
        WAYBILL_ASSERT(mac != nullptr);
        std::array<EVP_MAC_CTX*, 3> made{};
        for (std::size_t i = 0; i < made.size(); ++i) {
            made[i] = EVP_MAC_CTX_new(mac);
            std::string name = name_of(static_cast<Hash>(i));
            const std::array parameters{
                OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.data(), 0),
                OSSL_PARAM_construct_end()};
            WAYBILL_ASSERT(EVP_MAC_CTX_set_params(made[i], parameters.data()) == 1);
        }
        return made;
    }();
    return contexts[static_cast<std::size_t>(hash)];
}

const EVP_MD* algorithm(Hash hash) {
    static const std::array<EVP_MD*, 3> fetched{EVP_MD_fetch(nullptr, "SHA1", nullptr),
                                                EVP_MD_fetch(nullptr, "SHA256", nullptr),
                                                EVP_MD_fetch(nullptr, "SHA512", nullptr)};
    return fetched[static_cast<std::size_t>(hash)];
}

}  // namespace

std::string hmac(Hash hash, std::string_view key, Pieces pieces) {
    const Owned<EVP_MAC_CTX> context{EVP_MAC_CTX_dup(prepared(hash))};
    // An empty key needs an address too, or OpenSSL takes it for none.
    const unsigned char* const key_bytes = key.empty() ? bytes_of("") : bytes_of(key);
    WAYBILL_ASSERT(context && EVP_MAC_init(context.get(), key_bytes, key.size(), nullptr) == 1);
    for (const std::string_view piece : pieces) {
        WAYBILL_ASSERT(EVP_MAC_update(context.get(), bytes_of(piece), piece.size()) == 1);
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
    std::size_t size = 0;
    WAYBILL_ASSERT(EVP_MAC_final(context.get(), code.data(), &size, code.size()) == 1);
    return {code.begin(), code.begin() + static_cast<std::ptrdiff_t>(size)};
}

std::string digest(Hash hash, Pieces pieces) {
    const Owned<EVP_MD_CTX> context{EVP_MD_CTX_new()};
    WAYBILL_ASSERT(context && EVP_DigestInit_ex(context.get(), algorithm(hash), nullptr) == 1);
    for (const std::string_view piece : pieces) {
        WAYBILL_ASSERT(EVP_DigestUpdate(context.get(), piece.data(), piece.size()) == 1);
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
    unsigned size = 0;
    WAYBILL_ASSERT(EVP_DigestFinal_ex(context.get(), code.data(), &size) == 1);
    return {code.begin(), code.begin() + size};
}

bool same_bytes(std::string_view left, std::string_view right) {
    return left.size() == right.size() &&
           CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace waybill::signing
