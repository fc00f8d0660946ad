#pragma once

#include <cstdint>
#include <optional>

#include "core/address.hpp"

struct sockaddr;

namespace waybill::http_out {

/// An address of the sockets API as one of ours.
struct Peer {
    /// Nothing: it is neither IPv4 nor IPv6.
    std::optional<IpAddress> address{};
    std::uint16_t port = 0;
};
Peer peer_of(const sockaddr& name);

}  // namespace waybill::http_out
