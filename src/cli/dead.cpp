#include <string>
#include <utility>

#include "cli/bulk.hpp"
#include "cli/command.hpp"
#include "cli/listing.hpp"
#include "cli/operator_desk.hpp"
#include "waybill/json.hpp"

namespace waybill::cli {
namespace {

using json::Object;
using json::Value;

BulkWords words_of(const std::string& verb) {
    return {.verb = verb,
            .done = verb == "discard" ? "discarded" : "requeued",
            .one = "dead letter",
            .many = "dead letters"};
}

int operate_on_matching(OperatorDesk& desk, const Arguments& arguments, const std::string& verb) {
    const std::string query = query_of(arguments, {"limit", "cursor"});
    if (query.empty()) throw UsageError{"say which: --type, --target, --reason …; see --help"};
    BulkWords words = words_of(verb);
    words.count_request = "/v1/dead" + query + "&count=1";
    words.order_request = "/v1/dead/" + verb + query;
    return operate_on_many(desk, arguments, words);
}

/// All that is dead of a message, or for one target.
int operate_on_one(OperatorDesk& desk, const Arguments& arguments, const std::string& verb) {
    const std::string& id = arguments.word(1, "the message's id");
    Object order{{"message", id}};
    if (arguments.has("target")) order.emplace_back("target", arguments.value("target"));
    const Value result = desk.post("/v1/dead/" + verb, order, arguments.value("operation"));
    return print_outcome(arguments, result, words_of(verb));
}

int dead(const Arguments& arguments, const Globals& globals) {
    const std::string& verb = arguments.word(0, "list, show, requeue or discard");
    if (verb == "list") {
        return list(arguments, globals, "/v1/dead",
                    {"message", "target", "at", "type", "failures", "reason"});
    }
    if (verb == "show") return show(arguments, globals, arguments.word(1, "the message's id"));
    if (verb != "requeue" && verb != "discard") {
        throw UsageError{"dead knows list, show, requeue and discard, not \"" + verb + "\""};
    }
    OperatorDesk desk{globals};
    if (arguments.words().size() < 2) return operate_on_matching(desk, arguments, verb);
    return operate_on_one(desk, arguments, verb);
}

}  // namespace

Command dead_command() {
    std::vector<OptionSpec> options = filter_options();
    options.push_back({"yes", "", "do not ask"});
    options.push_back(operation_option());
    return {
        .name = "dead",
        .summary = "Lists dead letters, requeues or discards them",
        .usage = "dead list|show ID|requeue [ID]|discard [ID] [FILTERS]",
        .words_max = 2,
        .options = std::move(options),
        .examples =
            "  waybill dead list --target billing\n"
            "  waybill dead requeue 01980000-0000-7000-8000-000000000000\n"
            "  waybill dead requeue --target billing --reason timeout --yes\n"
            "  waybill dead discard --type 'test.*' --yes --operation cleanup-1   once, however "
            "often it is said\n",
        .run = dead};
}

}  // namespace waybill::cli
