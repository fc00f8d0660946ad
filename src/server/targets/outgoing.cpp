#include "server/targets/outgoing.hpp"

#include <array>
#include <utility>

#include "core/webhook/header_rules.hpp"
#include "waybill/webhook.hpp"

namespace waybill::server {
namespace {

constexpr std::string_view kKeptHeader = "header.";

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

}  // namespace waybill::server
