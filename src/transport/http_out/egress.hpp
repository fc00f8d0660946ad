#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/address.hpp"
#include "transport/http_out/url.hpp"

/// Where requests may go. A URL that somebody else names must not reach what only we can reach.
namespace waybill::http_out {

/// What keeps a connection from being made. Its name is in attempts, logs and metrics.
enum class Verdict : std::uint8_t {
    allowed,
    bad_url,      ///< not one, or one that two readers may read differently
    bad_header,   ///< one that would be two
    scheme,       ///< not https, where only that is allowed
    port,         ///< not one of those that are allowed
    self,         ///< where this server itself listens
    unspecified,  ///< "this host"
    loopback,
    private_network,  ///< RFC 1918, and fc00::/7
    shared_network,   ///< of a carrier, 100.64/10
    link_local,       ///< where clouds keep their secrets
    multicast,
    embedded,  ///< IPv6 that means an IPv4 address: NAT64, 6to4, Teredo
    reserved,  ///< for examples, for measurements, for nobody
};
std::string_view name_of(Verdict verdict);

/// An address and a port that this server listens on.
struct Listening {
    IpAddress address{};
    std::uint16_t port = 0;

    bool operator==(const Listening&) const = default;
};

/// What an operator allows.
struct Egress {
    /// Loopback and private networks; never link-local, carriers' or embedded addresses.
    bool allow_private = false;
    /// These come before all that is denied, except ourselves.
    std::vector<Network> allow{};
    bool https_only = false;
    /// Empty: any.
    std::vector<std::uint16_t> ports{};
    std::vector<Listening> own{};

    bool operator==(const Egress&) const = default;
};

/// Of an address a connection is about to be made to.
Verdict judge(const Egress& egress, const IpAddress& address, std::uint16_t port);

/// Of a URL as it is written. A host that is a name is allowed here: its addresses are judged when a
/// connection is made.
Verdict judge_url(const Egress& egress, const std::string& url);
/// The same, for who knows its parts.
Verdict judge_url(const Egress& egress, const std::string& url,
                  const std::optional<UrlParts>& parts);

}  // namespace waybill::http_out
