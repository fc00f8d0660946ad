#include "deliver/circuit.hpp"

#include <algorithm>

namespace waybill::deliver {

std::optional<Duration> Circuit::wait(LocalTime now) {
    if (now < rests_until_) return rests_until_ - now;
    if (!is_open()) return std::nullopt;
    if (probing_) return probe_pause;
    probing_ = true;
    return std::nullopt;
}

void Circuit::succeeded() {
    *this = {};
}

bool Circuit::failed(LocalTime now) {
    const bool was_probe = probing_;
    probing_ = false;
    if (failures_ < failures_to_open) ++failures_;
    if (!is_open()) return false;
    // Those that were under way when it opened say nothing new.
    if (now < rests_until_ && !was_probe) return true;
    constexpr std::uint32_t kDoublings = 10;
    const Duration rest =
        std::min(rest_most, rest_first * (std::int64_t{1} << std::min(opened_, kDoublings)));
    ++opened_;
    rests_until_ = later(now, rest);
    return true;
}

void Circuit::rest(LocalTime now, Duration time) {
    probing_ = false;
    rests_until_ =
        std::max(rests_until_, later(now, std::min(time, Duration{std::chrono::hours{1}})));
}

void Circuit::suspect() {
    failures_ = failures_to_open;
    opened_ = 1;
}

}  // namespace waybill::deliver
