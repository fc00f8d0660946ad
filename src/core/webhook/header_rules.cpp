#include "core/webhook/header_rules.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "core/text.hpp"
#include "core/wording.hpp"
#include "waybill/webhook.hpp"

namespace waybill::webhook {
namespace {

using detail::grouped;

constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kTraceparentBytes = 55;

/// Of the connection, or ours to set.
constexpr std::array<std::string_view, 20> kReserved{
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "trailers",
    "transfer-encoding",
    "upgrade",
    "user-agent",
};
constexpr std::array<std::string_view, 3> kReservedPrefixes{"webhook-", "x-outbox-", "x-waybill-"};

/// What caches act upon, and what the clouds' own front doors believe.
constexpr std::array<std::string_view, 9> kRefused{
    "age",    "cache-control", "etag", "expires", "last-modified",
    "pragma", "range",         "vary", "warning",
};
constexpr std::array<std::string_view, 9> kRefusedPrefixes{
    "content-", "if-", "x-amz-", "x-amzn-", "x-azure-", "x-fd-", "x-gfe", "x-goog-", "x-google",
};

bool is_in(std::string_view name, std::span<const std::string_view> names,
           std::span<const std::string_view> prefixes) {
    return std::ranges::find(names, name) != names.end() ||
           std::ranges::any_of(prefixes,
                               [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// RFC 9110, 5.6.2.
bool is_token(std::string_view name) {
    constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
    return !name.empty() && std::ranges::all_of(name, [&](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               kMarks.find(c) != std::string_view::npos;
    });
}

bool is_lower_hex(std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_zero(std::string_view text) {
    return text.find_first_not_of('0') == std::string_view::npos;
}

}  // namespace

bool is_reserved_header(std::string_view name) {
    return is_in(lower_ascii(name), kReserved, kReservedPrefixes);
}

std::string problem_of_header(std::string_view name, std::string_view value) {
    if (!is_token(name)) return "is not a name of a header; use letters, digits and -";
    if (name.size() > kNameBytesMax) {
        return "has a name of " + grouped(name.size()) + " bytes; at most " +
               grouped(kNameBytesMax) + " are allowed";
    }
    if (is_reserved_header(name)) {
        return "belongs to the connection or is set by Waybill itself; choose another name";
    }
    if (is_in(lower_ascii(name), kRefused, kRefusedPrefixes)) {
        return "means something to caches or cloud providers on the way; choose another name";
    }
    if (value.size() > header_value_bytes_max) {
        return "has " + grouped(value.size()) + " bytes; at most " +
               grouped(header_value_bytes_max) + " are allowed";
    }
    if (!is_plain_text(value)) return "has a line break, a control character or broken UTF-8 in it";
    if (value != header_value(value)) return "has a space at its start or end";
    return {};
}

std::string header_value(std::string_view text) {
    std::string value = clean_text(text, header_value_bytes_max);
    std::ranges::replace_if(
        value, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    value.erase(0, std::min(value.find_first_not_of(' '), value.size()));
    value.erase(value.find_last_not_of(' ') + 1);
    return value;
}

bool is_traceparent(std::string_view text) {
    if (text.size() < kTraceparentBytes) return false;
    const std::string_view version = text.substr(0, 2);
    const std::string_view trace = text.substr(3, 32);
    const std::string_view parent = text.substr(36, 16);
    const std::string_view rest = text.substr(kTraceparentBytes);
    const bool is_known_length = version == "00" ? rest.empty() : rest.empty() || rest[0] == '-';
    return is_known_length && rest.size() <= 200 && is_token(text) && text[2] == '-' &&
           text[35] == '-' && text[52] == '-' && is_lower_hex(version) && version != "ff" &&
           is_lower_hex(trace) && !is_zero(trace) && is_lower_hex(parent) && !is_zero(parent) &&
           is_lower_hex(text.substr(53, 2));
}

}  // namespace waybill::webhook
