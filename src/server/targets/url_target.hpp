#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "transport/http_out/http_out.hpp"
#include "waybill/executor.hpp"
#include "waybill/runtime.hpp"

namespace waybill::server {

/// Where deliveries of a `url` target go.
struct UrlTargetOptions {
    std::string url{};
    /// Empty: unsigned.
    std::string secret{};
    Duration timeout = std::chrono::seconds{30};
    http_out::Tls tls{};
    std::string proxy{};
    /// Null: anywhere.
    std::shared_ptr<const http_out::Egress> egress{};
    std::uint64_t response_bytes_max = std::uint64_t{64} << 10;
};

/// Forwards messages to a URL.
///
/// Thread safety: as Executor.
/// Lifetime:      `out` and `clock` outlive it; what is under way keeps what it needs.
class UrlTarget final : public Executor {
public:
    UrlTarget(UrlTargetOptions options, http_out::HttpOut& out, Clock& clock)
        : options_(std::move(options)), out_(out), clock_(clock) {}

    void start(std::vector<Job> jobs) override;
    void cancel(std::span<const std::uint64_t> numbers) override;

private:
    /// Deliveries under way, by their number: that of their request.
    struct UnderWay {
        std::mutex mutex{};  ///< guards the map
        std::unordered_map<std::uint64_t, std::uint64_t> requests{};
    };

    const UrlTargetOptions options_;
    http_out::HttpOut& out_;
    Clock& clock_;
    std::shared_ptr<UnderWay> under_way_ = std::make_shared<UnderWay>();
};

}  // namespace waybill::server
