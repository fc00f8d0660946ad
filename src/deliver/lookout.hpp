#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "deliver/endpoints.hpp"
#include "waybill/deliver.hpp"

namespace waybill::deliver {

/// Asks the readers, and keeps the endpoints and the store's registry as they say.
///
/// Thread safety: any thread.
/// Lifetime:      what it is given outlives it.
class Lookout {
public:
    using Tell = std::function<void(const SubscriptionNews&)>;

    Lookout(StoreHandle& store, SubscriptionBook* book, Endpoints& endpoints, Tell tell)
        : store_(store), book_(book), endpoints_(endpoints), tell_(std::move(tell)) {}

    void add(std::shared_ptr<SubscriptionReader> reader);
    /// Whether anybody said something new. Throws StoreError when the registry cannot be told; it is told with
    /// the next look.
    bool look();
    /// The same for who comes regularly: what goes wrong is told, a trouble that lasts once.
    bool look_again();

private:
    /// A reader's own, until it says something else.
    struct Known {
        std::shared_ptr<SubscriptionReader> reader{};
        std::vector<Subscription> said{};
        std::string last_error{};
    };

    bool ask();
    bool learn();
    Subscription in_force(const Subscription& said) const;
    void tell_once(Known& known, const std::string& error);
    void put();
    void recall();
    void hear();
    void declare();
    void declare_wanted();
    /// False: refused, because its box is not there.
    bool declare_one(const Target& target);
    bool look_under_lock();

    StoreHandle& store_;
    SubscriptionBook* const book_;
    Endpoints& endpoints_;
    const Tell tell_;

    std::mutex mutex_{};  ///< held while readers are asked; guards all below
    std::vector<Known> readers_{};
    /// What became of those that stand elsewhere, and when in the book's time that was read. Nothing: not yet.
    std::map<Uuid, SubscriptionStanding> standings_{};
    std::optional<std::string> standings_version_{};
    Endpoints::Change undeclared_{};
    /// Keys whose past has not been read yet.
    std::unordered_set<std::string> unrecalled_{};
    bool untold_ = false;
    /// Of subscriptions, as they were told.
    std::map<Uuid, std::string> problems_{};
    /// Keys that were refused, and told so.
    std::unordered_set<std::string> refused_{};
    std::string last_trouble_{};
    LocalTime hear_at_{};
};

}  // namespace waybill::deliver
