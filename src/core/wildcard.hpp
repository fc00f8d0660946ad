#pragma once

#include <cstddef>

namespace waybill::detail {

constexpr char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// `*` matches any run of characters, letters match in either ASCII case.
///
/// Greedy: when a character does not fit, only the last star grows, because an earlier star that
/// took more could never help a later part to match. So no pattern costs more than text × pattern
/// comparisons. Written over anything with size() and [], so that a test can count them.
template <class Pattern, class Text>
constexpr bool wildcard_match(const Pattern& pattern, const Text& text) {
    constexpr auto none = static_cast<std::size_t>(-1);
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t after_star = none;
    std::size_t star_end = 0;

    while (t < text.size()) {
        const bool more = p < pattern.size();
        const char wanted = more ? pattern[p] : '\0';
        if (more && wanted == '*') {
            after_star = ++p;
            star_end = t;
        } else if (more && lower(wanted) == lower(text[t])) {
            ++p;
            ++t;
        } else if (after_star != none) {
            p = after_star;
            t = ++star_end;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') {
        ++p;
    }
    return p == pattern.size();
}

}  // namespace waybill::detail
