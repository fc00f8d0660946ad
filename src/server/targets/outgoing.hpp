#pragma once

#include <optional>
#include <string>

#include "transport/http_out/http_out.hpp"
#include "waybill/executor.hpp"
#include "waybill/http.hpp"
#include "waybill/outcome.hpp"
#include "waybill/time.hpp"

/// A delivery as an HTTP request, and its answer as an outcome. Pure.
namespace waybill::server {

/// User-Agent, content type, the sender's headers that were kept, what the message is (X-Waybill-…),
/// and, with a secret, the signature of Standard Webhooks. Nothing: the secret cannot sign.
std::optional<HttpHeaders> outgoing_headers(const DeliveryItem& item, const std::string& secret,
                                            StoreTime now);

/// 2xx is done, 410 is dead, 429 and 503 are tried again when their Retry-After says, everything else
/// is a failure. `now`: a Retry-After may be a date.
Outcome outcome_of(const http_out::Result& result, StoreTime now);

}  // namespace waybill::server
