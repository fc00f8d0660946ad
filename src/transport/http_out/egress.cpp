#include "transport/http_out/egress.hpp"

#include <algorithm>

namespace waybill::http_out {
namespace {

/// Nobody needs longer ones, and some receivers cut them.
constexpr std::size_t kUrlBytesMax = 2'048;

struct Denied {
    Network network{};
    Verdict verdict = Verdict::reserved;
};

/// In this order. IPv4 addresses in their IPv6 spelling are IPv4 addresses here.
const std::vector<Denied>& denied() {
    const auto line = [](const char* network, Verdict verdict) {
        return Denied{parse_network(network).value(), verdict};
    };
    static const std::vector<Denied> all{
        line("0.0.0.0/8", Verdict::unspecified),
        line("10.0.0.0/8", Verdict::private_network),
        line("100.64.0.0/10", Verdict::shared_network),
        line("127.0.0.0/8", Verdict::loopback),
        line("169.254.0.0/16", Verdict::link_local),
        line("172.16.0.0/12", Verdict::private_network),
        line("192.0.0.0/24", Verdict::reserved),
        line("192.0.2.0/24", Verdict::reserved),
        line("192.88.99.0/24", Verdict::embedded),
        line("192.168.0.0/16", Verdict::private_network),
        line("198.18.0.0/15", Verdict::reserved),
        line("198.51.100.0/24", Verdict::reserved),
        line("203.0.113.0/24", Verdict::reserved),
        line("224.0.0.0/4", Verdict::multicast),
        line("240.0.0.0/4", Verdict::reserved),
        line("::ffff:0:0/96", Verdict::allowed),  // the rest of IPv4
        line("::/128", Verdict::unspecified),
        line("::1/128", Verdict::loopback),
        line("::/16", Verdict::embedded),
        line("64:ff9b::/96", Verdict::embedded),
        line("64:ff9b:1::/48", Verdict::embedded),
        line("100::/64", Verdict::reserved),
        line("2001::/32", Verdict::embedded),
        line("2001:db8::/32", Verdict::reserved),
        line("2002::/16", Verdict::embedded),
        line("3fff::/20", Verdict::reserved),
        line("5f00::/16", Verdict::reserved),
        line("fc00::/7", Verdict::private_network),
        line("fe80::/10", Verdict::link_local),
        line("fec0::/10", Verdict::private_network),
        line("ff00::/8", Verdict::multicast),
    };
    return all;
}

bool is_own(const Egress& egress, const IpAddress& address, std::uint16_t port) {
    return std::ranges::any_of(egress.own, [&](const Listening& own) {
        return own.port == port && own.address == address;
    });
}

Verdict by_table(const IpAddress& address) {
    const auto found = std::ranges::find_if(
        denied(), [&](const Denied& line) { return line.network.contains(address); });
    return found == denied().end() ? Verdict::allowed : found->verdict;
}

/// Bytes that one reader skips, another takes for a separator.
bool is_plain(const std::string& url) {
    return !url.empty() && url.size() <= kUrlBytesMax && std::ranges::all_of(url, [](char c) {
        return c > ' ' && c < 0x7f && c != '\\' && c != '"' && c != '<' && c != '>' && c != '^' &&
               c != '`' && c != '{' && c != '|' && c != '}';
    });
}

}  // namespace

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::allowed: return "allowed";
        case Verdict::bad_url: return "bad-url";
        case Verdict::bad_header: return "bad-header";
        case Verdict::scheme: return "scheme";
        case Verdict::port: return "port";
        case Verdict::self: return "self";
        case Verdict::unspecified: return "unspecified";
        case Verdict::loopback: return "loopback";
        case Verdict::private_network: return "private-network";
        case Verdict::shared_network: return "shared-network";
        case Verdict::link_local: return "link-local";
        case Verdict::multicast: return "multicast";
        case Verdict::embedded: return "embedded-ipv4";
        case Verdict::reserved: return "reserved";
    }
    return "unknown";
}

Verdict judge(const Egress& egress, const IpAddress& address, std::uint16_t port) {
    if (is_own(egress, address, port)) return Verdict::self;
    const auto contains = [&](const Network& network) { return network.contains(address); };
    if (std::ranges::any_of(egress.allow, contains)) return Verdict::allowed;
    const Verdict verdict = by_table(address);
    const bool is_private = verdict == Verdict::loopback || verdict == Verdict::private_network;
    return is_private && egress.allow_private ? Verdict::allowed : verdict;
}

Verdict judge_url(const Egress& egress, const std::string& url) {
    return judge_url(egress, url, parts_of_url(url));
}

Verdict judge_url(const Egress& egress, const std::string& url,
                  const std::optional<UrlParts>& parts) {
    if (!is_plain(url)) return Verdict::bad_url;
    if (!parts || parts->has_more) return Verdict::bad_url;
    if (parts->scheme != "https" && parts->scheme != "http") return Verdict::bad_url;
    // "http:///host", "http://@host", "http://host#": empty parts, and two readings.
    const std::size_t authority = url.find("//") + 2;
    const std::size_t path = std::min(url.find_first_of("/?#", authority), url.size());
    if (path == authority || url.find('@', authority) < path ||
        url.find('#') != std::string::npos) {
        return Verdict::bad_url;
    }
    if (egress.https_only && parts->scheme != "https") return Verdict::scheme;

    if (parts->port == 0) return Verdict::port;
    if (!egress.ports.empty() &&
        std::ranges::find(egress.ports, parts->port) == egress.ports.end()) {
        return Verdict::port;
    }
    if (const auto address = parse_ip(parts->host)) return judge(egress, *address, parts->port);
    return is_address_or_name(parts->host) ? Verdict::allowed : Verdict::bad_url;
}

}  // namespace waybill::http_out
