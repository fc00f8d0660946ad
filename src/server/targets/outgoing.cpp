#include "server/targets/outgoing.hpp"

#include <array>
#include <utility>

#include "core/text.hpp"
#include "core/webhook/header_rules.hpp"
#include "waybill/webhook.hpp"

namespace waybill::server {
namespace {

constexpr std::string_view kKeptHeader = "header.";
constexpr std::size_t kReasonBytesMax = 500;

void add(HttpHeaders& headers, const std::string& name, const std::string& value) {
    std::string clean = webhook::header_value(value);
    if (!clean.empty()) headers.add(name, std::move(clean));
}

}  // namespace

std::optional<HttpHeaders> outgoing_headers(const DeliveryItem& item, const std::string& secret,
                                            StoreTime now) {
    constexpr std::array kSigned{webhook::HeaderSet::standard};
    const Message& message = *item.message;
    webhook::Outgoing outgoing{.message = message, .attempt = item.attempt, .now = now};
    if (!secret.empty()) {
        outgoing.secrets = {&secret, 1};
        outgoing.sets = kSigned;
    }
    std::optional<HttpHeaders> headers = webhook::headers_of(outgoing);
    if (!headers) return std::nullopt;
    headers->add("X-Waybill-Message-Id", to_string(message.id));
    add(*headers, "X-Waybill-Source", message.source);
    add(*headers, "X-Waybill-Event", message.type);
    add(*headers, "X-Waybill-Tenant", message.tenant);
    add(*headers, "X-Waybill-Lane", message.lane);
    add(*headers, "X-Waybill-Correlation-Id", message.correlation_id);
    headers->add("X-Waybill-Attempt", std::to_string(item.attempt));
    for (const auto& [name, value] : message.attributes) {
        if (!name.starts_with(kKeptHeader)) continue;
        const std::string original = name.substr(kKeptHeader.size());
        if (!webhook::is_reserved_header(original)) add(*headers, original, value);
    }
    return headers;
}

Outcome outcome_of(const http_out::Result& result, StoreTime now) {
    if (result.status >= 200 && result.status < 300) return Done{};
    if (result.verdict != http_out::Verdict::allowed) {
        return Fail{.reason = "blocked: " + result.error + "; what may be called is in [egress]"};
    }
    if (result.status == 0) return Fail{.reason = "no answer: " + result.error};
    const std::string answer = "answered " + std::to_string(result.status) +
                               (result.body.empty() ? "" : ": ") +
                               clean_text(result.body, kReasonBytesMax);
    if (result.status == 410) return Dead{.reason = answer};
    if (result.status == 429 || result.status == 503) {
        return Fail{.reason = answer, .retry_after = webhook::retry_after(result.headers, now)};
    }
    return Fail{.reason = answer};
}

}  // namespace waybill::server
