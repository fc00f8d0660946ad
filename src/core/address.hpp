#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Hosts as text and as numbers. Nothing is looked up.
namespace waybill {

/// IPv4 or IPv6. The former is ::ffff:a.b.c.d, so that both spellings of an address are one.
struct IpAddress {
    std::array<std::uint8_t, 16> bytes{};

    bool is_v4() const;
    bool operator==(const IpAddress&) const = default;
};

/// As people write it: "127.0.0.1", "::1", "fe80::1%eth0" (a zone says nothing here). Nothing: it is not one.
std::optional<IpAddress> parse_ip(std::string_view text);
std::string to_string(const IpAddress& address);

/// The addresses that begin alike.
struct Network {
    IpAddress base{};
    /// Of 128.
    int bits = 128;

    bool contains(const IpAddress& address) const;
    bool operator==(const Network&) const = default;
};

/// "10.0.0.0/8", "fc00::/7", or one address. Nothing: it is not one, or has bits beyond its length.
std::optional<Network> parse_network(std::string_view text);

/// An address, not a name, that only this host can reach: 127.0.0.0/8, ::1, and the former as IPv6
/// writes it.
bool is_loopback_address(std::string_view address);

/// An IPv4 or IPv6 address, or what may be the name of a host.
bool is_address_or_name(std::string_view host);

}  // namespace waybill
