#pragma once

#include "waybill/deliver.hpp"
#include "waybill/json/value.hpp"

/// Subscriptions as the admin API speaks of them: the names and units of `[[subscriptions]]`.
namespace waybill::server {

/// Of its secrets only how many there are and until when, and what of a key pair is public.
json::Object to_json(const Subscription& subscription);

/// Why its messages wait, and what to do about it; empty: they do not. `failing` may be null.
std::string why_it_waits(const Subscription& subscription, const SubscriptionFailing* failing,
                         StoreTime now);
/// The same with how it fails.
json::Object to_json(const Subscription& subscription, const SubscriptionFailing* failing,
                     StoreTime now);

/// A text of an order; `otherwise` where it is not named.
std::string text_or(const json::Value& body, const char* name, const std::string& otherwise);

/// Replaces what is named, but for secrets. `others`: names that somebody else reads. Throws ConfigError with
/// all problems, also for a name that is not known.
/// Of `headers` those that are named are replaced, or with null removed: nobody can see the others to repeat them.
void read_into(Subscription& subscription, const json::Value& body,
               std::initializer_list<const char*> others);

}  // namespace waybill::server
