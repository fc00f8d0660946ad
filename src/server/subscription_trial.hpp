#pragma once

#include "server/config/config.hpp"
#include "waybill/http.hpp"
#include "waybill/json/value.hpp"
#include "waybill/store_handle.hpp"
#include "waybill/subscription.hpp"

namespace waybill::server {

/// An example, or a message that is stored, to a subscription's URL or to another: now, once, signed as a delivery
/// would be, and nothing is written down. Waits for the answer. Throws json::ReadError, ConfigError and StoreError.
HttpResponse try_out(Subscription subscription, const json::Value& body, const Config& config,
                     StoreHandle& store);

}  // namespace waybill::server
