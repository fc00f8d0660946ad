#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <unistd.h>

#include "cli/bulk.hpp"
#include "cli/command.hpp"
#include "cli/listing.hpp"
#include "cli/operator_desk.hpp"
#include "cli/progress.hpp"
#include "server/admin_query.hpp"
#include "waybill/json.hpp"

namespace waybill::cli {
namespace {

using json::Object;
using json::Value;

int cancel(const Arguments& arguments, const Globals& globals, const std::string& id) {
    OperatorDesk desk{globals};
    const Value ordered =
        desk.post("/v1/messages/" + id + "/cancel", {}, arguments.value("operation"));
    return print_answers(
        arguments, {Object{{"message", id}, {"commands", desk.owners_answers({ordered})[0]}}});
}

/// One message, or all that match, for one target.
int replay(const Arguments& arguments, const Globals& globals) {
    const std::string target = arguments.value("target");
    if (target.empty()) throw UsageError{"say who gets it again: --target KEY"};
    BulkWords words{.verb = "replay", .done = "replayed", .one = "message", .many = "messages"};
    OperatorDesk desk{globals};
    if (arguments.words().size() > 1) {
        const Value result = desk.post("/v1/messages/" + arguments.word(1, "") + "/replay",
                                       Object{{"target", target}}, arguments.value("operation"));
        return print_outcome(arguments, result, words);
    }
    std::string query = query_of(arguments, {"limit", "cursor", "target", "state"});
    if (query.empty()) throw UsageError{"say which: --type, --tenant, --since …; see --help"};
    query += "&state=" + arguments.value("state", "done");
    words.count_request = "/v1/messages" + query + "&count=1";
    words.order_request = "/v1/replay" + query + "&target=" + server::url_encoded(target);
    if (arguments.has("rate")) {
        words.order_request += "&rate=" + server::url_encoded(arguments.value("rate"));
    }
    return operate_on_many(desk, arguments, words);
}

int messages(const Arguments& arguments, const Globals& globals) {
    const std::string& verb = arguments.word(0, "list, show, cancel or replay");
    if (verb == "list") {
        return list(arguments, globals, "/v1/messages",
                    {"id", "state", "appended_at", "box", "source", "type", "tenant", "lane"});
    }
    if (verb == "show") return show(arguments, globals, arguments.word(1, "the message's id"));
    if (verb == "cancel") return cancel(arguments, globals, arguments.word(1, "the message's id"));
    if (verb == "replay") return replay(arguments, globals);
    throw UsageError{"messages knows list, show, cancel and replay, not \"" + verb + "\""};
}

int targets(const Arguments& arguments, const Globals& globals) {
    const std::string& verb = arguments.word(0, "list or forget");
    if (verb == "list") {
        return list(arguments, globals, "/v1/targets",
                    {"box", "key", "type", "source", "tenant", "after", "served", "waiting"});
    }
    if (verb != "forget") throw UsageError{"targets knows list and forget, not \"" + verb + "\""};
    const std::string key = arguments.word(1, "the target's key");
    if (!confirmed(arguments, "forget " + key + "? What is open for it counts no longer."))
        return 1;
    Object order{{"key", key}};
    if (arguments.has("box")) order.emplace_back("box", arguments.value("box"));
    if (arguments.has("force")) order.emplace_back("force", true);
    const Value result =
        OperatorDesk{globals}.post("/v1/targets/forget", order, arguments.value("operation"));
    print_result(arguments, result, key + ": forgotten");
    return 0;
}

int instances(const Arguments& arguments, const Globals& globals) {
    const std::string& verb = arguments.word(0, "list");
    if (verb == "drain") {
        throw UsageError{"instances drain comes with a later version; SIGTERM drains an instance"};
    }
    if (verb != "list") throw UsageError{"instances knows list, not \"" + verb + "\""};
    return list(arguments, globals, "/v1/instances",
                {"name", "state", "since", "last_beat", "partitions", "running", "waiting", "boxes",
                 "refused"});
}

int boxes(const Arguments& arguments, const Globals& globals) {
    const std::string& verb = arguments.word(0, "list, pause or resume");
    if (verb == "list") {
        return list(arguments, globals, "/v1/boxes",
                    {"box", "paused", "open", "parked", "lanes", "on_dead", "unmatched",
                     "concurrency", "configured"});
    }
    if (verb == "repartition") {
        throw UsageError{
            "boxes repartition comes in a later version; a SQLite file has one owner, so its boxes "
            "need no other partitions"};
    }
    if (verb != "pause" && verb != "resume") {
        throw UsageError{"boxes knows list, pause and resume, not \"" + verb + "\""};
    }
    const std::string box = arguments.word(1, "the box");
    const Value result = OperatorDesk{globals}.post("/v1/boxes/" + verb, Object{{"box", box}},
                                                    arguments.value("operation"));
    print_result(arguments, result, box + ": " + verb + "d");
    return 0;
}

/// Shows how large a file has become while somebody else writes it.
class GrowingFile {
public:
    GrowingFile(std::string file, const std::string& model)
        : file_(std::move(file)),
          progress_("KiB copied", size_of(model)),
          thread_([this](const std::stop_token& stop) { watch(stop); }) {}

private:
    static std::uint64_t size_of(const std::string& file) {
        std::error_code ignored;
        const auto bytes = std::filesystem::file_size(file, ignored);
        return ignored ? 0 : std::max<std::uint64_t>(bytes / 1024, 1);
    }
    void watch(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            if (const std::uint64_t size = size_of(file_); size > 0) progress_.at(size);
            ::usleep(50'000);  // lint: allow(seams) a person watches
        }
    }

    const std::string file_;
    Progress progress_;
    std::jthread thread_;  // lint: allow(seams) a person watches
};

int backup(const Arguments& arguments, const Globals& globals) {
    const std::string& path = arguments.word(0, "the file to write");
    const std::string whole = std::filesystem::absolute(path).string();
    OperatorDesk desk{globals};
    Value result;
    {
        std::optional<GrowingFile> watched;
        if (!arguments.has("json")) watched.emplace(whole + ".unfinished", desk.file());
        result = desk.post("/v1/backup", Object{{"path", whole}}, arguments.value("operation"));
    }
    print_result(arguments, result, path + ": written");
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
    options.push_back({"rate", "N/s", "replay so many per second"});
    options.push_back({"yes", "", "do not ask"});
    options.push_back(operation_option());
    return {.name = "messages",
            .summary = "Lists messages, shows one, cancels one, replays what has ended",
            .usage = "messages list|show ID|cancel ID|replay [ID] --target KEY [FILTERS]",
            .words_max = 2,
            .options = std::move(options),
            .examples =
                "  waybill messages list --state open --source stripe\n"
                "  waybill messages show 01980000-0000-7000-8000-000000000000\n"
                "  waybill messages list --json --limit 1000\n"
                "  waybill messages replay 01980000-0000-7000-8000-000000000000 --target billing\n"
                "  waybill messages replay --type 'order.*' --since 2026-01-31 --target billing "
                "--rate 50/s\n",
            .run = messages};
}

Command targets_command() {
    return {
        .name = "targets",
        .summary = "Lists the targets the store knows, forgets one that is gone",
        .usage = "targets list|forget KEY [--box B] [--force]",
        .words_max = 2,
        .options = {{"box", "B", "of forget; default: the one it is registered in"},
                    {"force", "", "a subscription that another live server may have in its file"},
                    {"yes", "", "do not ask"},
                    operation_option(),
                    {"json", "", "for programs"}},
        .examples =
            "  waybill targets list\n"
            "  waybill targets forget billing-v1 --yes\n",
        .run = targets};
}

Command instances_command() {
    return {.name = "instances",
            .summary = "Lists who works on the store, since when, with how many partitions",
            .usage = "instances list",
            .words_max = 1,
            .options = {{"json", "", "for programs"}},
            .examples = "  waybill instances list\n",
            .run = instances};
}

Command boxes_command() {
    return {.name = "boxes",
            .summary = "Lists the boxes, pauses or resumes one",
            .usage = "boxes list|pause BOX|resume BOX",
            .words_max = 2,
            .options = {operation_option(), {"json", "", "for programs"}},
            .examples =
                "  waybill boxes list\n  waybill boxes pause inbox\n  waybill boxes resume inbox\n",
            .run = boxes};
}

Command backup_command() {
    return {.name = "backup",
            .summary = "Copies a SQLite store to a new file while others go on",
            .usage = "backup FILE",
            .words_max = 1,
            .options = {operation_option(), {"json", "", "for programs"}},
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
