#include "core/text.hpp"

#include <algorithm>
#include <cstdint>

namespace waybill {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

struct CodePoint {
    /// Of the code point, or of the longest start of one where it is broken. At least 1.
    std::size_t bytes = 1;
    bool valid = false;
};

struct Range {
    std::uint8_t first = 0x80;
    std::uint8_t last = 0xBF;
};

std::uint8_t byte_at(std::string_view text, std::size_t index) {
    return static_cast<std::uint8_t>(text[index]);
}

std::size_t length_after(std::uint8_t lead) {
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return 2;
    if (lead >= 0xE0 && lead <= 0xEF) return 3;
    if (lead >= 0xF0 && lead <= 0xF4) return 4;
    return 0;  // a stray continuation, an overlong lead, or beyond U+10FFFF
}

/// What may follow the lead: this keeps out overlong forms, surrogates and what is beyond U+10FFFF.
Range second_after(std::uint8_t lead) {
    switch (lead) {
        case 0xE0: return {0xA0, 0xBF};
        case 0xED: return {0x80, 0x9F};
        case 0xF0: return {0x90, 0xBF};
        case 0xF4: return {0x80, 0x8F};
        default: return {};
    }
}

/// The first code point of a text that is not empty (Unicode, table 3-7).
CodePoint first_code_point(std::string_view text) {
    const std::uint8_t lead = byte_at(text, 0);
    const std::size_t length = length_after(lead);
    if (length == 0) return {1, false};
    for (std::size_t i = 1; i < length; ++i) {
        const Range allowed = i == 1 ? second_after(lead) : Range{};
        if (i == text.size()) return {i, false};
        if (byte_at(text, i) < allowed.first || byte_at(text, i) > allowed.last) return {i, false};
    }
    return {length, true};
}

/// C0, DEL and C1.
bool is_control(std::string_view code_point) {
    const std::uint8_t first = byte_at(code_point, 0);
    if (code_point.size() == 1) return first < 0x20 || first == 0x7F;
    return first == 0xC2 && byte_at(code_point, 1) < 0xA0;
}

std::string_view cleaned(std::string_view code_point, bool valid) {
    if (!valid) return kReplacement;
    if (code_point == std::string_view{"\0", 1}) return {};
    if (code_point == "\n" || code_point == "\t") return code_point;
    return is_control(code_point) ? std::string_view{" "} : code_point;
}

template <class Predicate>
bool all_code_points(std::string_view text, Predicate allowed) {
    while (!text.empty()) {
        const CodePoint next = first_code_point(text);
        if (!next.valid || !allowed(text.substr(0, next.bytes))) return false;
        text.remove_prefix(next.bytes);
    }
    return true;
}

}  // namespace

std::string clean_text(std::string_view text, std::size_t bytes_max) {
    const std::string_view ending = bytes_max < kEllipsis.size() ? std::string_view{} : kEllipsis;
    std::string clean;
    clean.reserve(std::min(text.size(), bytes_max));
    std::size_t cut = 0;  // where the ending still fits

    while (!text.empty()) {
        const CodePoint next = first_code_point(text);
        const std::string_view piece = cleaned(text.substr(0, next.bytes), next.valid);
        if (clean.size() + piece.size() > bytes_max) {
            clean.resize(cut);
            clean += ending;
            return clean;
        }
        clean += piece;
        if (clean.size() + ending.size() <= bytes_max) cut = clean.size();
        text.remove_prefix(next.bytes);
    }
    return clean;
}

std::string lower_ascii(std::string_view text) {
    std::string lower{text};
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return lower;
}

bool is_storable_text(std::string_view text) {
    return all_code_points(text, [](std::string_view point) { return point[0] != '\0'; });
}

bool is_plain_text(std::string_view text) {
    return all_code_points(text, [](std::string_view point) { return !is_control(point); });
}

std::optional<std::int64_t> plain_number(std::string_view digits, std::size_t digits_max) {
    if (digits.empty() || digits.size() > digits_max) return std::nullopt;
    std::int64_t value = 0;
    for (const char c : digits) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + (c - '0');
    }
    return value;
}

}  // namespace waybill
