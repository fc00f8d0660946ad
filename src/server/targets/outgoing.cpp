#include "server/targets/outgoing.hpp"

#include <array>
#include <charconv>

#include "core/text.hpp"
#include "core/version.hpp"
#include "waybill/signing.hpp"

namespace waybill::server {
namespace {

constexpr std::string_view kKeptHeader = "header.";
constexpr std::size_t kReasonBytesMax = 500;

/// What this connection has its own of, or what we say ourselves.
bool is_ours(std::string_view name) {
    constexpr std::array<std::string_view, 13> kOurs{
        "host",
        "connection",
        "content-length",
        "content-type",
        "transfer-encoding",
        "te",
        "upgrade",
        "expect",
        "user-agent",
        "webhook-id",
        "keep-alive",
        "proxy-authorization",
        "content-encoding",
    };
    if (name.starts_with("x-waybill-")) return true;
    for (const std::string_view one : kOurs) {
        if (same_name(one, name)) return true;
    }
    return same_name("webhook-timestamp", name) || same_name("webhook-signature", name);
}

void add(HttpHeaders& headers, const std::string& name, const std::string& value) {
    if (!value.empty()) headers.add(name, clean_text(value, 4096));
}

std::string key_of(const std::string& secret) {
    if (secret.starts_with("whsec_")) {
        if (auto bytes = signing::from_base64(secret.substr(6))) return *bytes;
    }
    return secret;
}

void add_signature(HttpHeaders& headers, const Message& message, const std::string& secret,
                   StoreTime now) {
    const std::string id = to_string(message.id);
    const std::string timestamp = std::to_string(
        std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
    const std::array<std::string_view, 5> pieces{id, ".", timestamp, ".", message.body};
    headers.add("webhook-id", id);
    headers.add("webhook-timestamp", timestamp);
    headers.add("webhook-signature", "v1," + signing::to_base64(signing::hmac(
                                                 signing::Hash::sha256, key_of(secret), pieces)));
}

std::optional<Duration> retry_after(const HttpHeaders& headers) {
    const std::string* const value = headers.find("Retry-After");
    if (value == nullptr) return std::nullopt;
    std::uint32_t seconds = 0;
    const char* const end = value->data() + value->size();
    const auto [stopped, error] = std::from_chars(value->data(), end, seconds);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    return std::chrono::seconds{seconds};
}

}  // namespace

HttpHeaders outgoing_headers(const DeliveryItem& item, const std::string& secret, StoreTime now) {
    const Message& message = *item.message;
    HttpHeaders headers;
    headers.add("User-Agent", std::string{"Waybill/"} + version_text);
    headers.add("Content-Type",
                message.content_type.empty() ? "application/octet-stream" : message.content_type);
    headers.add("X-Waybill-Message-Id", to_string(message.id));
    add(headers, "X-Waybill-Source", message.source);
    add(headers, "X-Waybill-Event", message.type);
    add(headers, "X-Waybill-Tenant", message.tenant);
    add(headers, "X-Waybill-Lane", message.lane);
    add(headers, "X-Waybill-Correlation-Id", message.correlation_id);
    headers.add("X-Waybill-Attempt", std::to_string(item.attempt));
    for (const auto& [name, value] : message.attributes) {
        if (!name.starts_with(kKeptHeader)) continue;
        const std::string original = name.substr(kKeptHeader.size());
        if (!is_ours(original)) add(headers, original, value);
    }
    if (!secret.empty()) add_signature(headers, message, secret, now);
    return headers;
}

Outcome outcome_of(const http_out::Result& result) {
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
        return Fail{.reason = answer, .retry_after = retry_after(result.headers)};
    }
    return Fail{.reason = answer};
}

}  // namespace waybill::server
