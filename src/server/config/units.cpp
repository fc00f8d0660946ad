#include "server/config/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace waybill::server {
namespace {

using std::chrono::duration_cast;

constexpr std::array<std::pair<std::string_view, std::int64_t>, 6> kDurations{
    {{"us", 1},
     {"ms", 1'000},
     {"s", 1'000'000},
     {"m", 60'000'000},
     {"h", 3'600'000'000},
     {"d", 86'400'000'000}}};
constexpr std::array<std::pair<std::string_view, std::uint64_t>, 8> kSizes{{{"", 1},
                                                                            {"B", 1},
                                                                            {"KiB", 1ULL << 10},
                                                                            {"MiB", 1ULL << 20},
                                                                            {"GiB", 1ULL << 30},
                                                                            {"KB", 1'000},
                                                                            {"MB", 1'000'000},
                                                                            {"GB", 1'000'000'000}}};

/// The number in front, and what follows it.
std::optional<std::pair<std::uint64_t, std::string_view>> split(std::string_view text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stopped == text.data()) return std::nullopt;
    std::string_view unit{stopped, static_cast<std::size_t>(end - stopped)};
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    return std::pair{number, unit};
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
    if (text == "forever") return forever;
    const auto parts = split(text);
    if (!parts) return std::nullopt;
    for (const auto& [unit, microseconds] : kDurations) {
        if (parts->second != unit) continue;
        const auto most =
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / microseconds);
        if (parts->first > most) return std::nullopt;
        return Duration{static_cast<std::int64_t>(parts->first) * microseconds};
    }
    return std::nullopt;
}

std::string duration_text(Duration duration) {
    if (duration == forever) return "forever";
    for (auto unit = kDurations.rbegin(); unit != kDurations.rend(); ++unit) {
        if (duration.count() % unit->second == 0 && (duration.count() != 0 || unit->first == "s")) {
            return std::to_string(duration.count() / unit->second) + std::string{unit->first};
        }
    }
    return std::to_string(duration.count()) + "us";
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    const auto parts = split(text);
    if (!parts) return std::nullopt;
    for (const auto& [unit, bytes] : kSizes) {
        if (parts->second != unit) continue;
        if (parts->first > std::numeric_limits<std::uint64_t>::max() / bytes) return std::nullopt;
        return parts->first * bytes;
    }
    return std::nullopt;
}

std::string size_text(std::uint64_t bytes) {
    for (const auto& [unit, size] : {kSizes[4], kSizes[3], kSizes[2]}) {
        if (bytes > 0 && bytes % size == 0) return std::to_string(bytes / size) + std::string{unit};
    }
    return std::to_string(bytes) + "B";
}

std::optional<double> parse_rate(std::string_view text) {
    const auto parts = split(text);
    if (!parts) return std::nullopt;
    const auto number = static_cast<double>(parts->first);
    if (parts->second == "/s") return number;
    if (parts->second == "/m") return number / 60;
    if (parts->second == "/h") return number / 3600;
    return std::nullopt;
}

std::optional<HostPort> parse_host_port(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    const std::string_view digits = text.substr(colon + 1);
    HostPort found;
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, found.port);
    if (error != std::errc{} || stopped != end || digits.empty()) return std::nullopt;
    if (host.starts_with('[')) {
        if (!host.ends_with(']') || host.size() < 3) return std::nullopt;
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        return std::nullopt;
    }
    found.host = host;
    return found;
}

}  // namespace waybill::server
