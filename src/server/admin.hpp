#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/admin_publish.hpp"
#include "server/bulk.hpp"
#include "server/config/config.hpp"
#include "server/operations.hpp"
#include "server/subscription_desk.hpp"
#include "server/unserved.hpp"
#include "server/waiting.hpp"
#include "waybill/http.hpp"
#include "waybill/notebook.hpp"
#include "waybill/store_handle.hpp"

namespace waybill::server {

/// What operators ask and order, as HTTP requests below /v1/. The server answers them over its door,
/// and the command line answers them itself when no server has the store open: one set of rules for
/// both. Any order but a publish may carry an operation id (Idempotency-Key): see Operations.
///
/// Thread safety: any thread; calls block on the store.
/// Lifetime:      what it was given outlives it.
/// Errors:        everything is an answer.
class Admin {
public:
    /// Copies the store to a file.
    using Backup = std::function<void(const std::string& path)>;
    /// The configuration in force; null where it could not be read.
    using ConfigInForce = std::function<std::shared_ptr<const Config>()>;

    Admin(StoreHandle store, Notebook& notebook, Backup backup, AppendMessage append,
          ConfigInForce config, WhoServes who = {},
          std::function<void()> subscriptions_changed = {})
        : catalogue_(*store.catalogue()),
          upkeep_(*store.upkeep()),
          notebook_(notebook),
          operations_(notebook),
          backup_(std::move(backup)),
          append_(std::move(append)),
          config_(std::move(config)),
          who_(std::move(who)),
          subscriptions_(store, notebook, config_, std::move(subscriptions_changed)),
          store_(std::move(store)) {}

    /// Asks after an order or cancels it: a few looks at notes, and it must not wait behind that order.
    static bool is_of_order(const HttpRequest& request);

    /// `actor`: who asks, for the record.
    HttpResponse handle(const HttpRequest& request, const std::string& actor);
    /// POST /v1/messages of somebody who may do nothing else.
    HttpResponse publish_as(const Publisher& publisher, const HttpRequest& request);

private:
    HttpResponse route(const HttpRequest& request, const std::string& actor);
    HttpResponse question(const HttpRequest& request, const std::string& path);
    /// Nothing: there is no such order.
    std::optional<HttpResponse> order(const HttpRequest& request, const std::string& path,
                                      Operation& operation);

    HttpResponse messages(const HttpRequest& request);
    HttpResponse command(const std::string& number);
    HttpResponse dead(const HttpRequest& request);
    HttpResponse lanes(const HttpRequest& request);
    HttpResponse stats();
    HttpResponse operation(const std::string& id);
    HttpResponse demo();

    // admin_message.cpp
    HttpResponse message(const std::string& id);
    std::vector<OpenDelivery> open_deliveries(const MessageDetail& detail);
    std::string why_unserved(const Target& target, const Config* config,
                             const std::vector<InstanceSeen>& instances,
                             const SubscriptionDesk::WhyItWaits& of_subscription);

    // admin_orders.cpp
    HttpResponse cancel(const std::string& id, const Operation& operation);
    HttpResponse mend(const HttpRequest& request, BulkOrder order, Operation& operation);
    HttpResponse replay(const std::string& id, const HttpRequest& request, Operation& operation);
    HttpResponse replay(const HttpRequest& request, Operation& operation);
    HttpResponse order_lane(const HttpRequest& request, bool skip, Operation& operation);
    HttpResponse forget(const HttpRequest& request, const Operation& operation);
    HttpResponse pause(const HttpRequest& request, bool paused);
    HttpResponse backup(const HttpRequest& request, const Operation& operation);

    // admin_registry.cpp
    /// A target's key, or for short the id of a subscription.
    std::string target_meant(const std::string& text);
    Filter meant(Filter filter);
    HttpResponse boxes();
    HttpResponse instances();
    HttpResponse targets();
    HttpResponse forget(const Target& target, bool is_forced, const Operation& operation);
    std::optional<HttpResponse> refusal_to_forget(const Target& target, bool is_forced);
    std::optional<HttpResponse> refusal_to_forget_subscription(const Target& target, bool is_forced,
                                                               const Config* config);
    /// Where a target of that key is registered; "inbox" where there is none, or several.
    std::string box_of(const std::string& key);
    HttpResponse pause(const std::string& box, bool paused);

    Catalogue& catalogue_;
    Upkeep& upkeep_;
    Notebook& notebook_;
    Operations operations_;
    Backup backup_;
    AppendMessage append_;
    ConfigInForce config_;
    WhoServes who_;
    SubscriptionDesk subscriptions_;
    StoreHandle store_;
};

}  // namespace waybill::server
