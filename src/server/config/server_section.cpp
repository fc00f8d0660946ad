#include <algorithm>

#include "core/address.hpp"
#include "core/text.hpp"
#include "server/config/parts.hpp"
#include "server/config/units.hpp"
#include "server/door_options.hpp"

namespace waybill::server {
namespace {

bool is_loopback(const std::string& host) {
    return lower_ascii(host) == "localhost" || is_loopback_address(host);
}

void read_claims(Section claims, bool is_there, ClaimsConfig& config) {
    // RFC 7518, 3.2: a key of HS256 is as long as its hash.
    constexpr std::size_t kSecretBytesMin = 32;
    claims.text("tenant", config.tenant);
    claims.text("user", config.user);
    claims.secret("jwt_secret", config.jwt_secret);
    if (is_there && !claims.has("jwt_secret")) {
        claims.problem("jwt_secret",
                       "is missing; set it to what your tokens are signed with (HS256), "
                       "such as \"env:JWT\"");
    } else if (is_there && config.tenant.empty() && config.user.empty()) {
        claims.problem(
            {},
            "says neither tenant nor user; name the claims they are in, such as tenant = "
            "\"tid\", user = \"sub\"");
    }
    const std::size_t size = config.jwt_secret.size();
    if (claims.secrets_are_known() && size > 0 && size < kSecretBytesMin) {
        claims.warn("jwt_secret", "has " + std::to_string(size) + " bytes; with fewer than " +
                                      std::to_string(kSecretBytesMin) +
                                      " tokens can be guessed, use a longer one");
    }
    claims.finish();
}

}  // namespace

void read_server(Section& section, ServerConfig& server) {
    std::string listen = server.host + ":" + std::to_string(server.port);
    section.text("listen", listen);
    if (auto place = parse_host_port(listen)) {
        server.host = place->host;
        server.port = place->port;
    } else {
        section.problem("listen",
                        in_quotes(listen) + " is not HOST:PORT, such as \"127.0.0.1:8080\"");
    }
    section.size("body_max", server.body_max);
    section.size("header_max", server.header_max);
    section.number("connections_max", server.connections_max, 1, 1'000'000);
    section.number("connections_per_address", server.connections_per_address, 0, 1'000'000);
    section.rate("requests_per_address", server.requests_per_address);
    section.size("body_rate_min", server.body_rate_min);
    section.number("waiting_max", server.waiting_max, 1, 10'000'000);
    Section tls = section.table("tls");
    tls.text("cert", server.tls_cert);
    tls.text("key", server.tls_key);
    tls.finish();
    if (server.tls_cert.empty() != server.tls_key.empty()) {
        section.problem("tls", "needs both cert and key, the names of PEM files");
    }
    section.secrets("admin_tokens", server.admin_tokens);
    if (const std::string problem = problem_of_tokens(server); !problem.empty()) {
        section.problem("admin_tokens", problem);
    }
    read_claims(section.table("claims"), section.has("claims"), server.claims);
    section.finish();
}

void check_door(Section& section, const Config& config) {
    for (const std::string& problem : http_in::check(door_options(config))) {
        const std::size_t colon = std::min(problem.find(": "), problem.size());
        section.problem(problem.substr(0, colon),
                        problem.substr(std::min(colon + 2, problem.size())));
    }
}

std::string url_of(const ServerConfig& server, std::uint16_t port) {
    ServerConfig here = server;
    if (here.host == "0.0.0.0" || here.host == "::") here.host = "127.0.0.1";
    return address_of(here, port);
}

std::string address_of(const ServerConfig& server, std::uint16_t port) {
    const std::string& host = server.host;
    return (server.tls_cert.empty() ? "http://" : "https://") +
           (host.find(':') != std::string::npos ? "[" + host + "]" : host) + ":" +
           std::to_string(port);
}

std::string problem_of_tokens(const ServerConfig& server) {
    if (is_loopback(server.host) || !server.admin_tokens.empty()) return {};
    return "is required when listening on " + server.host +
           ", which others can reach; set [\"env:WAYBILL_ADMIN_TOKEN\"]";
}

}  // namespace waybill::server
