#include "server/egress.hpp"

#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>

namespace waybill::server {
namespace {

/// Of every interface: who listens on 0.0.0.0 or :: is reached by all of them.
std::vector<IpAddress> interfaces() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return {};
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned{list, ::freeifaddrs};
    std::vector<IpAddress> found;
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr) continue;
        const int family = one->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        char text[NI_MAXHOST] = {};
        const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        if (::getnameinfo(one->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) !=
            0) {
            continue;
        }
        if (const auto address = parse_ip(text)) found.push_back(*address);
    }
    return found;
}

std::vector<IpAddress> listening_at(const std::string& host) {
    const auto address = parse_ip(host);
    if (!address) return {parse_ip("127.0.0.1").value(), parse_ip("::1").value()};  // localhost
    const bool is_any = *address == parse_ip("0.0.0.0") || *address == parse_ip("::");
    return is_any ? interfaces() : std::vector{*address};
}

}  // namespace

http_out::Egress egress_of(const Config& config) {
    http_out::Egress rules = config.egress.rules;
    if (config.server.port == 0) return rules;
    for (const IpAddress& address : listening_at(config.server.host)) {
        rules.own.push_back({address, config.server.port});
    }
    return rules;
}

}  // namespace waybill::server
