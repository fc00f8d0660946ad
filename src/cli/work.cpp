#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>

#include <unistd.h>

#include "cli/command.hpp"
#include "cli/listing.hpp"
#include "cli/open_store.hpp"
#include "cli/operator_desk.hpp"
#include "cli/progress.hpp"
#include "server/config/secret.hpp"
#include "server/config/units.hpp"
#include "server/generation.hpp"
#include "server/store_access.hpp"
#include "server/token.hpp"
#include "waybill/signing.hpp"
#include "waybill/sqlite.hpp"
#include "waybill/system.hpp"

/// Commands that write or work.
namespace waybill::cli {
namespace {

constexpr const char* kMigrateAlone =
    "it brought the schema to its own version when it started; stop it first to migrate here";
constexpr const char* kRunOnceAlone =
    "it handles what is due by itself; stop it first to do it here";

/// Another host may be migrating too: it is done in a moment. A server is not.
std::unique_ptr<server::StoreAccess> open_to_migrate(const server::Config& config) {
    if (server::is_shared(config.store)) return open_for_command(config, kMigrateAlone);
    constexpr int kLooks = 300;
    const std::string local = server::local_access_file(server::file_of(config.store));
    for (int i = 0; i < kLooks && !std::filesystem::exists(local); ++i) {
        try {
            return server::open_store(config.store, server::store_options(config));
        } catch (const StoreError& error) {
            if (error.reaction() != Reaction::back_off) throw;
        }
        if (i == 0) std::cerr << "waiting: another process has " << config.store << " open\n";
        ::usleep(50'000);  // lint: allow(seams) a person waits
    }
    return open_for_command(config, kMigrateAlone);
}

/// One that is not there yet is not made to be looked at, and one that is there is left as it is.
Schema schema_of(const server::Config& config) {
    if (server::is_shared(config.store)) {
        return server::open_store(config.store, server::store_options(config))->schema();
    }
    const std::string file = server::file_of(config.store);
    if (file.empty() || !std::filesystem::exists(file)) return sqlite::schema_of_new_file();
    return sqlite::glance(file).schema;
}

int print_plan(const Arguments& arguments, const server::Config& config, std::uint32_t to) {
    const Schema schema = schema_of(config);
    std::vector<std::string> plan = schema.missing;
    std::erase_if(
        plan, [&](const std::string& migration) { return to != 0 && std::stoul(migration) > to; });
    const std::uint32_t end = to == 0 ? schema.newest : to;
    const std::string sql = plan.empty() || schema.version >= end
                                ? std::string{}
                                : server::migration_script(config.store, schema.version, end);
    if (arguments.has("json")) {
        const json::Array steps{plan.begin(), plan.end()};
        std::cout << json::to_text(json::Object{{"store", server::masked_url(config.store)},
                                                {"version", schema.version},
                                                {"newest", schema.newest},
                                                {"would_apply", steps},
                                                {"sql", sql}})
                  << "\n";
        return 0;
    }
    // What is said is a comment, so that the whole can be given to whoever may change the schema.
    std::cout << "-- " << server::masked_url(config.store) << ": is of version " << schema.version
              << " of " << schema.newest << "\n";
    for (const std::string& migration : plan) std::cout << "-- would apply " << migration << "\n";
    std::cout << sql << (plan.empty() ? "-- nothing to do\n" : "-- nothing was changed\n");
    return 0;
}

int migrate(const Arguments& arguments, const Globals& globals) {
    const server::Config config = load(globals, server::Secrets::unneeded).config;
    const auto to =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(arguments.number("to", 0), UINT32_MAX));
    if (arguments.has("to")) {
        const std::uint32_t newest = schema_of(config).newest;
        if (to == 0 || to > newest) {
            throw UsageError{"--to is a version this program knows: 1 … " + std::to_string(newest)};
        }
    }
    if (arguments.has("dry-run")) return print_plan(arguments, config, to);
    const auto access = open_to_migrate(config);
    access->migrate(to);
    const std::uint32_t version = access->schema().version;
    const std::string store = server::masked_url(config.store);
    print_result(arguments, json::Object{{"store", store}, {"version", version}},
                 store + ": is of version " + std::to_string(version));
    const bool goes_back = to != 0 && to < version;
    if (goes_back && !arguments.has("json")) std::cout << "a schema never goes back\n";
    return 0;
}

int publish(const Arguments& arguments, const Globals& globals) {
    json::Object order{{"type", arguments.required("type")},
                       {"box", arguments.value("box", "outbox")}};
    const std::string body =
        arguments.has("body") ? read_input(arguments.value("body")) : std::string{};
    order.emplace_back("body_base64", signing::to_base64(body));
    const auto add = [&](const char* option, const char* member) {
        if (arguments.has(option)) order.emplace_back(member, arguments.value(option));
    };
    add("tenant", "tenant");
    add("lane", "lane");
    add("dedup", "dedup_key");
    add("at", "not_before");
    const json::Value answer = OperatorDesk{globals, true}.post("/v1/messages", order);
    print_result(arguments, answer,
                 answer.find("id")->as_string() + " " + answer.find("status")->as_string());
    return 0;
}

/// Counts what ends. Messages with several targets end more than once.
class EndedSoFar final : public Observer {
public:
    explicit EndedSoFar(std::uint64_t total) { progress.emplace("deliveries ended", total); }
    void on_event(const Event& event) noexcept override {
        if (event.kind != Event::Kind::done && event.kind != Event::Kind::died) return;
        if (progress) progress->at(++ended_);
    }
    std::optional<Progress> progress{};

private:
    std::uint64_t ended_ = 0;
};

/// The other boxes are not there for this run, nor is what comes in.
void keep_only(const std::string& box, server::Config& config) {
    std::vector<std::string> names;
    for (const server::BoxConfig& one : config.boxes) names.push_back(one.name);
    if (std::ranges::find(names, box) == names.end()) {
        const std::string close = server::nearest(box, names);
        throw UsageError{"there is no box \"" + box + "\"" +
                         (close.empty() ? "" : "; did you mean " + close + "?")};
    }
    std::erase_if(config.boxes, [&](const server::BoxConfig& one) { return one.name != box; });
    std::erase_if(config.targets,
                  [&](const server::TargetConfig& one) { return one.target.box != box; });
    config.sources.clear();
}

int run_once(const Arguments& arguments, const Globals& globals) {
    // A command that does not read its input must not end us.
    ::signal(SIGPIPE, SIG_IGN);
    server::Log log{globals.log_level, globals.log_format, system_clock()};
    server::Config config = load(globals).config;
    if (arguments.has("box")) keep_only(arguments.value("box"), config);
    const auto at_most = server::parse_duration(arguments.value("at-most", "30s"));
    if (!at_most) throw UsageError{"--at-most is a duration such as 30s"};
    const std::uint64_t wanted = arguments.number("max", Waybill::no_limit);
    const auto access = open_for_command(config, kRunOnceAlone);
    access->migrate();
    EndedSoFar ended_so_far{std::min(access->connect().upkeep()->health().open, wanted)};
    if (arguments.has("json")) ended_so_far.progress.reset();
    http_out::HttpOut out;
    server::Metrics uncollected;
    server::Generation generation{config, *access, out, log, uncollected};
    generation.app.observe(ended_so_far);
    const std::uint64_t ended = generation.app.run_once(*at_most, wanted);
    ended_so_far.progress.reset();
    print_result(arguments, json::Object{{"ended", ended}},
                 std::to_string(ended) + (ended == 1 ? " delivery" : " deliveries") + " ended");
    return 0;
}

}  // namespace

Command migrate_command() {
    return {.name = "migrate",
            .summary =
                "Brings the store's schema to this version; safe to run twice, and by two at once",
            .usage = "migrate [--to N] [--dry-run]",
            .options = {{"to", "N", "no further than this version; default: this program's"},
                        {"dry-run", "", "print the SQL, and change nothing"},
                        {"json", "", "for programs"}},
            .examples =
                "  waybill migrate --store sqlite:waybill.db\n"
                "  waybill migrate --dry-run\n",
            .run = migrate};
}

Command publish_command() {
    return {.name = "publish",
            .summary = "Appends one message to an outbox",
            .usage = "publish --type T [--body FILE|-] [OPTIONS]",
            .options = {{"type", "T", "the message's type"},
                        {"body", "FILE", "its body, - for standard input"},
                        {"box", "B", "default outbox"},
                        {"tenant", "X", "its tenant"},
                        {"lane", "K", "messages of a lane are handled in order"},
                        {"dedup", "K", "a second one with this key is a duplicate"},
                        {"at", "TIME", "not before this moment"},
                        {"json", "", "for programs"}},
            .examples = "  echo '{\"order\":1}' | waybill publish --type order.placed --body -\n",
            .run = publish};
}

Command run_once_command() {
    return {.name = "run-once",
            .summary = "Handles what is due and leaves: for cron and serverless hosts",
            .usage = "run-once [--box B] [--max N] [--at-most DURATION]",
            .options = {{"box", "B", "only what is in this box"},
                        {"max", "N", "start at most so many deliveries"},
                        {"at-most", "DURATION", "default 30s"},
                        {"json", "", "for programs"}},
            .examples = "  waybill run-once --max 100\n",
            .run = run_once};
}

}  // namespace waybill::cli
