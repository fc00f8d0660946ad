#include "server/admin.hpp"

#include <algorithm>
#include <charconv>

#include "core/sha256.hpp"
#include "server/admin_json.hpp"
#include "server/admin_query.hpp"
#include "server/answer.hpp"
#include "server/demo.hpp"
#include "server/openapi.hpp"
#include "waybill/dead_letters.hpp"
#include "waybill/json.hpp"
#include "waybill/signing.hpp"
#include "waybill/store.hpp"

namespace waybill::server {
namespace {

using json::Array;
using json::Object;

template <class Item>
HttpResponse page_response(const Page<Item>& page) {
    Array items;
    for (const Item& item : page.items) items.push_back(to_json(item));
    Object object{{"items", std::move(items)}};
    if (!page.next.empty()) object.emplace_back("next", page.next);
    return json_response(200, object);
}

/// "" and "/…" of /v1/subscriptions. Nothing: it is another path.
std::optional<std::string> below_subscriptions(const std::string& path) {
    constexpr std::string_view kFolder = "/v1/subscriptions";
    if (!path.starts_with(kFolder)) return std::nullopt;
    std::string below = path.substr(kFolder.size());
    if (!below.empty() && below.front() != '/') return std::nullopt;
    return below;
}

/// Of a secret not even a hash is kept: a short one could be guessed from it.
std::string body_without_secrets(const HttpRequest& request) {
    if (request.body.empty() || !below_subscriptions(std::string{request.path()})) {
        return request.body;
    }
    try {
        Object kept;
        const json::Value body = json::parse(request.body);
        for (const auto& [name, value] : body.as_object()) {
            if (name == "secret") continue;
            if (name != "headers") {
                kept.emplace_back(name, value);
                continue;
            }
            Object headers;
            for (const auto& [header, text] : value.as_object()) {
                headers.emplace_back(header, text.is_null() ? json::Value{} : json::Value{"…"});
            }
            kept.emplace_back(name, std::move(headers));
        }
        return json::to_text(kept);
    } catch (const json::ReadError&) {
        return {};  // and it is refused
    }
}

/// What is ordered; how much of it at once does not count.
std::string fingerprint_of(const HttpRequest& request) {
    std::string text = request.method + "\n" + std::string{request.path()} + "\n";
    for (const auto& [name, value] : form_fields(request.query()).value_or(FormFields{})) {
        if (name != "limit" && name != "rate") text += name + "=" + value + "\n";
    }
    return signing::to_hex(sha256_bytes(text + "\n" + body_without_secrets(request)));
}

constexpr std::string_view kOperations = "/v1/operations/";
constexpr std::string_view kCancel = "/cancel";

HttpResponse unknown_operation(const std::string& id) {
    return error_response(404, "not-found", "no operation " + id + " is known");
}

HttpResponse no_such_request(const HttpRequest& request) {
    return error_response(404, "not-found",
                          "there is no " + request.method + " " + std::string{request.path()});
}

OperationName name_of(const HttpRequest& request, const std::string& actor) {
    const std::string* const id = request.headers.find("Idempotency-Key");
    if (id == nullptr) return {.actor = actor};
    return {*id, actor, fingerprint_of(request)};
}

}  // namespace

bool Admin::is_of_order(const HttpRequest& request) {
    const std::string_view path = request.path();
    return path.starts_with(kOperations) && (request.method == "GET" || path.ends_with(kCancel));
}

HttpResponse Admin::handle(const HttpRequest& request, const std::string& actor) {
    try {
        return route(request, actor);
    } catch (const StoreError& problem) {
        return error_response(503, "store-unavailable", problem.what());
    }
}

/// What is wrong with a request is an answer too, also for the record of an operation.
template <class Answer>
static HttpResponse with_problems_named(Answer answer) {
    try {
        return answer();
    } catch (const BadQuery& problem) {
        return error_response(400, "bad-query", problem.what());
    } catch (const InvalidFilter& problem) {
        return error_response(400, "bad-query", problem.what());
    } catch (const InvalidCursor& problem) {
        return error_response(400, "bad-cursor", problem.what());
    } catch (const json::ReadError& problem) {
        return error_response(400, "bad-body", problem.what());
    } catch (const ConfigError& problem) {
        return error_response(400, "not-possible", problem.what());
    }
}

HttpResponse Admin::publish_as(const Publisher& publisher, const HttpRequest& request) {
    try {
        Publisher here = publisher;
        if (const auto config = config_()) {
            for (const Source& source : config->sources) here.closed_boxes.push_back(source.box);
        }
        return with_problems_named([&] { return publish(request, append_, &here); });
    } catch (const StoreError& problem) {
        return error_response(503, "store-unavailable", problem.what());
    }
}

HttpResponse Admin::route(const HttpRequest& request, const std::string& actor) {
    const std::string path{request.path()};
    if (request.method == "GET") {
        return with_problems_named([&] { return question(request, path); });
    }
    if (request.method == "POST" && path == "/v1/messages") {
        return with_problems_named([&] { return publish(request, append_); });
    }
    // A test has no operation id: it is sent whenever it is asked for.
    if (const auto below = below_subscriptions(path);
        request.method == "POST" && below && SubscriptionDesk::asks_an_endpoint(*below)) {
        Operation once;
        return with_problems_named([&] {
            return subscriptions_.order(request, *below, once).value_or(no_such_request(request));
        });
    }
    if (request.method == "POST" && path.starts_with(kOperations) && path.ends_with(kCancel)) {
        const std::string id = url_decoded(
            path.substr(kOperations.size(),
                        path.size() - std::min(path.size(), kOperations.size() + kCancel.size())));
        return with_problems_named(
            [&] { return operations_.cancel(id, actor).value_or(unknown_operation(id)); });
    }
    bool is_known = request.method == "POST";
    if (is_known) {
        HttpResponse response =
            operations_.carry_out(name_of(request, actor), [&](Operation& operation) {
                return with_problems_named([&] {
                    std::optional<HttpResponse> done = order(request, path, operation);
                    is_known = done.has_value();
                    return done ? *std::move(done) : error_response(400, "not-found", "");
                });
            });
        if (is_known) return response;
    }
    return no_such_request(request);
}

HttpResponse Admin::question(const HttpRequest& request, const std::string& path) {
    if (path == "/v1/messages") return messages(request);
    if (path == "/v1/dead") return dead(request);
    if (path == "/v1/lanes") return lanes(request);
    if (path == "/v1/boxes") return boxes();
    if (path == "/v1/instances") return instances();
    if (path == "/v1/targets") return targets();
    if (const auto subscriptions = below_subscriptions(path)) {
        return subscriptions_.question(*subscriptions, request.query());
    }
    if (path == "/v1/stats") return stats();
    if (path == "/v1/demo") return demo();
    if (path == "/v1/openapi.json") return json_response(200, openapi());
    const auto below = [&](std::string_view folder) {
        return path.starts_with(folder) ? path.substr(folder.size()) : std::string{};
    };
    if (const auto id = below("/v1/messages/"); !id.empty()) return message(id);
    if (const auto number = below("/v1/commands/"); !number.empty()) return command(number);
    if (const auto id = below(kOperations); !id.empty()) return operation(url_decoded(id));
    return no_such_request(request);
}

std::optional<HttpResponse> Admin::order(const HttpRequest& request, const std::string& path,
                                         Operation& operation) {
    if (path == "/v1/dead/requeue") return mend(request, BulkOrder::requeue, operation);
    if (path == "/v1/dead/discard") return mend(request, BulkOrder::discard, operation);
    if (path == "/v1/lanes/skip") return order_lane(request, true, operation);
    if (path == "/v1/lanes/resume") return order_lane(request, false, operation);
    if (path == "/v1/targets/forget") return forget(request, operation);
    if (path == "/v1/boxes/pause") return pause(request, true);
    if (path == "/v1/boxes/resume") return pause(request, false);
    if (path == "/v1/backup") return backup(request, operation);
    if (const auto below = below_subscriptions(path)) {
        return subscriptions_.order(request, *below, operation);
    }
    if (path == "/v1/replay") return replay(request, operation);
    const auto message = [&](std::string_view verb) -> std::optional<std::string> {
        constexpr std::string_view kMessages = "/v1/messages/";
        if (!path.starts_with(kMessages) || !path.ends_with(verb)) return std::nullopt;
        const std::size_t size = path.size() - kMessages.size();
        return path.substr(kMessages.size(), size - std::min(size, verb.size()));
    };
    if (const auto id = message("/cancel")) return cancel(*id, operation);
    if (const auto id = message("/replay")) return replay(*id, request, operation);
    return std::nullopt;
}

HttpResponse Admin::messages(const HttpRequest& request) {
    Listing listing = parse_listing(request.query());
    listing.filter = meant(std::move(listing.filter));
    if (form_field(request.query(), "count")) {
        return json_response(200, Object{{"count", catalogue_.count(listing.filter)}});
    }
    return page_response(catalogue_.browse(listing.filter, listing.cursor, listing.rows_max));
}

HttpResponse Admin::command(const std::string& number) {
    std::uint64_t id = 0;
    std::from_chars(number.data(), number.data() + number.size(), id);
    const auto result = catalogue_.command_result(id);
    if (!result) return json_response(200, Object{{"answered", false}});
    return json_response(
        200,
        Object{{"answered", true}, {"carried_out", result->carried_out}, {"text", result->text}});
}

HttpResponse Admin::dead(const HttpRequest& request) {
    Listing listing = parse_listing(request.query());
    listing.filter = meant(std::move(listing.filter));
    const DeadLetters letters{catalogue_};
    if (form_field(request.query(), "count")) {
        return json_response(200, Object{{"count", letters.count(listing.filter)}});
    }
    return page_response(letters.list(listing.filter, listing.cursor, listing.rows_max));
}

HttpResponse Admin::lanes(const HttpRequest& request) {
    // Each letter of a lane costs a look at its message, and others wait at the desk.
    constexpr std::uint32_t kLettersMax = 500;
    Listing listing = parse_listing(request.query());
    listing.filter = meant(std::move(listing.filter));
    return page_response(HaltedLanes{catalogue_}.list(listing.filter, listing.cursor,
                                                      std::min(listing.rows_max, kLettersMax)));
}

HttpResponse Admin::stats() {
    const StoreHealth health = upkeep_.health();
    Object object{{"reachable", health.reachable}, {"store", health.text},
                  {"open", health.open},           {"parked", health.parked},
                  {"dead", health.dead},           {"oldest_open_us", health.oldest_open.count()}};
    object.emplace_back("done", catalogue_.count({.state = Filter::State::done}));
    Array paused;
    for (const BoxState& box : catalogue_.boxes()) {
        if (box.paused) paused.emplace_back(box.name);
    }
    object.emplace_back("paused", std::move(paused));
    Array unserved;
    for (const UnservedTarget& one : unserved_targets(catalogue_, config_().get(), who_)) {
        unserved.emplace_back(Object{{"box", one.box},
                                     {"target", one.key},
                                     {"waiting", one.waiting},
                                     {"text", text_of(one)}});
    }
    object.emplace_back("unserved", std::move(unserved));
    return json_response(200, object);
}

HttpResponse Admin::operation(const std::string& id) {
    auto found = operations_.find(id);
    if (found) return *std::move(found);
    return unknown_operation(id);
}

HttpResponse Admin::demo() {
    const auto secret = notebook_.note(demo_secret_note);
    if (!secret) return error_response(404, "not-found", "this store has no demo source");
    return json_response(200, Object{{"secret", *secret}});
}

}  // namespace waybill::server
