#include <algorithm>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cli/command.hpp"
#include "cli/listing.hpp"
#include "cli/operator_desk.hpp"
#include "cli/progress.hpp"
#include "core/runtime/system_random.hpp"
#include "waybill/json.hpp"
#include "waybill/uuid.hpp"

namespace waybill::cli {
namespace {

using json::Object;
using json::Value;

/// So many at once: what is shown moves, and others have their turn at the desk.
constexpr std::uint64_t kStep = 500;

std::string done(const std::string& verb) {
    return verb == "discard" ? "discarded" : "requeued";
}

/// What was asked for, without how much of it.
std::string filter_of(const Arguments& arguments) {
    const std::string query = query_of(arguments, {"limit", "cursor"});
    if (query.empty()) throw UsageError{"say which: --type, --target, --reason …; see --help"};
    return query;
}

std::string letters(const std::string& count) {
    return count == "1" ? " dead letter" : " dead letters";
}

/// In steps under one operation id, so that one that was interrupted goes on where it ended.
int operate_on_many(OperatorDesk& desk, const Arguments& arguments, const std::string& verb) {
    const std::string query = filter_of(arguments);
    const std::uint64_t there =
        desk.get("/v1/dead" + query + "&count=1").find("count")->as_uint64();
    const std::uint64_t wanted = arguments.number("limit", UINT64_MAX);
    const std::string shown = std::to_string(std::min(there, wanted));
    const bool goes_on = arguments.has("operation");
    if (!confirmed(arguments, goes_on ? "go on to " + verb + " dead letters?"
                                      : verb + " " + shown + letters(shown) + "?")) {
        return 1;
    }
    const std::string operation =
        arguments.value("operation", to_string(random_uuid(thread_random())));
    const bool for_program = arguments.has("json");
    if (!for_program) std::cout << verb << ": operation " << operation << "\n";
    Value result;
    try {
        std::optional<Progress> progress;
        for (std::uint64_t handled = 0;;) {
            const std::uint64_t step = std::min(kStep, wanted - handled);
            result = desk.post("/v1/dead/" + verb + query + "&limit=" + std::to_string(step), {},
                               operation);
            handled = result.find("carried_out")->as_uint64() + result.find("refused")->as_uint64();
            if (!progress && !for_program) {
                progress.emplace("dead letters " + done(verb),
                                 std::min(result.find("total")->as_uint64(), wanted));
            }
            if (progress) progress->at(handled);
            if (!result.find("capped")->as_bool() || handled >= wanted) break;
        }
    } catch (const std::exception& error) {
        throw std::runtime_error(error.what() +
                                 std::string{"; the same command with --operation "} + operation +
                                 " goes on");
    }
    if (for_program) {
        Object whole = result.as_object();
        whole.emplace_back("operation", operation);
        std::cout << json::to_text(whole) << "\n";
        return 0;
    }
    std::cout << text_of(result, "carried_out") << " done, " << text_of(result, "refused")
              << " refused, " << text_of(result, "remaining") << " remaining\n";
    if (const std::string refusal = text_of(result, "refusal"); !refusal.empty()) {
        std::cout << "refused: " << refusal << "\n";
    }
    return 0;
}

/// All that is dead of a message, or for one target.
int operate_on_one(OperatorDesk& desk, const Arguments& arguments, const std::string& verb) {
    const std::string& id = arguments.word(1, "the message's id");
    Object order{{"message", id}};
    if (arguments.has("target")) order.emplace_back("target", arguments.value("target"));
    const Value result = desk.post("/v1/dead/" + verb, order, arguments.value("operation"));
    const bool is_refused = result.find("carried_out")->as_uint64() == 0;
    if (is_refused && !arguments.has("json")) {
        throw std::runtime_error(text_of(result, "refusal"));
    }
    print_result(arguments, result,
                 text_of(result, "carried_out") + letters(text_of(result, "carried_out")) + " " +
                     done(verb));
    return result.find("refused")->as_uint64() == 0 ? 0 : 1;
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
