#include <cstdio>

#include <benchmark/benchmark.h>

#include "postgres_load.hpp"

/// A load that lasts: whether rate and table sizes stay what they are, also behind a snapshot that somebody
/// holds, and how long another instance needs for a takeover at its end. Only when asked for:
/// WAYBILL_STEADY_SECONDS says how long, WAYBILL_STEADY_RATE how many messages a second (10,000; more than can be
/// done: as many as can), WAYBILL_STEADY_HELD=1 holds a snapshot all the time.
namespace waybill::bench {
namespace {

constexpr auto kReport = std::chrono::seconds{30};
constexpr double kLeaseSeconds = 5;
/// What is open when the instance is killed.
constexpr std::uint64_t kLeftOpen = 5'000;

std::uint64_t setting(const char* name, std::uint64_t otherwise = 0) {
    const char* const given = std::getenv(name);
    return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

BoxOptions kept_shortly() {
    BoxOptions options = box_options(false);
    options.keep_done = std::chrono::minutes{1};
    return options;
}

Settings settings(const Schema& schema) {
    return {.store = schema.open(),
            .sweep = {.interval = std::chrono::seconds{5}, .batch_rows = 10'000}};
}

void handle(const Schema& schema, Board& board) {
    Finished finished{board};
    Waybill app{settings(schema)};
    app.box("bench", kept_shortly()).on("*", "nothing", [](const Message&) {});
    app.observe(finished);
    app.start();
    app.wait_idle();
    ++board.ready;
    const Load load{.threads = 2, .per_call = 100};
    const std::uint64_t rate = setting("WAYBILL_STEADY_RATE", 10'000);
    const SteadyTime start = now();
    produce(load, UINT64_MAX / 4, [&](std::uint64_t at) {
        while (board.go) Board::nap();
        std::this_thread::sleep_until(start + std::chrono::microseconds{at * 1'000'000 / rate});
        append_some(app, load, at);
        const std::uint64_t sum = board.appended += load.per_call;
        if (sum > kBacklog) board.wait_finished(sum - kBacklog);
    });
}

std::string sizes(RawPostgres& raw, const std::string& schema) {
    return raw.value(
        "select string_agg(format('%s %s MB', kind, bytes / 1000000), ', ' order by kind) from ("
        "select split_part(relname, '_', 1) as kind, sum(pg_total_relation_size(oid))::bigint as "
        "bytes from pg_class where relnamespace = '" +
        schema +
        "'::regnamespace and relkind = 'r' "
        "and split_part(relname, '_', 1) in ('message', 'open', 'finished') group by 1) s");
}

void PostgresSteady(benchmark::State& state) {
    const std::uint64_t seconds = setting("WAYBILL_STEADY_SECONDS");
    const bool is_held = setting("WAYBILL_STEADY_HELD") != 0;
    for (auto _ : state) {
        const Schema schema;
        const SharedBoard board;
        Process first{[&] { handle(schema, *board); }};
        RawPostgres raw{conninfo(), schema.name()};
        RawPostgres holder{conninfo(), schema.name()};
        while (board->ready == 0) Board::nap();
        if (is_held) {
            holder.run("begin isolation level repeatable read; select count(*) from " +
                       schema.name() + ".store");
        }
        const SteadyTime start = now();
        std::uint64_t before = 0;
        for (SteadyTime next = start + kReport; seconds_since(start) < static_cast<double>(seconds);
             next += kReport) {
            std::this_thread::sleep_until(next);
            const std::uint64_t all = board->finished;
            std::printf("%4.0f s: %.0f messages/s; %s\n", seconds_since(start),
                        static_cast<double>(all - before) / 30.0,
                        sizes(raw, schema.name()).c_str());
            std::fflush(stdout);
            before = all;
        }
        state.counters["per_s"] = static_cast<double>(board->finished) / seconds_since(start);
        // A takeover, with some work left behind.
        board->go = true;
        board->wait_finished(board->appended - kLeftOpen);
        first.kill();
        const std::string open = "select count(*) from " + schema.name() + ".open";
        const double left = std::stod(raw.value(open));
        Waybill app{settings(schema)};
        app.box("bench", kept_shortly()).on("*", "nothing", [](const Message&) {});
        const SteadyTime killed = now();
        app.start();
        while (raw.value(open) != "0") Board::nap();
        state.counters["left_open"] = left;
        state.counters["takeover_s"] = seconds_since(killed) - kLeaseSeconds;
        state.SetIterationTime(seconds_since(start));
    }
}

[[maybe_unused]] const bool is_registered = [] {
    if (setting("WAYBILL_STEADY_SECONDS") == 0) return false;
    benchmark::RegisterBenchmark("PostgresSteady", PostgresSteady)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1);
    return true;
}();

}  // namespace
}  // namespace waybill::bench
