#include "transport/http_in/address_limits.hpp"

#include <algorithm>
#include <chrono>

namespace waybill::http_in {

bool AddressLimits::enter(const std::string& address) {
    std::uint32_t& count = connections_[address];
    if (options_->connections_max != 0 && count >= options_->connections_max) return false;
    ++count;
    return true;
}

void AddressLimits::leave(const std::string& address) {
    const auto found = connections_.find(address);
    if (found == connections_.end()) return;
    if (--found->second == 0) connections_.erase(found);
}

Duration AddressLimits::admit(const std::string& address, LocalTime now) {
    if (options_->requests_per_second <= 0) return Duration{};
    const auto cost = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>{1 / options_->requests_per_second});
    // A second's worth at once, and always one.
    const Duration burst = std::max<Duration>(std::chrono::seconds{1}, cost);
    auto found = paid_until_.find(address);
    if (found == paid_until_.end()) {
        if (paid_until_.size() >= paces_max) forget_rested(now);
        if (paid_until_.size() >= paces_max) return Duration{};
        found = paid_until_.emplace(address, now).first;
    }
    const LocalTime paid_until = std::max(found->second, now) + cost;
    const Duration wait = paid_until - now - burst;
    if (wait > Duration{}) return wait;
    found->second = paid_until;
    return Duration{};
}

void AddressLimits::forget_rested(LocalTime now) {
    std::erase_if(paid_until_, [now](const auto& one) { return one.second <= now; });
}

}  // namespace waybill::http_in
