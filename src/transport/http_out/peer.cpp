#include "transport/http_out/peer.hpp"

#include <cstring>

#include <netinet/in.h>
#include <sys/socket.h>

namespace waybill::http_out {

Peer peer_of(const sockaddr& name) {
    if (name.sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &name, sizeof v4);
        IpAddress address;
        address.bytes[10] = address.bytes[11] = 0xff;
        std::memcpy(address.bytes.data() + 12, &v4.sin_addr, 4);
        return {address, ntohs(v4.sin_port)};
    }
    if (name.sa_family != AF_INET6) return {};
    sockaddr_in6 v6{};
    std::memcpy(&v6, &name, sizeof v6);
    IpAddress address;
    std::memcpy(address.bytes.data(), &v6.sin6_addr, 16);
    return {address, ntohs(v6.sin6_port)};
}

}  // namespace waybill::http_out
