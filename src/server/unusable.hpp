#pragma once

#include <span>
#include <string>
#include <vector>

#include "server/config/config.hpp"
#include "waybill/deliver.hpp"
#include "waybill/finding.hpp"

/// Subscriptions that get nothing: those that cannot be used, such as those whose secrets are sealed with
/// another key, and those that are disabled. Their messages wait, and the others go on, so nothing else would say it.
namespace waybill::server {

/// Those of a configuration, with what became of them.
std::vector<Subscription> in_force(std::vector<Subscription> fixed, SubscriptionBook& book);

/// Those of the configured store, and of the configuration itself, read without changing it. Throws StoreError, and ConfigError when the key
/// cannot be had.
std::vector<Subscription> unusable_subscriptions(const Config& config);

/// For people: which, why and what to do. A few, and how many more there are. Whoever probes /readyz may read it: neither a
/// URL, nor what an endpoint has answered.
std::vector<std::string> texts_of(std::span<const Subscription> unusable);
/// The same as findings, for whoever has the configuration.
Findings findings_of(std::span<const Subscription> unusable);

}  // namespace waybill::server
