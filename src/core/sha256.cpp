#include "core/sha256.hpp"

#include <openssl/evp.h>

#include "core/assert.hpp"

namespace waybill {
namespace {

/// Looked up once: OpenSSL 3's one-shot SHA256() searches its providers on every call, which costs
/// more than the hash of a lane.
const EVP_MD* algorithm() {
    static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    return fetched;
}

}  // namespace

std::array<std::uint8_t, 32> sha256(std::string_view bytes) {
    std::array<std::uint8_t, 32> digest{};
    unsigned int size = 0;
    const int done =
        EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, algorithm(), nullptr);
    WAYBILL_ASSERT(done == 1 && size == digest.size());
    return digest;
}

std::string sha256_bytes(std::string_view bytes) {
    const auto digest = sha256(bytes);
    return {digest.begin(), digest.end()};
}

}  // namespace waybill
