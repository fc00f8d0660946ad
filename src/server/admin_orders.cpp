#include <algorithm>
#include <chrono>
#include <filesystem>

#include "server/admin.hpp"
#include "server/admin_query.hpp"
#include "server/answer.hpp"
#include "server/bulk_replay.hpp"
#include "server/config/units.hpp"
#include "waybill/halted_lanes.hpp"
#include "waybill/json.hpp"
#include "waybill/system.hpp"

/// What operators order.
namespace waybill::server {
namespace {

using json::Array;
using json::Object;
using json::Value;

std::string text_of(const Value& body, std::string_view name) {
    const Value* const value = body.find(name);
    if (value == nullptr) throw json::ReadError{"is missing", std::string{name}};
    return value->as_string();
}

HttpResponse bad_id() {
    return error_response(400, "bad-id", "the id of a message is a UUID");
}

/// What came of an order over one or many.
Object outcome_of(const Operation& operation) {
    const BulkProgress& progress = operation.bulk;
    const std::uint64_t left = progress.total - std::min(progress.total, progress.handled());
    Object answer{{"total", progress.total},
                  {"carried_out", progress.carried_out},
                  {"refused", progress.refused},
                  {"remaining", operation.unfinished || operation.cancelled ? left : 0},
                  {"capped", operation.unfinished}};
    if (operation.cancelled) answer.emplace_back("cancelled", true);
    if (progress.refused > 0) answer.emplace_back("refusal", progress.refusal);
    return answer;
}

}  // namespace

/// A lane that stands at the message goes on too: its owner skips it.
HttpResponse Admin::cancel(const std::string& text, const Operation& operation) {
    const auto id = parse_uuid(text);
    if (!id) return bad_id();
    const std::uint64_t number =
        catalogue_.command({.kind = Command::Kind::cancel, .message = *id});
    // Begun before and nothing open now: this order did it, and its number went with the crash.
    if (number == 0 && !operation.begun_before) {
        return error_response(409, "nothing-to-do", "nothing of this message is open");
    }
    Array numbers;
    if (number != 0) numbers.emplace_back(number);
    return json_response(202, Object{{"command", number}, {"commands", std::move(numbers)}});
}

/// {"message","target"?} for one message, or the same filter as the listing in the query for many.
HttpResponse Admin::mend(const HttpRequest& request, BulkOrder order, Operation& operation) {
    if (!request.body.empty()) {
        const Value body = json::parse(request.body);
        const auto id = parse_uuid(text_of(body, "message"));
        if (!id) return bad_id();
        carry_out_one(catalogue_, order, *id,
                      body.find("target") != nullptr ? target_meant(text_of(body, "target")) : "",
                      operation);
    } else {
        const Listing listing = parse_listing_of_order(request.query());
        carry_out_matching(catalogue_, order, meant(listing.filter), listing.rows_max, operation);
    }
    return json_response(200, outcome_of(operation));
}

/// {"target"}: runs it again for one message.
HttpResponse Admin::replay(const std::string& text, const HttpRequest& request,
                           Operation& operation) {
    const auto id = parse_uuid(text);
    if (!id) return bad_id();
    replay_one(catalogue_, *id, target_meant(text_of(json::parse(request.body), "target")),
               operation);
    return json_response(200, outcome_of(operation));
}

/// A filter, the target and perhaps a rate in the query.
HttpResponse Admin::replay(const HttpRequest& request, Operation& operation) {
    const Listing listing = parse_listing_of_order(request.query(), {"rate"});
    ReplayOrder order{.filter = listing.filter, .target = target_meant(listing.filter.target)};
    if (!form_field(request.query(), "state")) order.filter.state = Filter::State::done;
    if (const auto text = form_field(request.query(), "rate")) {
        const auto rate = parse_rate(text->find('/') == std::string::npos ? *text + "/s" : *text);
        if (!rate || *rate <= 0) throw BadQuery{"rate: must be such as 50/s or 30/m"};
        order.rate = *rate;
    }
    replay_matching(catalogue_, order, listing.rows_max, system_clock().wall(), operation);
    Object answer = outcome_of(operation);
    const Duration wait = wait_of(order, system_clock().wall(), operation);
    if (wait > Duration{}) {
        answer.emplace_back("wait_ms", std::chrono::ceil<std::chrono::milliseconds>(wait).count());
    }
    return json_response(200, answer);
}

/// {"message"}: the head of a halted lane.
HttpResponse Admin::order_lane(const HttpRequest& request, bool skip, Operation& operation) {
    const auto id = parse_uuid(text_of(json::parse(request.body), "message"));
    if (!id) return bad_id();
    const HaltedLanes halted{catalogue_};
    Array numbers;
    if (means_what_is_dead(catalogue_, *id, operation)) {
        for (const std::uint64_t number : skip ? halted.skip(*id) : halted.resume(*id)) {
            numbers.emplace_back(number);
        }
    }
    if (numbers.empty() && !operation.begun_before) {
        return error_response(409, "nothing-to-do",
                              "no lane is halted at this message; see GET /v1/lanes");
    }
    return json_response(202, Object{{"commands", std::move(numbers)}});
}

HttpResponse Admin::forget(const HttpRequest& request, const Operation& operation) {
    const Value body = json::parse(request.body);
    const std::string key = target_meant(text_of(body, "key"));
    const Value* const force = body.find("force");
    return forget(
        {.box = body.find("box") != nullptr ? text_of(body, "box") : box_of(key), .key = key},
        force != nullptr && force->as_bool(), operation);
}

HttpResponse Admin::pause(const HttpRequest& request, bool paused) {
    return pause(text_of(json::parse(request.body), "box"), paused);
}

HttpResponse Admin::backup(const HttpRequest& request, const Operation& operation) {
    const std::string path = text_of(json::parse(request.body), "path");
    // A backup appears under its name only when it is complete.
    if (!operation.begun_before || !std::filesystem::exists(path)) backup_(path);
    return json_response(200, Object{{"path", path}});
}

}  // namespace waybill::server
