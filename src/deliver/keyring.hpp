#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "waybill/time.hpp"

namespace waybill::deliver {

/// A tenant's secret, as it was looked up. Nothing: there is none.
struct KnownSecret {
    std::optional<std::string> value{};

    bool operator==(const KnownSecret&) const = default;
};

/// Secrets of tenants that were looked up, for a while. That there is none is believed for moments only: somebody
/// may just be putting it there.
///
/// Thread safety: any thread.
class Keyring {
public:
    static constexpr Duration none_most = std::chrono::seconds{5};

    explicit Keyring(Duration ttl) : ttl_(ttl) {}

    /// Nothing: it has to be looked up.
    std::optional<KnownSecret> find(const std::string& tenant, LocalTime now) const {
        const std::lock_guard lock{mutex_};
        const auto found = known_.find(tenant);
        if (found == known_.end() || now >= found->second.until) return std::nullopt;
        return found->second.secret;
    }
    void put(const std::string& tenant, KnownSecret secret, LocalTime now) {
        const Duration believed = secret.value ? ttl_ : std::min(ttl_, none_most);
        if (believed <= Duration::zero()) return;
        const std::lock_guard lock{mutex_};
        if (known_.size() >= kMost) known_.clear();
        known_.insert_or_assign(tenant, Known{std::move(secret), later(now, believed)});
    }

private:
    static constexpr std::size_t kMost = 100'000;
    struct Known {
        KnownSecret secret{};
        LocalTime until{};
    };
    const Duration ttl_;
    mutable std::mutex mutex_{};  ///< guards the one below
    std::unordered_map<std::string, Known> known_{};
};

}  // namespace waybill::deliver
