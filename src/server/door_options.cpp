#include "server/door_options.hpp"

#include <algorithm>

namespace waybill::server {

http_in::Options door_options(const Config& config) {
    const ServerConfig& server = config.server;
    http_in::Options options{.host = server.host, .port = server.port};
    options.connections_max = server.connections_max;
    options.request.body_bytes_max = server.body_max;
    options.request.header_bytes_max = static_cast<std::size_t>(server.header_max);
    options.request.passes_gzip = std::ranges::any_of(
        config.sources, [](const Source& source) { return source.gzip != Gzip::refused; });
    options.per_address = {.connections_max = server.connections_per_address,
                           .requests_per_second = server.requests_per_address};
    options.uncounted_paths = {"/healthz", "/readyz", "/metrics"};
    options.body_rate_min = server.body_rate_min;
    if (!server.tls_cert.empty()) options.tls = http_in::TlsFiles{server.tls_cert, server.tls_key};
    return options;
}

}  // namespace waybill::server
