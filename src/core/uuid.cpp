#include "waybill/uuid.hpp"

#include <algorithm>

namespace waybill {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kTextSize = 36;

constexpr bool has_dash_before(std::size_t byte) {
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

std::optional<std::uint8_t> nibble(char digit) {
    if (digit >= '0' && digit <= '9') return static_cast<std::uint8_t>(digit - '0');
    if (digit >= 'a' && digit <= 'f') return static_cast<std::uint8_t>(digit - 'a' + 10);
    if (digit >= 'A' && digit <= 'F') return static_cast<std::uint8_t>(digit - 'A' + 10);
    return std::nullopt;
}

Uuid from_words(std::uint64_t high, std::uint64_t low) {
    Uuid id;
    for (std::size_t i = 0; i < 8; ++i) {
        id.bytes[i] = static_cast<std::uint8_t>(high >> (56 - 8 * i));
        id.bytes[i + 8] = static_cast<std::uint8_t>(low >> (56 - 8 * i));
    }
    return id;
}

/// RFC 9562: the version is the upper nibble of byte 6, the variant the two upper bits of byte 8.
Uuid stamped(std::uint64_t high, std::uint64_t low, std::uint64_t version) {
    high = (high & ~0xF000ULL) | version << 12;
    low = (low & ~(3ULL << 62)) | 2ULL << 62;
    return from_words(high, low);
}

}  // namespace

std::string to_string(const Uuid& id) {
    std::string text;
    text.reserve(kTextSize);
    for (std::size_t i = 0; i < id.bytes.size(); ++i) {
        if (has_dash_before(i)) text += '-';
        text += kDigits[id.bytes[i] >> 4];
        text += kDigits[id.bytes[i] & 15U];
    }
    return text;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
    if (text.size() != kTextSize) return std::nullopt;

    Uuid id;
    std::size_t at = 0;
    for (std::size_t i = 0; i < id.bytes.size(); ++i) {
        if (has_dash_before(i) && text[at++] != '-') return std::nullopt;
        const auto high = nibble(text[at++]);
        const auto low = nibble(text[at++]);
        if (!high || !low) return std::nullopt;
        id.bytes[i] = static_cast<std::uint8_t>(*high << 4 | *low);
    }
    return id;
}

// Ordered by the microsecond, not only the millisecond: the 12 bits after the version are the
// fraction of the millisecond in 4096ths (RFC 9562, 6.2, method 3). A microsecond is at least four of
// them wide, so their last two bits are still random: 64 random bits per microsecond in all.
Uuid uuid7(StoreTime now, Random& random) {
    constexpr std::int64_t ms_max = (std::int64_t{1} << 48) - 1;
    const std::int64_t us =
        std::clamp<std::int64_t>(now.time_since_epoch().count(), 0, ms_max * 1000 + 999);
    const auto ms = static_cast<std::uint64_t>(us / 1000);
    const auto fraction = static_cast<std::uint64_t>(us % 1000 * 4096 / 1000);
    const std::uint64_t noise = random.next();
    return stamped(ms << 16 | (fraction + (noise >> 62)), noise, 7);
}

Uuid random_uuid(Random& random) {
    const std::uint64_t high = random.next();
    const std::uint64_t low = random.next();
    return stamped(high, low, 4);
}

}  // namespace waybill
