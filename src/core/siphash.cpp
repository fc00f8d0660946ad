#include "core/siphash.hpp"

#include <bit>
#include <cstddef>
#include <cstring>

namespace waybill {
namespace {

struct SipState {
    std::uint64_t v0;
    std::uint64_t v1;
    std::uint64_t v2;
    std::uint64_t v3;

    void round() {
        v0 += v1;
        v1 = std::rotl(v1, 13) ^ v0;
        v0 = std::rotl(v0, 32);
        v2 += v3;
        v3 = std::rotl(v3, 16) ^ v2;
        v0 += v3;
        v3 = std::rotl(v3, 21) ^ v0;
        v2 += v1;
        v1 = std::rotl(v1, 17) ^ v2;
        v2 = std::rotl(v2, 32);
    }

    void take(std::uint64_t word) {
        v3 ^= word;
        round();
        v0 ^= word;
    }
};

/// Up to eight bytes as a number.
std::uint64_t little_endian(std::string_view bytes) {
    std::uint64_t word = 0;
    if constexpr (std::endian::native == std::endian::little) {
        if (bytes.size() == sizeof word) {
            std::memcpy(&word, bytes.data(), sizeof word);
            return word;
        }
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (i * 8);
    }
    return word;
}

/// The last bytes of a text, fewer than eight, as a number.
std::uint64_t last_bytes(std::string_view text, std::size_t count) {
    if (count == 0 || text.size() < 8) {
        return little_endian(text.substr(text.size() - count));
    }
    // Together with those before them they are one word.
    return little_endian(text.substr(text.size() - 8)) >> (8 * (8 - count));
}

}  // namespace

std::uint64_t siphash(const HashKey& key, std::string_view text) {
    SipState state{key.k0 ^ 0x736F6D6570736575ULL, key.k1 ^ 0x646F72616E646F6DULL,
                   key.k0 ^ 0x6C7967656E657261ULL, key.k1 ^ 0x7465646279746573ULL};
    std::string_view rest = text;
    for (; rest.size() >= 8; rest.remove_prefix(8)) {
        state.take(little_endian(rest.substr(0, 8)));
    }
    state.take(last_bytes(text, rest.size()) | static_cast<std::uint64_t>(text.size()) << 56);
    state.v2 ^= 0xFF;
    state.round();
    state.round();
    state.round();
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace waybill
