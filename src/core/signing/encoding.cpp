#include <array>
#include <cstdint>

#include "waybill/signing.hpp"

namespace waybill::signing {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::int8_t kNone = -1;

using Values = std::array<std::int8_t, 256>;

constexpr Values values_of(std::string_view digits) {
    Values values{};
    values.fill(kNone);
    for (std::size_t i = 0; i < digits.size(); ++i) {
        values[static_cast<std::uint8_t>(digits[i])] = static_cast<std::int8_t>(i);
    }
    return values;
}

constexpr Values hex_values() {
    Values values = values_of(kHex);
    for (char c = 'A'; c <= 'F'; ++c) {
        values[static_cast<std::uint8_t>(c)] = static_cast<std::int8_t>(c - 'A' + 10);
    }
    return values;
}

constexpr Values kHexValues = hex_values();
constexpr Values kBase64Values = values_of(kBase64);

int value_of(const Values& values, char c) {
    return values[static_cast<std::uint8_t>(c)];
}

}  // namespace

std::optional<std::string> from_hex(std::string_view text) {
    if (text.size() % 2 != 0) return std::nullopt;
    std::string bytes(text.size() / 2, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const int high = value_of(kHexValues, text[2 * i]);
        const int low = value_of(kHexValues, text[2 * i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        bytes[i] = static_cast<char>(high << 4 | low);
    }
    return bytes;
}

std::string to_hex(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        text += kHex[static_cast<std::uint8_t>(c) >> 4];
        text += kHex[static_cast<std::uint8_t>(c) & 15];
    }
    return text;
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    text.remove_suffix(padding);
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3 + 2);
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        const int value = value_of(kBase64Values, c);
        if (value < 0) return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes += static_cast<char>(bits >> count & 0xFF);
    }
    const std::uint32_t rest = bits & ((1U << count) - 1);
    return rest == 0 ? std::optional{bytes} : std::nullopt;
}

std::string to_base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : bytes) {
        bits = bits << 8 | static_cast<std::uint8_t>(c);
        for (count += 8; count >= 6; count -= 6) text += kBase64[bits >> (count - 6) & 63];
    }
    if (count > 0) text += kBase64[bits << (6 - count) & 63];
    text.append((4 - text.size() % 4) % 4, '=');
    return text;
}

}  // namespace waybill::signing
