#include "transport/http_in/grammar.hpp"

#include <algorithm>
#include <charconv>

namespace waybill::http_in {
namespace {

bool is_alnum(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_token_char(char c) {
    return is_alnum(c) || std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::optional<std::uint64_t> parse(std::string_view digits, int base, std::size_t digits_max) {
    if (digits.empty() || digits.size() > digits_max) return std::nullopt;
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, value, base);
    if (error != std::errc{} || stopped != end || value > INT64_MAX) return std::nullopt;
    return value;
}

}  // namespace

bool is_token(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_field_value(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\t') || byte == 0x7f;
    });
}

bool is_target_text(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [](char c) { return c > ' ' && c < 0x7f && c != '#'; });
}

bool is_host(std::string_view text) {
    const std::size_t port = text.find(':', text.starts_with('[') ? text.find(']') : 0);
    std::string_view name = text.substr(0, port);
    if (port != std::string_view::npos) {
        const std::string_view digits = text.substr(port + 1);
        if (digits.size() > 5 || !std::all_of(digits.begin(), digits.end(), is_digit)) return false;
    }
    if (name.starts_with('[')) {
        if (!name.ends_with(']') || name.size() < 4) return false;
        name = name.substr(1, name.size() - 2);
        return std::all_of(name.begin(), name.end(), [](char c) {
            return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f') || c == ':' || c == '.';
        });
    }
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return is_alnum(c) || c == '.' || c == '-' || c == '_' || c == '~';
    });
}

std::optional<std::uint64_t> parse_length(std::string_view digits) {
    if (!std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
    return parse(digits, 10, 19);
}

std::optional<std::uint64_t> parse_chunk_size(std::string_view digits) {
    // from_chars accepts a minus sign.
    if (!std::all_of(digits.begin(), digits.end(), is_alnum)) return std::nullopt;
    return parse(digits, 16, 15);
}

std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool equal_ignoring_case(std::string_view left, std::string_view right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
}

bool lists(std::string_view list, std::string_view element) {
    while (!list.empty()) {
        const std::size_t comma = list.find(',');
        if (equal_ignoring_case(trim(list.substr(0, comma)), element)) return true;
        list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    }
    return false;
}

}  // namespace waybill::http_in
