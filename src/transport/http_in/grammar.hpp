#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

/// The few rules of RFC 9110 and 9112 that decide what a byte may be.
namespace waybill::http_in {

/// Method and field names.
bool is_token(std::string_view text);
/// Field values: no control character but tab.
bool is_field_value(std::string_view text);
/// Printable ASCII without space and without '#': a target carries no fragment.
bool is_target_text(std::string_view text);
/// host, host:port or [address]:port.
bool is_host(std::string_view text);
/// Digits only, and not beyond 2^63.
std::optional<std::uint64_t> parse_length(std::string_view digits);
/// The same in base 16, at most 15 digits.
std::optional<std::uint64_t> parse_chunk_size(std::string_view digits);
/// Without spaces and tabs at both ends.
std::string_view trim(std::string_view text);
/// ASCII letters without their case.
bool equal_ignoring_case(std::string_view left, std::string_view right);
/// `element` is one of the comma-separated elements of `list`.
bool lists(std::string_view list, std::string_view element);

}  // namespace waybill::http_in
