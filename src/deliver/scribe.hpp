#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "deliver/endpoints.hpp"
#include "waybill/deliver.hpp"

namespace waybill::deliver {

/// Writes down who fails and who was disabled, for people and for other instances. What cannot be written is kept
/// and written later: meanwhile it is in force here, and comes to the same elsewhere.
///
/// Thread safety: any thread; those that write block on the store.
/// Lifetime:      the book and the endpoints outlive it. The book may be null: then nothing is kept.
class Scribe {
public:
    using Tell = std::function<void(const SubscriptionNews&)>;

    Scribe(SubscriptionBook* book, const Endpoints& endpoints, std::string instance, Tell tell)
        : book_(book),
          endpoints_(endpoints),
          instance_(std::move(instance)),
          tell_(std::move(tell)) {}

    /// Nothing: it is well again.
    void keep_failing(const Uuid& id, std::optional<SubscriptionFailing> failing);
    void keep_disabled(SubscriptionPtr subscription, std::string reason);

    /// All of them: others would go on sending.
    void write_disabled();
    /// A few at a time: when a network goes, all fail at once, and whoever has work for the store or for this
    /// thread does not wait for that.
    void write_failing(std::size_t most);

private:
    struct Disabled {
        SubscriptionPtr subscription{};
        std::string reason{};
    };
    /// `last`: what was told last of this, with which it is not told again: a trouble that lasts is one.
    void tell_unwritten(const Uuid& id, const std::exception& error, std::string& last);
    void worked(std::string& last);

    SubscriptionBook* const book_;
    const Endpoints& endpoints_;
    const std::string instance_;
    const Tell tell_;

    std::mutex mutex_{};  ///< guards the four below
    std::map<Uuid, std::optional<SubscriptionFailing>> failing_{};
    std::map<Uuid, Disabled> disabled_{};
    std::string failing_trouble_{};
    std::string disabled_trouble_{};
};

}  // namespace waybill::deliver
