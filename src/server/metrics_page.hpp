#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/metrics.hpp"
#include "server/unserved.hpp"
#include "waybill/health.hpp"

namespace waybill::server {

/// What is not counted but looked at when somebody asks.
struct Levels {
    Status status{};
    StoreHealth store{};
    std::vector<UnservedTarget> unserved{};
    SubscriptionCounts subscriptions{};
    std::uint64_t window_max = 0;
    std::uint64_t appends_waiting_max = 0;
    std::uint64_t connections = 0;
    std::uint64_t connections_max = 0;
    StoreTime process_start{};
    /// Nothing: this system does not say.
    std::optional<std::uint64_t> resident_bytes{};
};

/// GET /metrics. Pure.
std::string metrics_page(const Metrics& metrics, const Levels& levels);

/// Memory of this process that is in RAM.
std::optional<std::uint64_t> resident_bytes();

}  // namespace waybill::server
