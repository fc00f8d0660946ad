#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "waybill/runtime.hpp"

namespace waybill {

/// 128 bits that name a message or an instance's incarnation.
struct Uuid {
    std::array<std::uint8_t, 16> bytes{};

    auto operator<=>(const Uuid&) const = default;
    bool is_nil() const { return *this == Uuid{}; }
};

/// Lower-case 8-4-4-4-12.
std::string to_string(const Uuid& id);
/// Accepts what to_string writes, in either case; nothing else.
std::optional<Uuid> parse_uuid(std::string_view text);

/// Time-ordered id (RFC 9562 version 7): neighbours in time are neighbours in an index.
Uuid uuid7(StoreTime now, Random& random);
/// 128 random bits: an incarnation, which must never be issued twice.
Uuid random_uuid(Random& random);

}  // namespace waybill

/// So that ids can be keys of unordered containers.
template <>
struct std::hash<waybill::Uuid> {
    std::size_t operator()(const waybill::Uuid& id) const noexcept {
        std::uint64_t high = 0;
        std::uint64_t low = 0;
        for (std::size_t i = 0; i < 8; ++i) {
            high = high << 8 | id.bytes[i];
            low = low << 8 | id.bytes[i + 8];
        }
        return static_cast<std::size_t>((high ^ low) * 0x9E3779B97F4A7C15ULL);
    }
};
