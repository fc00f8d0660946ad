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
    /// How it fails, as another process found, or one before this.
    void recall(const std::string& key, const SubscriptionFailing& failing);
    /// Somebody wrote down that it fails, and it may be well here.
    void heard(const std::string& key);

    /// Of one that is not known: held.
    TargetOptions options_of(const std::string& key) const;
    /// By what it answered, and nobody has changed it since.
    bool is_disabled(const std::string& key) const;
    std::vector<Subscription> all() const;
    std::vector<Subscription> unusable() const;
    SubscriptionCounts counts(LocalTime now) const;
    std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

    struct Begin {
        /// Null: it is not known, or not active.
        SubscriptionPtr subscription{};
        /// Not now.
        std::optional<Duration> wait{};
    };
    Begin begin(const std::string& key, LocalTime now);
    struct Ended {
        /// What a person should know of it.
        std::optional<SubscriptionNews> news{};
        /// To be written down; said once for each time that it is left alone.
        std::optional<SubscriptionFailing> failing{};
        /// What is written down of it is no longer so.
        bool is_well_again = false;
    };
    /// `asked`: as begin() gave it. What one answers that was changed meanwhile does not disable what it is now.
    Ended ended(const std::string& key, const Subscription& asked, const Judgement& judgement,
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
        /// It was said aloud that it fails; that it answers again is, too, whoever resumed it meanwhile.
        bool said = false;
        /// It is written down that it fails.
        bool noted = false;
        /// Not before that it is written down again.
        LocalTime note_again = LocalTime::min();
    };
    static Ended went_well(Endpoint& endpoint, LocalTime now);
    Ended went_badly(Endpoint& endpoint, const Subscription& asked, const Judgement& judgement,
                     LocalTime now, StoreTime wall);
    static std::optional<SubscriptionFailing> noteworthy(Endpoint& endpoint,
                                                         const std::string& reason, LocalTime now,
                                                         StoreTime wall);

    mutable std::mutex mutex_{};  ///< guards the one below
    std::unordered_map<std::string, Endpoint> endpoints_{};
    /// Looked at whenever the engine takes a turn.
    std::atomic<std::uint64_t> version_{1};
};

}  // namespace waybill::deliver
