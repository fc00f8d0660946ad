#include "server/admin_publish.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "core/sha256.hpp"
#include "intake/identity.hpp"
#include "server/admin_query.hpp"
#include "server/answer.hpp"
#include "server/config/units.hpp"
#include "waybill/append.hpp"
#include "waybill/json.hpp"
#include "waybill/message_check.hpp"
#include "waybill/signing.hpp"

namespace waybill::server {
namespace {

using json::Value;

constexpr std::array<const char*, 12> kMembers{
    "type", "body", "body_base64", "box",          "content_type",   "tenant",
    "user", "lane", "dedup_key",   "collapse_key", "correlation_id", "attributes"};

void refuse_unknown(const Value& order) {
    std::vector<std::string> known{kMembers.begin(), kMembers.end()};
    known.emplace_back("not_before");
    for (const auto& [name, value] : order.as_object()) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        const std::string close = nearest(name, known);
        throw json::ReadError{
            "is not known" + (close.empty() ? "" : "; did you mean " + close + "?"), name};
    }
}

void read(const Value& order, std::string_view name, std::string& field) {
    const Value* const value = order.find(name);
    if (value != nullptr) field = value->as_string();
}

std::string body_of(const Value& order) {
    if (const Value* const encoded = order.find("body_base64")) {
        const auto bytes = signing::from_base64(encoded->as_string());
        if (!bytes) throw json::ReadError{"is not base64", "body_base64"};
        return *bytes;
    }
    const Value* const body = order.find("body");
    if (body == nullptr) return {};
    // A text is the body itself; anything else is a document.
    return body->visit([&](const auto& inner) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(inner)>, std::string>) {
            return inner;
        } else {
            return json::to_text(*body);
        }
    });
}

Message message_of(const HttpRequest& request) {
    const Value order = json::parse(request.body);
    refuse_unknown(order);
    Message message{.box = "outbox"};
    read(order, "type", message.type);
    read(order, "box", message.box);
    message.content_type = "application/json";
    read(order, "content_type", message.content_type);
    read(order, "tenant", message.tenant);
    read(order, "user", message.user);
    read(order, "lane", message.lane);
    read(order, "dedup_key", message.dedup_key);
    read(order, "collapse_key", message.collapse_key);
    read(order, "correlation_id", message.correlation_id);
    if (const Value* const not_before = order.find("not_before")) {
        message.not_before = parse_time(not_before->as_string());
    }
    if (const Value* const attributes = order.find("attributes")) {
        for (const auto& [name, value] : attributes->as_object()) {
            message.attributes[name] = value.as_string();
        }
    }
    if (const std::string* const key = request.headers.find("Idempotency-Key")) {
        message.dedup_key = *key;
    }
    message.body = body_of(order);
    return message;
}

/// What the token says stands. False: the body says something else.
bool put_claim(const std::optional<std::string>& claim, std::string& field) {
    if (!claim) return true;
    if (!field.empty() && field != *claim) return false;
    field = *claim;
    return true;
}

/// "tenant:name": what one tenant names is not what another calls the same. Too long for a field, it is a hash
/// behind a colon: no tenant is empty, so nobody gets the same by his own words.
std::string name_of(const std::string& tenant, const std::string& name) {
    // What no field could hold is refused as it was sent.
    if (name.empty() || name.size() > field_bytes_max) return name;
    std::string whole = intake::without_colons(tenant) + ":" + name;
    if (whole.size() <= field_bytes_max) return whole;
    return ":" + signing::to_hex(sha256_bytes(whole));
}

/// Nobody learns of, suppresses, replaces or holds up what is another's.
void keep_apart(const std::string& tenant, Message& message) {
    for (std::string* const name : {&message.dedup_key, &message.lane, &message.collapse_key}) {
        *name = name_of(tenant, *name);
    }
}

HttpResponse answer(unsigned status, const AppendResult& result, const char* word) {
    return json_response(status, json::Object{{"id", to_string(result.id)}, {"status", word}});
}

}  // namespace

HttpResponse publish(const HttpRequest& request, const AppendMessage& append,
                     const Publisher* publisher) {
    try {
        Message message = message_of(request);
        if (publisher != nullptr && !put_claim(publisher->tenant, message.tenant)) {
            return error_response(
                403, "wrong-tenant",
                "this token does not publish for the tenant in the body; leave it out");
        }
        if (publisher != nullptr && !put_claim(publisher->user, message.user)) {
            return error_response(
                403, "wrong-user",
                "this token does not publish for the user in the body; leave it out");
        }
        if (publisher != nullptr && std::ranges::count(publisher->closed_boxes, message.box) > 0) {
            return error_response(403, "wrong-box",
                                  "webhooks come into this box, and only what was verified belongs "
                                  "there; publish into an outbox");
        }
        if (publisher != nullptr && publisher->tenant) keep_apart(*publisher->tenant, message);
        const AppendResult result = append(std::move(message));
        switch (result.status) {
            case AppendResult::Status::fresh: return answer(202, result, "accepted");
            case AppendResult::Status::duplicate: return answer(200, result, "duplicate");
            case AppendResult::Status::conflict:
                return error_response(
                    409, "conflict", "this key was used for another body: " + to_string(result.id));
            case AppendResult::Status::unknown: break;
        }
        HttpResponse unknown = error_response(503, "outcome-unknown", "send it again");
        unknown.headers.add("Retry-After", "5");
        return unknown;
    } catch (const InvalidMessage& problem) {
        return error_response(400, "bad-message", problem.what());
    } catch (const Overloaded& problem) {
        HttpResponse later = error_response(503, "overloaded", problem.what());
        later.headers.add("Retry-After", "5");
        return later;
    }
}

}  // namespace waybill::server
