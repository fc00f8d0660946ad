#pragma once

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace waybill::bench {

/// What a load of requests came to.
struct LoadResult {
    double seconds = 0;
    std::uint64_t accepted = 0;
    std::uint64_t others = 0;
    /// Of each request, in microseconds, sorted.
    std::vector<double> latencies_us{};

    double at(double share) const {
        return latencies_us.empty() ? 0
                                    : latencies_us[static_cast<std::size_t>(
                                          share * static_cast<double>(latencies_us.size() - 1))];
    }
};

/// Sends all requests over so many keep-alive connections, one at a time on each, from one thread.
LoadResult send_all(std::uint16_t port, const std::vector<std::string>& requests,
                    std::size_t connections);

/// Connections that send a request byte by byte: by turns its head, its body, or nothing at all.
class SlowConnections {
public:
    SlowConnections(std::uint16_t port, std::size_t count);
    ~SlowConnections();
    SlowConnections(const SlowConnections&) = delete;
    SlowConnections& operator=(const SlowConnections&) = delete;

private:
    void drip(const std::stop_token& stop);

    std::vector<int> sockets_{};
    std::jthread drip_{};
};

}  // namespace waybill::bench
