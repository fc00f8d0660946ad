#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/admin_query.hpp"
#include "server/config/config.hpp"
#include "server/operations.hpp"
#include "waybill/deliver.hpp"
#include "waybill/http.hpp"
#include "waybill/json/value.hpp"

namespace waybill::server {

/// What operators ask and order of subscriptions, below /v1/subscriptions.
///
/// Thread safety: any thread; calls block on the store.
/// Lifetime:      what it was given outlives it.
/// Errors:        ConfigError, json::ReadError and StoreError, which Admin answers.
class SubscriptionDesk {
public:
    using ConfigInForce = std::function<std::shared_ptr<const Config>()>;

    /// `changed`: called after every change, so that it counts at once where it was made.
    SubscriptionDesk(StoreHandle store, Notebook& notebook, ConfigInForce config,
                     std::function<void()> changed)
        : store_(std::move(store)),
          notebook_(notebook),
          config_(std::move(config)),
          changed_(std::move(changed)) {}

    /// `below`: the path behind /v1/subscriptions, empty or with its slash. `query`: of a list, with `box`,
    /// `type`, `tenant`, `limit` and `cursor`.
    /// Throws BadQuery and InvalidCursor, too.
    HttpResponse question(const std::string& below, std::string_view query = {});
    /// Nothing: there is no such order.
    std::optional<HttpResponse> order(const HttpRequest& request, const std::string& below,
                                      Operation& operation);
    /// Why the messages of one wait, and what to do; empty: they do not. Nothing: there is no such subscription.
    using WhyItWaits = std::function<std::optional<std::string>(const Uuid& id)>;
    /// For a few of them: what they have in common is looked up with the first, and once.
    WhyItWaits why_they_wait() const;
    /// It waits for an answer of somebody else, seconds perhaps.
    static bool asks_an_endpoint(std::string_view below) { return below.ends_with("/test"); }
    /// Its target was: what became of it goes, too.
    void forgotten(const Uuid& id);

private:
    using Change = std::function<void(Subscription&)>;

    /// What was changed stays so, and whoever sends sees it within a second, also when this fails.
    void tell_change() const;

    /// As the configuration in force says, which may be null.
    SubscriptionBook book(const Config* config) const;
    SubscriptionBook book() const { return book(config_().get()); }
    bool stands_elsewhere(const Uuid& id) const;
    /// `fixed`: null where no configuration has it.
    HttpResponse order_elsewhere(const Uuid& id, const Subscription* fixed, const std::string& verb,
                                 const json::Value& body);
    HttpResponse list(const Listing& listing);
    HttpResponse add(const json::Value& body, Operation& operation);
    HttpResponse change(const Uuid& id, const Change& change);
    HttpResponse skip(const Uuid& id);
    HttpResponse rotate(const Uuid& id, const json::Value& body, Operation& operation);
    HttpResponse remove(const Uuid& id);
    HttpResponse test(const Uuid& id, const json::Value& body);

    StoreHandle store_;
    Notebook& notebook_;
    ConfigInForce config_;
    std::function<void()> changed_;
};

}  // namespace waybill::server
