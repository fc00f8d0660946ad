#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Texts come from exceptions, peers and people; databases refuse some of them. One bad reason must
/// not keep a batch of good results from being stored.
namespace waybill {

/// What any store can keep and any terminal can show, at most `bytes_max` long: NUL is dropped, what
/// is not UTF-8 becomes U+FFFD, control characters other than newline and tab become a space, and a
/// text that is too long ends in an ellipsis after its last whole code point.
std::string clean_text(std::string_view text, std::size_t bytes_max);

/// A-Z become a-z; nothing else changes, whatever the locale.
std::string lower_ascii(std::string_view text);

/// Digits alone, one at least, without sign or space. Nothing: it is not that, or has more than
/// `digits_max`, which is 18 at most.
std::optional<std::int64_t> plain_number(std::string_view digits, std::size_t digits_max);

/// UTF-8 without NUL.
bool is_storable_text(std::string_view text);
/// UTF-8 without any control character: fit for a name.
bool is_plain_text(std::string_view text);

}  // namespace waybill
