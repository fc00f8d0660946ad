#include "core/signing/random_bytes.hpp"

#include <stdexcept>

#include <openssl/rand.h>

namespace waybill::signing {

std::string random_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    auto* const first = reinterpret_cast<unsigned char*>(bytes.data());
    const int done = ::RAND_bytes(first, static_cast<int>(count));  // lint: allow(seams) a secret
    if (done != 1) throw std::runtime_error("no randomness");
    return bytes;
}

}  // namespace waybill::signing
