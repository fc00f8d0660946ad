#pragma once

#include "waybill/json/value.hpp"
#include "waybill/subscription.hpp"

/// Subscriptions as the admin API speaks of them: the names and units of `[[subscriptions]]`.
namespace waybill::server {

/// Of its secrets only how many there are and until when, and what of a key pair is public.
json::Object to_json(const Subscription& subscription);

/// Replaces what is named, but for secrets. `others`: names that somebody else reads. Throws ConfigError with
/// all problems, also for a name that is not known.
void read_into(Subscription& subscription, const json::Value& body,
               std::initializer_list<const char*> others);

}  // namespace waybill::server
