#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest.hpp"
#include "waybill/time.hpp"

/// How people write quantities.
namespace waybill::server {

/// "250ms", "30s", "5m", "2h", "7d", and "forever".
std::optional<Duration> parse_duration(std::string_view text);
std::string duration_text(Duration duration);
/// "512", "16KiB", "1MiB", "2GiB".
std::optional<std::uint64_t> parse_size(std::string_view text);
std::string size_text(std::uint64_t bytes);
/// "100/s", "30/m": per second.
std::optional<double> parse_rate(std::string_view text);

struct HostPort {
    std::string host{};
    std::uint16_t port = 0;
};
/// "127.0.0.1:8080", "[::1]:8080", "localhost:8080".
std::optional<HostPort> parse_host_port(std::string_view text);

using waybill::nearest;

}  // namespace waybill::server
