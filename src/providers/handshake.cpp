#include "providers/handshake.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "waybill/signing.hpp"

namespace waybill::providers {
namespace {

using Reason = Rejected::Reason;
using signing::Hash;

/// Of a challenge: what is echoed is bounded.
constexpr std::size_t kChallengeBytesMax = 4'096;

/// As plain text that no browser takes for anything else.
HttpResponse text_answer(std::string body) {
    return {.status = 200,
            .headers = {{"Content-Type", "text/plain; charset=utf-8"},
                        {"X-Content-Type-Options", "nosniff"}},
            .body = std::move(body)};
}

HttpResponse json_answer(json::Object document) {
    return {.status = 200,
            .headers = {{"Content-Type", "application/json"}},
            .body = json::to_text(std::move(document))};
}

/// Echoed only if it is short and printable: it comes from a stranger.
std::optional<std::string> challenge(Reading& reading, std::string_view places) {
    std::optional<std::string> value = reading.find(places);
    const bool is_echoable =
        value && value->size() <= kChallengeBytesMax &&
        std::ranges::all_of(*value, [](char c) { return c >= ' ' && c <= '~'; });
    return is_echoable ? value : std::nullopt;
}

std::string keyed(std::string_view secret, std::string_view text) {
    return signing::hmac(Hash::sha256, secret, std::array{text});
}

std::optional<Verdict> echo(Reading& reading, std::string_view places) {
    if (auto value = challenge(reading, places)) return text_answer(*std::move(value));
    return std::nullopt;
}

Verdict meta(const Arrival& arrival, Reading& reading) {
    const std::string& expected = arrival.source.verify_token;
    const std::string shown = reading.find("query:hub.verify_token").value_or("");
    const auto value = challenge(reading, "query:hub.challenge");
    if (expected.empty() || !signing::same_bytes(shown, expected) || !value) {
        return Rejected{Reason::forbidden, "hub.verify_token is not that of this source", 403};
    }
    return text_answer(*value);
}

/// Consent is the headers; the origin asked for is the one allowed.
Verdict consent(const Arrival& arrival, const std::string& origin) {
    HttpResponse answer{.headers = {{"Allow", "POST"}, {"WebHook-Allowed-Origin", origin}}};
    if (arrival.request.headers.find("WebHook-Request-Rate") != nullptr) {
        answer.headers.add("WebHook-Allowed-Rate", "*");
    }
    return answer;
}

/// With the first secret: the sender knows one, and it is the one we were given first.
Verdict x_token(const Arrival& arrival, const std::string& token) {
    const std::string code = keyed(arrival.source.secrets.front(), token);
    return json_answer({{"response_token", "sha256=" + signing::to_base64(code)}});
}

}  // namespace

std::optional<Verdict> unsigned_handshake(Handshake kind, const Arrival& arrival,
                                          Reading& reading) {
    const HttpRequest& request = arrival.request;
    const bool is_get = request.method == "GET";
    switch (kind) {
        case Handshake::dropbox: return is_get ? echo(reading, "query:challenge") : std::nullopt;
        case Handshake::microsoft_graph:
            return request.method == "POST" ? echo(reading, "query:validationToken") : std::nullopt;
        case Handshake::meta:
            if (is_get && reading.find("query:hub.mode") == "subscribe") {
                return meta(arrival, reading);
            }
            return std::nullopt;
        case Handshake::okta:
            if (const auto value = challenge(reading, "header:X-Okta-Verification-Challenge");
                is_get && value) {
                return json_answer({{"verification", *value}});
            }
            return std::nullopt;
        case Handshake::trello:
            if (is_get || request.method == "HEAD") return HttpResponse{};
            return std::nullopt;
        case Handshake::x:
            if (const auto token = challenge(reading, "query:crc_token");
                is_get && token && !arrival.source.secrets.empty()) {
                return x_token(arrival, *token);
            }
            return std::nullopt;
        case Handshake::cloudevents:
        case Handshake::event_grid:
            if (const auto origin = challenge(reading, "header:WebHook-Request-Origin");
                request.method == "OPTIONS" && origin) {
                return consent(arrival, *origin);
            }
            return std::nullopt;
        case Handshake::asana:
            if (const auto secret = challenge(reading, "header:X-Hook-Secret");
                request.method == "POST" && secret) {
                return HttpResponse{.headers = {{"X-Hook-Secret", *secret}}};
            }
            return std::nullopt;
        case Handshake::notion:
            // Not signed: the key is what it brings. It is acknowledged and believed by nobody.
            if (request.method == "POST" && !reading.find("header:X-Notion-Signature") &&
                reading.find("json:verification_token") &&
                reading.body()->as_object().size() == 1) {
                return HttpResponse{};
            }
            return std::nullopt;
        default: return std::nullopt;
    }
}

std::optional<Verdict> signed_handshake(Handshake kind, const Arrival& arrival, Reading& reading,
                                        std::size_t secret) {
    switch (kind) {
        case Handshake::slack:
            if (reading.find("json:type") != "url_verification") return std::nullopt;
            return echo(reading, "json:challenge");
        case Handshake::twitch:
            if (reading.find("header:Twitch-Eventsub-Message-Type") !=
                "webhook_callback_verification") {
                return std::nullopt;
            }
            return echo(reading, "json:challenge");
        case Handshake::zoom: {
            if (reading.find("json:event") != "endpoint.url_validation") return std::nullopt;
            const auto token = challenge(reading, "json:payload.plainToken");
            if (!token) return std::nullopt;
            const std::string code = keyed(arrival.source.secrets[secret], *token);
            return json_answer({{"plainToken", *token}, {"encryptedToken", signing::to_hex(code)}});
        }
        case Handshake::discord:
            // An interaction's ping is 1 and wants a pong; that of webhook events is 0, and their 1
            // is an event.
            if (reading.find("json:type") == "1" && !reading.find("json:event.type")) {
                return json_answer({{"type", 1}});
            }
            if (reading.find("json:type") == "0") return HttpResponse{.status = 204};
            return std::nullopt;
        case Handshake::event_grid:
            if (reading.find("header:aeg-event-type") != "SubscriptionValidation") {
                return std::nullopt;
            }
            if (const auto code = challenge(reading, "json:0.data.validationCode")) {
                return json_answer({{"validationResponse", *code}});
            }
            return std::nullopt;
        default: return std::nullopt;
    }
}

std::string_view to_string(Handshake kind) {
    switch (kind) {
        case Handshake::none: return "";
        case Handshake::asana: return "POST with X-Hook-Secret: echoed";
        case Handshake::cloudevents: return "OPTIONS with WebHook-Request-Origin: allowed";
        case Handshake::discord: return "a ping: answered with a pong";
        case Handshake::dropbox: return "GET with challenge: echoed";
        case Handshake::event_grid: return "SubscriptionValidation and OPTIONS: answered";
        case Handshake::meta: return "GET with hub.challenge: echoed if verify_token is right";
        case Handshake::microsoft_graph: return "POST with validationToken: echoed";
        case Handshake::notion: return "POST of a verification_token: acknowledged";
        case Handshake::okta: return "GET with X-Okta-Verification-Challenge: answered";
        case Handshake::slack: return "url_verification: the challenge is echoed";
        case Handshake::trello: return "HEAD and GET: 200";
        case Handshake::twitch: return "webhook_callback_verification: the challenge is echoed";
        case Handshake::x: return "GET with crc_token: signed";
        case Handshake::zoom: return "endpoint.url_validation: the token is signed";
    }
    return "";
}

}  // namespace waybill::providers
