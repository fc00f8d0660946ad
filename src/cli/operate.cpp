#include <algorithm>
#include <iostream>
#include <utility>

#include <unistd.h>

#include "cli/command.hpp"
#include "cli/operator_desk.hpp"
#include "server/admin_query.hpp"
#include "waybill/json.hpp"

namespace waybill::cli {
namespace {

using json::Object;
using json::Value;

std::vector<OptionSpec> filter_options() {
    return {{"box", "B", "only of this box"},
            {"type", "T", "only of this type; * is a wildcard"},
            {"source", "S", "only of this source"},
            {"target", "K", "only for this target"},
            {"tenant", "X", "only of this tenant"},
            {"since", "TIME", "2026-01-31 or 2026-01-31T12:00:00Z"},
            {"until", "TIME", "the same"},
            {"reason", "TEXT", "dead letters whose reason contains it"},
            {"limit", "N", "at most so many; default 100"},
            {"cursor", "C", "where the last listing ended"},
            {"json", "", "for programs"}};
}

std::string query_of(const Arguments& arguments) {
    std::string query;
    for (const char* name : {"state", "box", "type", "source", "target", "tenant", "since", "until",
                             "reason", "limit", "cursor"}) {
        if (!arguments.has(name)) continue;
        query += query.empty() ? "?" : "&";
        query += std::string{name} + "=" + server::url_encoded(arguments.value(name));
    }
    return query;
}

std::string text_of(const Value& item, const char* name) {
    const Value* const value = item.find(name);
    if (value == nullptr || value->is_null()) return "";
    return value->visit([&](const auto& inner) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(inner)>, std::string>) {
            return inner;
        } else {
            return json::to_text(*value);
        }
    });
}

/// Columns as wide as they need to be; the last one as long as it is.
void print_table(const Value& page, const std::vector<const char*>& columns) {
    const json::Array& items = page.find("items")->as_array();
    std::vector<std::size_t> widths;
    for (const char* column : columns) {
        std::size_t width = std::string_view{column}.size();
        for (const Value& item : items) width = std::max(width, text_of(item, column).size());
        widths.push_back(width);
    }
    const auto row = [&](const auto& cell) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            std::string text = cell(columns[i]);
            if (i + 1 < columns.size()) text.resize(widths[i] + 2, ' ');
            std::cout << text;
        }
        std::cout << "\n";
    };
    row([](const char* column) { return std::string{column}; });
    for (const Value& item : items) row([&](const char* column) { return text_of(item, column); });
    if (const Value* const next = page.find("next")) {
        std::cout << "more: --cursor " << next->as_string() << "\n";
    }
}

int list(const Arguments& arguments, const Globals& globals, const std::string& target,
         const std::vector<const char*>& columns) {
    const Value page = OperatorDesk{globals}.get(target + query_of(arguments));
    if (arguments.has("json")) {
        std::cout << json::to_text(page) << "\n";
    } else if (page.find("items")->as_array().empty()) {
        std::cout << "nothing\n";
    } else {
        print_table(page, columns);
    }
    return 0;
}

/// One member per line, lists indented.
void print_object(const Value& value, const std::string& indent = {}) {
    for (const auto& [name, member] : value.as_object()) {
        const bool is_list = member.visit([](const auto& inner) {
            return std::is_same_v<std::decay_t<decltype(inner)>, json::Array>;
        });
        const bool is_object = member.visit([](const auto& inner) {
            return std::is_same_v<std::decay_t<decltype(inner)>, Object>;
        });
        if (is_list) {
            for (const Value& item : member.as_array()) {
                std::cout << indent << name << ":\n";
                print_object(item, indent + "  ");
            }
        } else if (is_object) {
            std::cout << indent << name << ":\n";
            print_object(member, indent + "  ");
        } else {
            std::cout << indent << name << ": " << text_of(value, name.c_str()) << "\n";
        }
    }
}

int show(const Arguments& arguments, const Globals& globals, const std::string& id) {
    const Value detail = OperatorDesk{globals}.get("/v1/messages/" + id);
    if (arguments.has("json")) {
        std::cout << json::to_text(detail) << "\n";
    } else {
        print_object(detail);
    }
    return 0;
}

int cancel(const Globals& globals, const std::string& id) {
    OperatorDesk desk{globals};
    const std::string number = text_of(desk.post("/v1/messages/" + id + "/cancel"), "command");
    constexpr int kLooks = 100;
    for (int i = 0; i < kLooks; ++i) {
        const Value answer = desk.get("/v1/commands/" + number);
        if (answer.find("answered")->as_bool()) {
            std::cout << text_of(answer, "text") << "\n";
            return answer.find("carried_out")->as_bool() ? 0 : 1;
        }
        ::usleep(50'000);  // lint: allow(seams) a person waits
    }
    std::cout << "ordered; it is carried out when a server runs\n";
    return 0;
}

int messages(const Arguments& arguments, const Globals& globals) {
    const std::string& verb = arguments.word(0, "list, show or cancel");
    if (verb == "list") {
        return list(arguments, globals, "/v1/messages",
                    {"id", "state", "appended_at", "box", "source", "type", "tenant", "lane"});
    }
    if (verb == "show") return show(arguments, globals, arguments.word(1, "the message's id"));
    if (verb == "cancel") return cancel(globals, arguments.word(1, "the message's id"));
    throw UsageError{"messages knows list, show and cancel, not \"" + verb + "\""};
}

bool confirmed(const Arguments& arguments, const std::string& question) {
    if (arguments.has("yes")) return true;
    if (::isatty(STDIN_FILENO) == 0) {
        throw UsageError{question + " Say --yes: nobody is here to answer"};
    }
    std::cout << question << " [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "yes";
}

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

int targets(const Arguments& arguments, const Globals& globals) {
    const std::string& verb = arguments.word(0, "list or forget");
    if (verb == "list") {
        return list(arguments, globals, "/v1/targets",
                    {"box", "key", "type", "source", "tenant", "after"});
    }
    if (verb != "forget") throw UsageError{"targets knows list and forget, not \"" + verb + "\""};
    const std::string key = arguments.word(1, "the target's key");
    if (!confirmed(arguments, "forget " + key + "? What is open for it counts no longer."))
        return 1;
    OperatorDesk{globals}.post("/v1/targets/forget",
                               Object{{"box", arguments.value("box", "inbox")}, {"key", key}});
    std::cout << key << ": forgotten\n";
    return 0;
}

int boxes(const Arguments& arguments, const Globals& globals) {
    const std::string& verb = arguments.word(0, "list, pause or resume");
    if (verb == "list") {
        for (const server::BoxConfig& box : load(globals).config.boxes) {
            std::cout << box.name << "\n";
        }
        return 0;
    }
    if (verb != "pause" && verb != "resume") {
        throw UsageError{"boxes knows list, pause and resume, not \"" + verb + "\""};
    }
    const std::string box = arguments.word(1, "the box");
    OperatorDesk{globals}.post("/v1/boxes/" + verb, Object{{"box", box}});
    std::cout << box << ": " << verb << "d\n";
    return 0;
}

int backup(const Arguments& arguments, const Globals& globals) {
    const std::string& path = arguments.word(0, "the file to write");
    OperatorDesk{globals}.post("/v1/backup", Object{{"path", path}});
    std::cout << path << ": written\n";
    return 0;
}

int stats(const Arguments& arguments, const Globals& globals) {
    const Value value = OperatorDesk{globals}.get("/v1/stats");
    if (arguments.has("json")) {
        std::cout << json::to_text(value) << "\n";
    } else {
        print_object(value);
    }
    return 0;
}

}  // namespace

Command messages_command() {
    std::vector<OptionSpec> options = filter_options();
    options.push_back({"state", "S", "open, parked, done or dead"});
    return {.name = "messages",
            .summary = "Lists messages, shows one, cancels one",
            .usage = "messages list|show ID|cancel ID [FILTERS]",
            .options = std::move(options),
            .examples =
                "  waybill messages list --state open --source stripe\n"
                "  waybill messages show 01980000-0000-7000-8000-000000000000\n"
                "  waybill messages list --json --limit 1000\n",
            .run = messages};
}

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

Command targets_command() {
    return {.name = "targets",
            .summary = "Lists the targets the store knows, forgets one that is gone",
            .usage = "targets list|forget KEY [--box B]",
            .options = {{"box", "B", "default inbox"},
                        {"yes", "", "do not ask"},
                        {"json", "", "for programs"}},
            .examples =
                "  waybill targets list\n"
                "  waybill targets forget billing-v1 --yes\n",
            .run = targets};
}

Command boxes_command() {
    return {.name = "boxes",
            .summary = "Lists the boxes, pauses or resumes one",
            .usage = "boxes list|pause BOX|resume BOX",
            .options = {},
            .examples = "  waybill boxes pause inbox\n  waybill boxes resume inbox\n",
            .run = boxes};
}

Command backup_command() {
    return {.name = "backup",
            .summary = "Copies a SQLite store to a new file while others go on",
            .usage = "backup FILE",
            .options = {},
            .examples = "  waybill backup waybill-backup.db\n",
            .run = backup};
}

Command stats_command() {
    return {.name = "stats",
            .summary = "Numbers: open, parked, dead, done",
            .usage = "stats",
            .options = {{"json", "", "for programs"}},
            .examples = "  waybill stats --json\n",
            .run = stats};
}

}  // namespace waybill::cli
