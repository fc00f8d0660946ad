#include "server/openapi.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "core/version.hpp"

namespace waybill::server {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::string_view kPage =
    "box type source target tenant reason state since until limit cursor";
constexpr std::string_view kMany = "box type source target tenant reason since until limit";

constexpr std::string_view kSubscription =
    "url type? tenant? box? id? secret? ed25519? paused? signing? headers? retry? timeout? "
    "concurrency? rate? client_errors? disable_after? description?";
constexpr std::string_view kSubscriptionChange =
    "url? type? tenant? signing? headers? retry? timeout? concurrency? rate? client_errors? "
    "disable_after? description?";

constexpr std::array kRoutes{
    Route{"POST", "/webhooks/{source}", "Takes a webhook in", "", "", false},
    Route{"GET", "/healthz", "Whether the process lives", "", "", false},
    Route{"GET", "/readyz", "Whether it can do its work", "", "", false},
    Route{"GET", "/metrics", "Numbers for Prometheus", "", "", false},
    Route{"GET", "/v1/openapi.json", "This document"},
    Route{"GET", "/v1/messages", "Messages, newest first, or how many",
          "box type source target tenant reason state since until limit cursor count"},
    Route{"POST", "/v1/messages", "Publishes a message", "",
          "type body? body_base64? box? content_type? tenant? user? lane? dedup_key? collapse_key? "
          "correlation_id? not_before? attributes?"},
    Route{"GET", "/v1/messages/{id}",
          "Everything of one message, and why what is open of it waits"},
    Route{"POST", "/v1/messages/{id}/cancel", "Ends what is open of it"},
    Route{"POST", "/v1/messages/{id}/replay", "Runs it again for a target that has ended it", "",
          "target"},
    Route{"POST", "/v1/replay", "Runs what has ended again for a target, oldest first",
          "target box type source tenant state since until limit rate"},
    Route{"GET", "/v1/commands/{id}", "What the owner of the work said to a command"},
    Route{"GET", "/v1/dead", "Dead letters, oldest first, or how many",
          "box type source target tenant reason since until limit cursor count"},
    Route{"POST", "/v1/dead/requeue", "Runs dead letters again", kMany, "message? target?"},
    Route{"POST", "/v1/dead/discard", "Deletes dead letters", kMany, "message? target?"},
    Route{"GET", "/v1/lanes", "Halted lanes", kPage},
    Route{"POST", "/v1/lanes/skip", "A halted lane goes on behind its head", "", "message"},
    Route{"POST", "/v1/lanes/resume", "The head of a halted lane runs again", "", "message"},
    Route{"GET", "/v1/instances", "Who works on the store, since when, with how many partitions"},
    Route{"GET", "/v1/targets", "The targets the store knows"},
    Route{"POST", "/v1/targets/forget", "What is open for a target counts no longer", "",
          "box? key force?"},
    Route{"GET", "/v1/subscriptions", "Who hears of what is published, who of them fails, and why",
          "box type tenant limit cursor"},
    Route{"POST", "/v1/subscriptions", "Adds one; its secret is in this answer and in no other", "",
          kSubscription},
    Route{"GET", "/v1/subscriptions/{id}",
          "One of them: why its messages wait, since when it fails, until when it is left alone"},
    Route{"POST", "/v1/subscriptions/{id}", "Changes what is named", "", kSubscriptionChange},
    Route{"POST", "/v1/subscriptions/{id}/pause", "Its messages wait", "", "reason?"},
    Route{"POST", "/v1/subscriptions/{id}/resume", "Goes on, or skips what waits", "", "skip?"},
    Route{"POST", "/v1/subscriptions/{id}/disable", "Its messages wait, until somebody enables it",
          "", "reason?"},
    Route{"POST", "/v1/subscriptions/{id}/enable", "Goes on, or skips what waits", "", "skip?"},
    Route{"POST", "/v1/subscriptions/{id}/skip", "What was published before now is not sent"},
    Route{"POST", "/v1/subscriptions/{id}/rotate-secret",
          "A new secret; the old one signs too for a while", "", "secret? grace? ed25519?"},
    Route{"POST", "/v1/subscriptions/{id}/test",
          "Sends an example, or a stored message, now and once, also to another URL", "",
          "type? body? message? url?"},
    Route{"POST", "/v1/subscriptions/{id}/remove", "What waits for it counts no longer"},
    Route{"GET", "/v1/boxes", "The boxes: paused or not, what is open in them, how they are set"},
    Route{"POST", "/v1/boxes/pause", "Starts nothing of a box any more", "", "box"},
    Route{"POST", "/v1/boxes/resume", "Goes on with a box", "", "box"},
    Route{"POST", "/v1/backup", "Copies the store to a new file of the server's host", "", "path"},
    Route{"GET", "/v1/stats", "Numbers"},
    Route{"GET", "/v1/operations/{id}", "Who ordered it and what came of it"},
    Route{"POST", "/v1/operations/{id}/cancel", "An order over many goes no further"},
    Route{"GET", "/v1/demo", "The secret of the demo source"},
};

constexpr const char* kTokens =
    "an operator's token; to publish also a JWT of whom server.claims trusts, for its own tenant "
    "and "
    "user alone";

std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        if (end > at) all.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return all;
}

Object parameter(const std::string& name, const char* where, bool required) {
    return {{"name", name},
            {"in", where},
            {"required", required},
            {"schema", Object{{"type", "string"}}}};
}

Array parameters(const Route& route) {
    Array all;
    const std::size_t open = route.path.find('{');
    if (open != std::string_view::npos) {
        const std::size_t close = route.path.find('}', open);
        all.emplace_back(
            parameter(std::string{route.path.substr(open + 1, close - open - 1)}, "path", true));
    }
    for (const std::string& name : words(route.query)) {
        all.emplace_back(parameter(name, "query", false));
    }
    if (route.method == "POST" && route.needs_token) {
        all.emplace_back(parameter("Idempotency-Key", "header", false));
    }
    return all;
}

Value body_of(const Route& route) {
    Object properties;
    Array required;
    for (std::string name : words(route.body)) {
        const bool optional = name.ends_with('?');
        if (optional) name.pop_back();
        // A body may be any JSON, attributes are an object; all else is text.
        properties.emplace_back(
            name, name == "body" ? Object{}
                                 : Object{{"type", name == "attributes" ? "object" : "string"}});
        if (!optional) required.emplace_back(name);
    }
    const bool is_required = !required.empty();
    Object schema{{"type", "object"}, {"properties", std::move(properties)}};
    if (is_required) schema.emplace_back("required", std::move(required));
    return Object{{"required", is_required},
                  {"content", Object{{"application/json", Object{{"schema", std::move(schema)}}}}}};
}

Value described(const Route& route) {
    Object operation{{"summary", route.summary}, {"parameters", parameters(route)}};
    if (!route.body.empty()) operation.emplace_back("requestBody", body_of(route));
    operation.emplace_back("responses",
                           Object{{"2XX", Object{{"description", "done, or ordered"}}},
                                  {"default", Object{{"$ref", "#/components/responses/Error"}}}});
    if (!route.needs_token) operation.emplace_back("security", Array{});
    return operation;
}

Value error_schema() {
    const Object text{{"type", "string"}};
    const Object inner{
        {"type", "object"},
        {"required", Array{"code", "message", "detail"}},
        {"properties",
         Object{{"code", text}, {"message", text}, {"detail", Object{{"type", "object"}}}}}};
    return Object{{"type", "object"}, {"properties", Object{{"error", inner}}}};
}

std::string lower_method(std::string_view method) {
    std::string name{method};
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
}

}  // namespace

std::span<const Route> routes() {
    return kRoutes;
}

Value what_is_here() {
    return Object{
        {"waybill", version_text},
        {"webhooks", "POST /webhooks/{source}"},
        {"live", "GET /healthz"},
        {"ready", "GET /readyz"},
        {"metrics", "GET /metrics"},
        {"publish", "POST /v1/messages (token)"},
        {"operators",
         "/v1/messages, /v1/dead, /v1/lanes, /v1/targets, /v1/boxes, /v1/instances, /v1/stats … "
         "(token)"}};
}

Value openapi() {
    Object paths;
    for (const Route& route : kRoutes) {
        auto found = std::ranges::find(paths, route.path, &std::pair<std::string, Value>::first);
        if (found == paths.end()) {
            paths.emplace_back(route.path, Object{});
            found = std::prev(paths.end());
        }
        Object methods = found->second.as_object();
        methods.emplace_back(lower_method(route.method), described(route));
        found->second = std::move(methods);
    }
    const Object error{
        {"description", "what is wrong, for programs and for people"},
        {"content", Object{{"application/json", Object{{"schema", error_schema()}}}}}};
    return Object{{"openapi", "3.1.0"},
                  {"info", Object{{"title", "Waybill"}, {"version", version_text}}},
                  {"security", Array{Object{{"token", Array{}}}}},
                  {"paths", std::move(paths)},
                  {"components",
                   Object{{"securitySchemes", Object{{"token", Object{{"type", "http"},
                                                                      {"scheme", "bearer"},
                                                                      {"description", kTokens}}}}},
                          {"responses", Object{{"Error", error}}}}}};
}

}  // namespace waybill::server
