#include "core/address.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <arpa/inet.h>

namespace waybill {
namespace {

constexpr std::size_t kHostBytesMax = 253;
constexpr std::size_t kLabelBytesMax = 63;

using Bytes6 = std::array<std::uint8_t, 16>;

/// An IPv4 address is in ::ffff:0:0/96.
std::optional<Bytes6> bytes_of(std::string_view address) {
    const std::string text{address};
    if (text.find('\0') != std::string::npos) return std::nullopt;
    Bytes6 bytes{};
    if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
    bytes = {};
    bytes[10] = bytes[11] = 0xff;
    if (::inet_pton(AF_INET, text.c_str(), bytes.data() + 12) == 1) return bytes;
    return std::nullopt;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_label(std::string_view label) {
    const auto fits = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' ||
               c == '_';
    };
    return !label.empty() && label.size() <= kLabelBytesMax && label.front() != '-' &&
           label.back() != '-' && std::ranges::all_of(label, fits);
}

bool is_host_name(std::string_view name) {
    if (name.ends_with('.')) name.remove_suffix(1);
    if (name.size() > kHostBytesMax) return false;
    for (;;) {
        const std::size_t dot = name.find('.');
        const std::string_view label = name.substr(0, dot);
        if (!is_label(label)) return false;
        // A name that ends in a number is meant as an address, and is none.
        if (dot == std::string_view::npos) return !std::ranges::all_of(label, is_digit);
        name.remove_prefix(dot + 1);
    }
}

}  // namespace

bool is_loopback_address(std::string_view address) {
    const auto bytes = bytes_of(address);
    if (!bytes) return false;
    Bytes6 one{};
    one.back() = 1;
    Bytes6 v4{};
    v4[10] = v4[11] = 0xff;
    v4[12] = 127;
    return *bytes == one || std::equal(v4.begin(), v4.begin() + 13, bytes->begin());
}

bool is_address_or_name(std::string_view host) {
    // fe80::1%eth0
    const std::size_t zone = host.find('%');
    if (zone != std::string_view::npos) {
        return host.find(':') < zone && zone + 1 < host.size() &&
               bytes_of(host.substr(0, zone)).has_value();
    }
    return bytes_of(host).has_value() || is_host_name(host);
}

}  // namespace waybill
