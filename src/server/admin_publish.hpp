#pragma once

#include <functional>

#include "server/claims.hpp"
#include "waybill/http.hpp"
#include "waybill/message.hpp"
#include "waybill/store.hpp"

namespace waybill::server {

/// Stores a message; throws what Waybill::append throws.
using AppendMessage = std::function<AppendResult(Message message)>;

/// POST /v1/messages: {type, body|body_base64, box?, content_type?, tenant?, user?, lane?, dedup_key?,
/// collapse_key?, correlation_id?, not_before?, attributes?}; Idempotency-Key is a dedup key. 202 new,
/// 200 duplicate, 409 the same key with another body. A `publisher` publishes for itself alone: 403 when
/// the body names somebody else, or a box of webhooks, and its dedup key, lane and collapse key are its tenant's own. Null:
/// whoever may name anybody.
HttpResponse publish(const HttpRequest& request, const AppendMessage& append,
                     const Publisher* publisher = nullptr);

}  // namespace waybill::server
