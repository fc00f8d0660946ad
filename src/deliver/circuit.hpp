#pragma once

#include <cstdint>
#include <optional>

#include "waybill/time.hpp"

namespace waybill::deliver {

/// Whether an endpoint is worth a try. After some failures in a row it is left alone for a while, longer each
/// time; then one request at a time finds out whether it is back. Pure.
class Circuit {
public:
    static constexpr std::uint32_t failures_to_open = 5;
    static constexpr Duration rest_first = std::chrono::seconds{10};
    static constexpr Duration rest_most = std::chrono::minutes{5};
    /// While another one finds out.
    static constexpr Duration probe_pause = std::chrono::seconds{1};

    /// Nothing: go on, and tell how it ended. Otherwise: not for so long.
    std::optional<Duration> wait(LocalTime now);
    void succeeded();
    /// True: it opened just now, or stays open.
    bool failed(LocalTime now);
    /// It neither succeeded nor failed.
    void released() { probing_ = false; }
    /// The endpoint asked for it.
    void rest(LocalTime now, Duration time);
    /// Another process left it alone: one request at a time finds out, the first one at once.
    void suspect();
    /// So long it is left alone.
    Duration rests(LocalTime now) const {
        return now < rests_until_ ? rests_until_ - now : Duration::zero();
    }

    bool is_open() const { return failures_ >= failures_to_open; }
    std::uint32_t failures() const { return failures_; }

private:
    LocalTime rests_until_ = LocalTime::min();
    std::uint32_t failures_ = 0;
    std::uint32_t opened_ = 0;
    bool probing_ = false;
};

}  // namespace waybill::deliver
