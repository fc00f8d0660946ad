#pragma once

#include <optional>
#include <string>

#include "waybill/executor.hpp"
#include "waybill/http.hpp"
#include "waybill/time.hpp"

/// A delivery as an HTTP request. Pure.
namespace waybill::server {

/// User-Agent, content type, the sender's headers that were kept, what the message is (X-Waybill-…),
/// and, with a secret, the signature of Standard Webhooks. Nothing: the secret cannot sign.
std::optional<HttpHeaders> outgoing_headers(const DeliveryItem& item, const std::string& secret,
                                            StoreTime now);

}  // namespace waybill::server
