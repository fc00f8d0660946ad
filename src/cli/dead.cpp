#include <iostream>
#include <utility>

#include "cli/command.hpp"
#include "cli/listing.hpp"
#include "cli/operator_desk.hpp"
#include "waybill/json.hpp"

namespace waybill::cli {
namespace {

using json::Object;
using json::Value;

/// In batches, so that one that was interrupted goes on where it ended.
int operate_on_many(OperatorDesk& desk, const Arguments& arguments, const std::string& verb) {
    const std::string query = query_of(arguments);
    if (query.empty()) throw UsageError{"say which: --type, --target, --reason …; see --help"};
    const std::string target = "/v1/dead/" + verb + query + "&limit=10000";
    const Value first = desk.get("/v1/dead" + query + "&limit=10000");
    const std::size_t count = first.find("items")->as_array().size();
    const std::string shown =
        std::to_string(count) + (first.find("next") != nullptr ? " or more" : "");
    if (!confirmed(arguments, verb + " " + shown + " dead letters?")) return 1;
    std::uint64_t done = 0;
    for (;;) {
        const Value result = desk.post(target);
        done += result.find("carried_out")->as_uint64();
        std::cout << done << " done, " << text_of(result, "remaining") << " remaining\n";
        if (!result.find("capped")->as_bool()) return 0;
    }
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
    if (arguments.words().size() < 2) return operate_on_many(desk, arguments, verb);
    const std::string id = arguments.word(1, "the message's id");
    std::vector<std::string> targets;
    if (arguments.has("target")) {
        targets.push_back(arguments.value("target"));
    } else {
        const Value detail = desk.get("/v1/messages/" + id);
        for (const Value& letter : detail.find("dead")->as_array()) {
            targets.push_back(text_of(letter, "target"));
        }
    }
    int refused = targets.empty() ? 1 : 0;
    if (targets.empty()) std::cerr << "waybill: no delivery of this message is dead\n";
    for (const std::string& target : targets) {
        const Value result =
            desk.post("/v1/dead/" + verb, Object{{"message", id}, {"target", target}});
        const bool good = result.find("carried_out")->as_uint64() == 1;
        std::cout << target << ": " << (good ? verb + "d" : text_of(result, "text")) << "\n";
        if (!good) refused = 1;
    }
    return refused;
}

}  // namespace

Command dead_command() {
    std::vector<OptionSpec> options = filter_options();
    options.push_back({"yes", "", "do not ask"});
    return {.name = "dead",
            .summary = "Lists dead letters, requeues or discards them",
            .usage = "dead list|show ID|requeue [ID]|discard [ID] [FILTERS]",
            .options = std::move(options),
            .examples =
                "  waybill dead list --target billing\n"
                "  waybill dead requeue 01980000-0000-7000-8000-000000000000\n"
                "  waybill dead requeue --target billing --reason timeout --yes\n",
            .run = dead};
}

}  // namespace waybill::cli
