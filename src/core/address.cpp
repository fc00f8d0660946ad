#include "core/address.hpp"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>

namespace waybill {
namespace {

constexpr std::size_t kHostBytesMax = 253;
constexpr std::size_t kLabelBytesMax = 63;

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

/// "127", and "0x7f" as some readers take it.
bool is_number(std::string_view label) {
    if (!label.starts_with("0x") && !label.starts_with("0X")) {
        return std::ranges::all_of(label, is_digit);
    }
    return std::ranges::all_of(label.substr(2), [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    });
}

bool is_host_name(std::string_view name) {
    if (name.ends_with('.')) name.remove_suffix(1);
    if (name.size() > kHostBytesMax) return false;
    for (;;) {
        const std::size_t dot = name.find('.');
        const std::string_view label = name.substr(0, dot);
        if (!is_label(label)) return false;
        // A name that ends in a number is meant as an address, and is none.
        if (dot == std::string_view::npos) return !is_number(label);
        name.remove_prefix(dot + 1);
    }
}

}  // namespace

bool IpAddress::is_v4() const {
    constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(mapped.begin(), mapped.end(), bytes.begin());
}

std::optional<IpAddress> parse_ip(std::string_view text) {
    const std::size_t zone = text.find('%');
    if (zone != std::string_view::npos) {
        if (text.find(':') > zone || zone + 1 == text.size()) return std::nullopt;
        text = text.substr(0, zone);
    }
    const std::string whole{text};
    if (whole.find('\0') != std::string::npos) return std::nullopt;
    IpAddress address;
    if (::inet_pton(AF_INET6, whole.c_str(), address.bytes.data()) == 1) return address;
    address = {};
    address.bytes[10] = address.bytes[11] = 0xff;
    if (::inet_pton(AF_INET, whole.c_str(), address.bytes.data() + 12) == 1) return address;
    return std::nullopt;
}

std::string to_string(const IpAddress& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.is_v4()) {
        ::inet_ntop(AF_INET, address.bytes.data() + 12, text.data(), text.size());
    } else {
        ::inet_ntop(AF_INET6, address.bytes.data(), text.data(), text.size());
    }
    return text.data();
}

bool Network::contains(const IpAddress& address) const {
    for (int bit = 0; bit < bits; bit += 8) {
        const auto byte = static_cast<std::size_t>(bit / 8);
        const int spare = std::max(0, 8 - (bits - bit));
        if ((base.bytes[byte] >> spare) != (address.bytes[byte] >> spare)) return false;
    }
    return true;
}

std::optional<Network> parse_network(std::string_view text) {
    const std::size_t slash = text.find('/');
    const auto base = parse_ip(text.substr(0, slash));
    if (!base || text.find('%') != std::string_view::npos) return std::nullopt;
    // "::ffff:10.0.0.0/104" counts all 128 bits, "10.0.0.0/8" the last 32.
    const int before = text.find(':') == std::string_view::npos ? 96 : 0;
    Network network{*base, 128};
    if (slash != std::string_view::npos) {
        const std::string_view digits = text.substr(slash + 1);
        int length = -1;
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), length);
        if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
        if (length < 0 || length > 128 - before) return std::nullopt;
        network.bits = before + length;
    }
    // What is beyond its length would mean nothing: somebody meant something else.
    Network first = network;
    for (int bit = network.bits; bit < 128; ++bit) {
        first.base.bytes[static_cast<std::size_t>(bit / 8)] &=
            static_cast<std::uint8_t>(~(0x80U >> (bit % 8)));
    }
    if (first != network) return std::nullopt;
    return network;
}

bool is_loopback_address(std::string_view address) {
    constexpr auto v4 = "127.0.0.0/8";
    const auto found = parse_ip(address);
    return found && (*found == *parse_ip("::1") || parse_network(v4)->contains(*found));
}

bool is_address_or_name(std::string_view host) {
    return parse_ip(host).has_value() || is_host_name(host);
}

}  // namespace waybill
