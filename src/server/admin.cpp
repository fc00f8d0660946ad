#include "server/admin.hpp"

#include <charconv>
#include <chrono>
#include <optional>

#include "server/admin_json.hpp"
#include "server/admin_query.hpp"
#include "server/log.hpp"
#include "waybill/dead_letters.hpp"
#include "waybill/halted_lanes.hpp"
#include "waybill/json.hpp"
#include "waybill/store.hpp"

namespace waybill::server {
namespace {

using json::Array;
using json::Object;
using json::Value;

HttpResponse ok(const Value& value, unsigned status = 200) {
    return {.status = status,
            .headers = {{"Content-Type", "application/json"}},
            .body = json::to_text(value)};
}

template <class Item>
HttpResponse page_response(const Page<Item>& page) {
    Array items;
    for (const Item& item : page.items) items.push_back(to_json(item));
    Object object{{"items", std::move(items)}};
    if (!page.next.empty()) object.emplace_back("next", page.next);
    return ok(object);
}

std::string text_of(const Value& body, std::string_view name) {
    const Value* const value = body.find(name);
    if (value == nullptr) throw json::ReadError{"is missing", std::string{name}};
    return value->as_string();
}

}  // namespace

HttpResponse error_response(unsigned status, const std::string& code, const std::string& message) {
    return ok(Object{{"error", Object{{"code", code}, {"message", message}}}}, status);
}

HttpResponse Admin::handle(const HttpRequest& request) {
    try {
        return route(request);
    } catch (const BadQuery& problem) {
        return error_response(400, "bad-query", problem.what());
    } catch (const InvalidFilter& problem) {
        return error_response(400, "bad-query", problem.what());
    } catch (const json::ReadError& problem) {
        return error_response(400, "bad-body", problem.what());
    } catch (const ConfigError& problem) {
        return error_response(400, "not-possible", problem.what());
    } catch (const StoreError& problem) {
        return error_response(503, "store-unavailable", problem.what());
    }
}

HttpResponse Admin::route(const HttpRequest& request) {
    const std::string path{request.path()};
    const bool get = request.method == "GET";
    const bool post = request.method == "POST";
    if (get && path == "/v1/messages") return messages(request);
    if (post && path == "/v1/messages") return publish(request, append_);
    if (get && path == "/v1/dead") return dead(request);
    if (post && path == "/v1/dead/requeue") return operate(request, true);
    if (post && path == "/v1/dead/discard") return operate(request, false);
    if (get && path == "/v1/lanes") return lanes(request);
    if (post && path == "/v1/lanes/skip") return order_lane(request, true);
    if (post && path == "/v1/lanes/resume") return order_lane(request, false);
    if (get && path == "/v1/targets") return targets();
    if (post && path == "/v1/targets/forget") return forget(request);
    if (post && path == "/v1/boxes/pause") return pause(request, true);
    if (post && path == "/v1/boxes/resume") return pause(request, false);
    if (get && path == "/v1/stats") return stats();
    if (post && path == "/v1/backup") return backup(request);
    constexpr std::string_view kMessages = "/v1/messages/";
    if (path.starts_with(kMessages)) {
        std::string rest = path.substr(kMessages.size());
        const bool to_cancel = post && rest.ends_with("/cancel");
        if (to_cancel) rest.resize(rest.size() - 7);
        const auto id = parse_uuid(rest);
        if (!id) return error_response(400, "bad-id", "the id of a message is a UUID");
        if (to_cancel) return cancel(*id);
        if (get) return message(*id);
    }
    constexpr std::string_view kCommands = "/v1/commands/";
    if (get && path.starts_with(kCommands)) return command(path.substr(kCommands.size()));
    return error_response(404, "not-found", "there is no " + request.method + " " + path);
}

HttpResponse Admin::messages(const HttpRequest& request) {
    const Listing listing = parse_listing(request.query());
    return page_response(catalogue_.browse(listing.filter, listing.cursor, listing.rows_max));
}

HttpResponse Admin::message(const Uuid& id) {
    const auto detail = catalogue_.get(id);
    if (!detail) return error_response(404, "not-found", "there is no message " + to_string(id));
    return ok(to_json(*detail));
}

HttpResponse Admin::cancel(const Uuid& id) {
    Command order;
    order.kind = Command::Kind::cancel;
    order.message = id;
    const std::uint64_t number = catalogue_.command(order);
    if (number == 0) {
        return error_response(409, "nothing-to-do", "nothing of this message is open");
    }
    return ok(Object{{"command", number}}, 202);
}

HttpResponse Admin::command(const std::string& number) {
    std::uint64_t id = 0;
    std::from_chars(number.data(), number.data() + number.size(), id);
    const auto result = catalogue_.command_result(id);
    if (!result) return ok(Object{{"answered", false}});
    return ok(
        Object{{"answered", true}, {"carried_out", result->carried_out}, {"text", result->text}});
}

HttpResponse Admin::dead(const HttpRequest& request) {
    const Listing listing = parse_listing(request.query());
    return page_response(
        DeadLetters{catalogue_}.list(listing.filter, listing.cursor, listing.rows_max));
}

/// {"message","target"} for one, or the same filter as the listing in the query for many.
HttpResponse Admin::operate(const HttpRequest& request, bool requeue) {
    const DeadLetters letters{catalogue_};
    if (!request.body.empty()) {
        const Value body = json::parse(request.body);
        const auto id = parse_uuid(text_of(body, "message"));
        if (!id) return error_response(400, "bad-id", "the id of a message is a UUID");
        const DeliveryRef delivery{*id, text_of(body, "target")};
        const OperationResult result =
            requeue ? letters.requeue(delivery) : letters.discard(delivery);
        return ok(Object{{"carried_out", result.carried_out ? 1U : 0U},
                         {"refused", result.carried_out ? 0U : 1U},
                         {"text", result.text}});
    }
    const Listing listing = parse_listing(request.query());
    const BulkResult result = requeue ? letters.requeue_matching(listing.filter, listing.rows_max)
                                      : letters.discard_matching(listing.filter, listing.rows_max);
    return ok(Object{{"carried_out", result.carried_out},
                     {"refused", result.refused},
                     {"remaining", result.remaining},
                     {"capped", result.capped}});
}

HttpResponse Admin::lanes(const HttpRequest& request) {
    const Listing listing = parse_listing(request.query());
    return page_response(
        HaltedLanes{catalogue_}.list(listing.filter, listing.cursor, listing.rows_max));
}

/// {"message"}: the head of a halted lane.
HttpResponse Admin::order_lane(const HttpRequest& request, bool skip) {
    const auto id = parse_uuid(text_of(json::parse(request.body), "message"));
    if (!id) return error_response(400, "bad-id", "the id of a message is a UUID");
    const HaltedLanes halted{catalogue_};
    Array numbers;
    for (const std::uint64_t number : skip ? halted.skip(*id) : halted.resume(*id)) {
        numbers.emplace_back(number);
    }
    if (numbers.empty()) {
        return error_response(409, "nothing-to-do",
                              "no lane is halted at this message; see GET /v1/lanes");
    }
    return ok(Object{{"commands", std::move(numbers)}}, 202);
}

HttpResponse Admin::targets() {
    Array items;
    for (const Target& target : catalogue_.targets()) items.push_back(to_json(target));
    return ok(Object{{"items", std::move(items)}});
}

HttpResponse Admin::forget(const HttpRequest& request) {
    const Value body = json::parse(request.body);
    if (!catalogue_.forget_target(text_of(body, "box"), text_of(body, "key"))) {
        return error_response(404, "not-found", "there is no such target");
    }
    return ok(Object{{"forgotten", true}});
}

HttpResponse Admin::pause(const HttpRequest& request, bool paused) {
    const std::string box = text_of(json::parse(request.body), "box");
    catalogue_.pause_box(box, paused);
    return ok(Object{{"box", box}, {"paused", paused}});
}

HttpResponse Admin::stats() {
    const StoreHealth health = upkeep_.health();
    Object object{{"reachable", health.reachable}, {"store", health.text},
                  {"open", health.open},           {"parked", health.parked},
                  {"dead", health.dead},           {"oldest_open_us", health.oldest_open.count()}};
    object.emplace_back("done", catalogue_.count({.state = Filter::State::done}));
    return ok(object);
}

HttpResponse Admin::backup(const HttpRequest& request) {
    const std::string path = text_of(json::parse(request.body), "path");
    backup_(path);
    return ok(Object{{"path", path}});
}

}  // namespace waybill::server
