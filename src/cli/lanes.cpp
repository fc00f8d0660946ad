#include <utility>

#include "cli/command.hpp"
#include "cli/listing.hpp"
#include "cli/operator_desk.hpp"
#include "server/admin_query.hpp"
#include "waybill/json.hpp"
#include "waybill/uuid.hpp"

namespace waybill::cli {
namespace {

using json::Object;
using json::Value;

/// The desk answers with what it found among so many dead letters; a person wants the lanes.
json::Array halted_lanes(OperatorDesk& desk, const Arguments& arguments) {
    const std::string query = query_of(arguments);
    json::Array lanes;
    std::string cursor;
    do {
        std::string target = "/v1/lanes" + query;
        if (!cursor.empty()) {
            target += (query.empty() ? "?cursor=" : "&cursor=") + server::url_encoded(cursor);
        }
        const Value page = desk.get(target);
        for (const Value& lane : page.find("items")->as_array()) lanes.push_back(lane);
        cursor = text_of(page, "next");
    } while (!cursor.empty());
    return lanes;
}

/// The heads that hold this lane; a message's id means itself.
std::vector<std::string> heads_of(OperatorDesk& desk, const Arguments& arguments,
                                  const std::string& name) {
    if (parse_uuid(name)) return {name};
    std::vector<std::string> heads;
    for (const Value& lane : halted_lanes(desk, arguments)) {
        if (text_of(lane, "lane") == name) heads.push_back(text_of(lane, "message"));
    }
    if (heads.empty()) {
        throw std::runtime_error("no lane \"" + name + "\" is halted; see waybill lanes list");
    }
    return heads;
}

int order(const Arguments& arguments, const Globals& globals, const std::string& verb) {
    const std::string& name = arguments.word(1, "the lane, or the id of its head");
    if (arguments.has("operation") && !parse_uuid(name)) {
        // Asked again, the lane may stand at another message, or go.
        throw UsageError{"--operation needs the id of the lane's head; see waybill lanes list"};
    }
    OperatorDesk desk{globals};
    const std::vector<std::string> heads = heads_of(desk, arguments, name);
    std::vector<Value> orders;
    for (const std::string& head : heads) {
        orders.push_back(desk.post("/v1/lanes/" + verb, Object{{"message", head}},
                                   arguments.value("operation")));
    }
    const json::Array answers = desk.owners_answers(orders);
    json::Array results;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        results.emplace_back(Object{{"message", heads[i]}, {"commands", answers[i]}});
    }
    return print_answers(arguments, results);
}

int lanes(const Arguments& arguments, const Globals& globals) {
    const std::string& verb = arguments.word(0, "list, skip or resume");
    if (verb == "list") {
        OperatorDesk desk{globals};
        print_page(arguments, Object{{"items", halted_lanes(desk, arguments)}},
                   {"box", "lane", "message", "type", "since", "targets", "reason"});
        return 0;
    }
    if (verb == "skip" || verb == "resume") return order(arguments, globals, verb);
    throw UsageError{"lanes knows list, skip and resume, not \"" + verb + "\""};
}

}  // namespace

Command lanes_command() {
    return {.name = "lanes",
            .summary = "Lists halted lanes, skips what one stands at or runs it again",
            .usage = "lanes list|skip LANE_OR_ID|resume LANE_OR_ID [FILTERS]",
            .words_max = 2,
            .options = {{"box", "B", "only of this box"},
                        {"type", "T", "only of this type; * is a wildcard"},
                        {"source", "S", "only of this source"},
                        {"target", "K", "only for this target"},
                        {"tenant", "X", "only of this tenant"},
                        {"reason", "TEXT", "only where the reason contains it"},
                        {"json", "", "for programs"},
                        operation_option()},
            .examples =
                "  waybill lanes list\n"
                "  waybill lanes resume customer-7         its head runs again, in its old place\n"
                "  waybill lanes skip customer-7           it goes on; the dead letter stays\n"
                "  waybill lanes skip 01980000-0000-7000-8000-000000000000\n",
            .run = lanes};
}

}  // namespace waybill::cli
