#pragma once

#include <cstdint>
#include <string_view>

namespace waybill {

/// A key nobody outside this process knows, so that nobody can make two texts collide on purpose.
struct HashKey {
    std::uint64_t k0 = 0;
    std::uint64_t k1 = 0;
};

/// SipHash-1-3: a keyed 64-bit hash of a short text.
std::uint64_t siphash(const HashKey& key, std::string_view text);

}  // namespace waybill
