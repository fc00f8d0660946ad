#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "waybill/time.hpp"

namespace waybill::deliver {

/// Secrets of tenants that were looked up, for a while. That there is none is never remembered.
///
/// Thread safety: any thread.
class Keyring {
public:
    explicit Keyring(Duration ttl) : ttl_(ttl) {}

    std::optional<std::string> find(const std::string& tenant, LocalTime now) const {
        const std::lock_guard lock{mutex_};
        const auto found = known_.find(tenant);
        if (found == known_.end() || now >= found->second.until) return std::nullopt;
        return found->second.value;
    }
    void put(const std::string& tenant, const std::string& value, LocalTime now) {
        if (ttl_ <= Duration::zero()) return;
        const std::lock_guard lock{mutex_};
        if (known_.size() >= kMost) known_.clear();
        known_.insert_or_assign(tenant, Known{value, later(now, ttl_)});
    }

private:
    static constexpr std::size_t kMost = 100'000;
    struct Known {
        std::string value{};
        LocalTime until{};
    };
    const Duration ttl_;
    mutable std::mutex mutex_{};  ///< guards the one below
    std::unordered_map<std::string, Known> known_{};
};

}  // namespace waybill::deliver
