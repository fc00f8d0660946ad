#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "deliver/circuit.hpp"
#include "deliver/judge.hpp"
#include "waybill/deliver.hpp"

namespace waybill::deliver {

using SubscriptionPtr = std::shared_ptr<const Subscription>;

/// The subscriptions in force, and how their endpoints do.
///
/// Thread safety: any thread.
class Endpoints {
public:
    /// What became different for the registry.
    struct Change {
        std::vector<Target> wanted{};
        std::vector<Target> unwanted{};
    };
    /// These and no others. Circuits of those that stay are kept, unless they go elsewhere now.
    Change put(std::vector<Subscription> all);
    /// It has not succeeded since then, another process found.
    void recall(const std::string& key, StoreTime failing_since);

    /// Of one that is not known: held.
    TargetOptions options_of(const std::string& key) const;
    std::vector<Subscription> all() const;
    std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

    struct Begin {
        /// Null: it is not known, or not active.
        SubscriptionPtr subscription{};
        /// Not now.
        std::optional<Duration> wait{};
    };
    Begin begin(const std::string& key, LocalTime now);
    /// How it ended. What a person should know of it, if anything.
    std::optional<SubscriptionNews> ended(const std::string& key, const Judgement& judgement,
                                          LocalTime now, StoreTime wall);
    /// It neither went well nor badly.
    void released(const std::string& key);

private:
    struct Endpoint {
        SubscriptionPtr subscription{};
        Circuit circuit{};
        std::optional<StoreTime> failing_since{};
        std::uint32_t failures = 0;
        /// By its answers; what the readers say follows.
        bool disabled = false;
    };
    std::optional<SubscriptionNews> went_badly(Endpoint& endpoint, const Judgement& judgement,
                                               LocalTime now, StoreTime wall);

    mutable std::mutex mutex_{};  ///< guards the one below
    std::unordered_map<std::string, Endpoint> endpoints_{};
    /// Looked at whenever the engine takes a turn.
    std::atomic<std::uint64_t> version_{1};
};

}  // namespace waybill::deliver
