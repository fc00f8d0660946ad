#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "core/sha256.hpp"
#include "core/signing/public_key.hpp"
#include "core/version.hpp"
#include "core/webhook/header_rules.hpp"
#include "core/webhook/standard_key.hpp"
#include "waybill/signing.hpp"
#include "waybill/webhook.hpp"

namespace waybill::webhook {
namespace {

using Kind = StandardKey::Kind;

void add_text(HttpHeaders& headers, std::string name, std::string_view text) {
    std::string value = header_value(text);
    if (!value.empty()) headers.add(std::move(name), std::move(value));
}

/// "v1,…" or "v1a,…". Empty: this secret cannot sign.
std::string standard_signature(std::string_view secret, signing::Pieces pieces) {
    const StandardKey key = standard_key(secret);
    if (key.kind == Kind::hmac) {
        return "v1," + signing::to_base64(signing::hmac(signing::Hash::sha256, key.bytes, pieces));
    }
    if (key.kind != Kind::private_key) return {};
    std::string whole;
    for (const std::string_view piece : pieces) whole += piece;
    const auto signature = signing::ed25519_sign(key.bytes, whole);
    return signature ? "v1a," + signing::to_base64(*signature) : std::string{};
}

bool add_standard(HttpHeaders& headers, const Outgoing& outgoing, const std::string& timestamp) {
    const std::string id = to_string(outgoing.message.id);
    const std::array<std::string_view, 5> pieces{id, ".", timestamp, ".", outgoing.message.body};
    std::string signatures;
    for (const std::string& secret : outgoing.secrets) {
        const std::string one = standard_signature(secret, pieces);
        if (one.empty()) continue;
        if (!signatures.empty()) signatures += ' ';
        signatures += one;
    }
    if (signatures.empty() && !outgoing.secrets.empty()) return false;
    headers.add("webhook-id", id);
    headers.add("webhook-timestamp", timestamp);
    if (!signatures.empty()) headers.add("webhook-signature", signatures);
    return true;
}

bool add_outbox(HttpHeaders& headers, const Outgoing& outgoing, const std::string& timestamp) {
    const Message& message = outgoing.message;
    if (!outgoing.secrets.empty()) {
        const auto newest = std::ranges::find_if(outgoing.secrets, [](const std::string& secret) {
            return problem_of_secret(secret, HeaderSet::outbox).empty();
        });
        if (newest == outgoing.secrets.end()) return false;
        const std::array<std::string_view, 1> pieces{message.body};
        headers.add("X-Outbox-Signature", "sha256=" + signing::to_hex(signing::hmac(
                                                          signing::Hash::sha256, *newest, pieces)));
    }
    add_text(headers, "X-Outbox-Event", message.type);
    headers.add("X-Outbox-Message-Id", to_string(message.id));
    headers.add("X-Outbox-Delivery-Id",
                to_string(delivery_id(message, outgoing.subscription, outgoing.attempt)));
    headers.add("X-Outbox-Subscription-Id", to_string(outgoing.subscription));
    headers.add("X-Outbox-Timestamp", timestamp);
    add_text(headers, "X-Outbox-Correlation-Id", message.correlation_id);
    return true;
}

/// As a publisher says it, or as it came with a webhook.
void add_trace(HttpHeaders& headers, const Attributes& attributes) {
    for (const std::string_view name : {"traceparent", "header.traceparent"}) {
        const auto found = attributes.find(name);
        if (found == attributes.end() || !is_traceparent(found->second)) continue;
        return headers.add("traceparent", found->second);
    }
}

void put(const Uuid& id, std::string& bytes) {
    bytes.append(id.bytes.begin(), id.bytes.end());
}

}  // namespace

std::optional<HttpHeaders> headers_of(const Outgoing& outgoing) {
    const std::string timestamp = std::to_string(
        std::chrono::floor<std::chrono::seconds>(outgoing.now.time_since_epoch()).count());
    HttpHeaders headers;
    constexpr std::size_t kMostOfASet = 7;
    headers.reserve(3 + kMostOfASet * outgoing.sets.size() +
                    (outgoing.own == nullptr ? 0 : outgoing.own->size()));
    headers.add("User-Agent", std::string{"Waybill/"} + version_text);
    std::string content_type = header_value(outgoing.message.content_type);
    if (content_type.empty()) content_type = "application/octet-stream";
    headers.add("Content-Type", std::move(content_type));
    for (const HeaderSet set : outgoing.sets) {
        const bool is_signed = set == HeaderSet::standard
                                   ? add_standard(headers, outgoing, timestamp)
                                   : add_outbox(headers, outgoing, timestamp);
        if (!is_signed) return std::nullopt;
    }
    add_trace(headers, outgoing.message.attributes);
    if (outgoing.own == nullptr) return headers;
    for (const auto& [name, value] : *outgoing.own) {
        if (problem_of_header(name, value).empty()) headers.add(name, value);
    }
    return headers;
}

Uuid delivery_id(const Message& message, const Uuid& subscription, std::uint32_t attempt) {
    std::string input;
    put(message.id, input);
    put(subscription, input);
    for (const unsigned shift : {24U, 16U, 8U, 0U}) input += static_cast<char>(attempt >> shift);
    const auto hash = sha256(input);

    Uuid id;
    std::copy_n(hash.begin(), id.bytes.size(), id.bytes.begin());
    id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0F) | 0x80);
    id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3F) | 0x80);
    return id;
}

}  // namespace waybill::webhook
