#include <cmath>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>

#include <benchmark/benchmark.h>

#include "postgres_load.hpp"

/// What the PostgreSQL store costs beside libpq itself. Every line runs both in turns, in the same tables,
/// with the same rows and batch sizes and the same durability, and prints what part of the raw rate it
/// reached. Rows are about 500 bytes.
namespace waybill::bench {
namespace {

/// Seconds and bytes of WAL.
struct Run {
    double seconds = 0;
    double wal = 0;
};

/// Both rates, and what they wrote.
class Ratio {
public:
    template <class Raw, class Ours>
    void measure(Raw raw, Ours ours) {
        const Run limit = raw();
        const std::clock_t begin = std::clock();
        last_ = ours();
        cpu_ += static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        raw_.seconds += limit.seconds;
        raw_.wal += limit.wal;
        ours_.seconds += last_.seconds;
        ours_.wal += last_.wal;
        ++rounds_;
    }
    double last() const { return last_.seconds; }
    void report(benchmark::State& state, std::uint64_t count) const {
        const double all = static_cast<double>(count) * rounds_;
        state.SetItemsProcessed(static_cast<std::int64_t>(all));
        state.counters["raw_per_s"] = all / raw_.seconds;
        state.counters["of_raw_%"] = 100.0 * raw_.seconds / ours_.seconds;
        // Of this process: what the server spends is not in it.
        state.counters["cpu_us"] = cpu_ / all * 1e6;
        state.counters["wal_bytes"] = ours_.wal / all;
        state.counters["raw_wal_bytes"] = raw_.wal / all;
    }

private:
    Run raw_{};
    Run ours_{};
    Run last_{};
    double cpu_ = 0;
    double rounds_ = 0;
};

/// The raw side of an append: as many rows per commit as callers can share.
Run raw_append(const Load& load) {
    const Schema schema;
    RawPostgres raw{conninfo(), schema.name()};
    Wal wal{schema};
    const std::size_t per_commit = load.per_call * static_cast<std::size_t>(load.threads);
    const SteadyTime start = now();
    for (std::uint64_t i = 0; i < load.count; i += per_commit) {
        raw.insert(raw_messages(i, per_commit, load.laned));
    }
    return {seconds_since(start), wal.bytes()};
}

Run append(const Load& load) {
    const Schema schema;
    Waybill app{{.store = schema.open()}};
    app.box("bench", box_options(load.laned && load.strict));
    app.append(message(0, load.laned));
    Wal wal{schema};
    const SteadyTime start = now();
    produce(load, load.count, [&](std::uint64_t first) { append_some(app, load, first); });
    return {seconds_since(start), wal.bytes()};
}

void PostgresAppend(benchmark::State& state, const Load& load) {
    Ratio ratio;
    for (auto _ : state) {
        ratio.measure([&] { return raw_append(load); }, [&] { return append(load); });
        state.SetIterationTime(ratio.last());
    }
    ratio.report(state, load.count);
}

/// The raw side of end-to-end: one connection inserts, another one finishes what is there, as ours have
/// one for appends and one for settlements.
Run raw_end_to_end(const Load& load) {
    const Schema schema;
    RawPostgres in{conninfo(), schema.name()};
    RawPostgres out{conninfo(), schema.name()};
    Wal wal{schema};
    std::mutex mutex;  // guards the two below
    std::condition_variable changed;
    std::deque<std::vector<RawPlace>> open;
    const std::size_t per_commit = load.per_call * static_cast<std::size_t>(load.threads);
    const SteadyTime start = now();
    std::jthread inserts{[&] {
        for (std::uint64_t i = 0; i < load.count; i += per_commit) {
            std::vector<RawPlace> places = in.insert(raw_messages(i, per_commit, load.laned));
            const std::lock_guard lock{mutex};
            open.push_back(std::move(places));
            changed.notify_one();
        }
    }};
    for (std::uint64_t finished = 0; finished < load.count;) {
        std::unique_lock lock{mutex};
        changed.wait(lock, [&] { return !open.empty(); });
        std::vector<RawPlace> places;
        // As much as a settlement takes.
        while (!open.empty() && places.size() < 1'000) {
            places.insert(places.end(), open.front().begin(), open.front().end());
            open.pop_front();
        }
        lock.unlock();
        out.finish(places);
        finished += places.size();
    }
    return {seconds_since(start), wal.bytes()};
}

/// One instance: appends its share and handles what it owns.
void run_instance(const Schema& schema, const Load& load, Board& board) {
    Finished finished{board};
    Waybill app{{.store = schema.open()}};
    app.box("bench", box_options(load.laned && load.strict)).on("*", "nothing", [](const Message&) {
    });
    app.observe(finished);
    app.start();
    app.wait_idle();
    // Partitions move one at a time: wait until everybody has about its share.
    const std::uint32_t share = 32U / static_cast<std::uint32_t>(load.instances);
    const SteadyTime patience = now() + std::chrono::seconds{30};
    while (app.status().partitions < share - 2 && now() < patience) {
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
    ++board.ready;
    while (!board.go) Board::nap();
    produce(load, load.count / static_cast<std::uint64_t>(load.instances), [&](std::uint64_t at) {
        append_some(app, load, at);
        const std::uint64_t sum = board.appended += load.per_call;
        if (sum > kBacklog) board.wait_finished(sum - kBacklog);
    });
    board.wait_finished(board.appended);
    while (!board.stop) Board::nap();
}

/// Append → handler → settled, through the front door.
Run end_to_end(const Load& load) {
    const Schema schema;
    const SharedBoard board;
    std::vector<Process> others;
    for (int i = 1; i < load.instances; ++i) {
        others.emplace_back([&] { run_instance(schema, load, *board); });
    }
    Wal wal{schema};
    Run run;
    {
        std::jthread here{[&] { run_instance(schema, load, *board); }};
        while (board->ready < load.instances) Board::nap();
        const SteadyTime start = now();
        board->go = true;
        const auto share = load.count / static_cast<std::uint64_t>(load.instances * load.threads);
        board->wait_finished(share * static_cast<std::uint64_t>(load.instances * load.threads));
        run.seconds = seconds_since(start);
        run.wal = wal.bytes();
        board->stop = true;
    }
    return run;
}

void PostgresEndToEnd(benchmark::State& state, const Load& load) {
    Ratio ratio;
    std::vector<double> lanes_cost;
    std::vector<double> order_cost;
    for (auto _ : state) {
        // In turns, so that what else the machine does hits all.
        Run without_order;
        Run without_lanes;
        if (load.laned) {
            Load other = load;
            other.strict = false;
            without_order = end_to_end(other);
            other.laned = false;
            without_lanes = end_to_end(other);
        }
        ratio.measure([&] { return raw_end_to_end(load); }, [&] { return end_to_end(load); });
        state.SetIterationTime(ratio.last());
        lanes_cost.push_back(100.0 * (1.0 - without_lanes.seconds / ratio.last()));
        order_cost.push_back(100.0 * (1.0 - without_order.seconds / ratio.last()));
    }
    ratio.report(state, load.count);
    if (load.laned) {
        // A lane is a column, also where nobody asks for its order.
        state.counters["lanes_cost_%"] = at(lanes_cost, 0.5);
        state.counters["order_cost_%"] = at(order_cost, 0.5);
    }
}

double small_drain_rate = 0;

/// A backlog is there before anything starts; only its handling is measured.
void PostgresDrain(benchmark::State& state, std::uint64_t count, bool laned) {
    for (auto _ : state) {
        const Schema schema;
        const SharedBoard board;
        Finished finished{*board};
        Waybill app{{.store = schema.open()}};
        app.box("bench", box_options(laned)).on("*", "nothing", [](const Message&) {});
        app.observe(finished);
        for (std::uint64_t i = 0; i < count; i += 1'000) app.append(messages(i, 1'000, laned));
        const SteadyTime start = now();
        app.start();
        board->wait_finished(count);
        state.SetIterationTime(seconds_since(start));
        const double rate = static_cast<double>(count) / seconds_since(start);
        if (count <= 10'000) small_drain_rate = std::max(small_drain_rate, rate);
        if (small_drain_rate > 0) state.counters["of_small_%"] = 100.0 * rate / small_drain_rate;
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}

/// The same load with and without a lane in front of it that stands still.
void PostgresBlockedLane(benchmark::State& state, const Load& load, std::uint64_t blocked) {
    double free_seconds = 0;
    double beside_seconds = 0;
    for (auto _ : state) {
        free_seconds += end_to_end(load).seconds;
        const Schema schema;
        const SharedBoard board;
        Finished finished{*board};
        Waybill app{{.store = schema.open()}};
        app.box("bench", box_options(true))
            .on("*", "nothing", [](const Message& message) -> Outcome {
                if (message.lane == "blocked") return Defer{std::chrono::hours{1}};
                return Done{};
            });
        app.observe(finished);
        for (std::uint64_t i = 0; i < blocked; i += 1'000) {
            std::vector<Message> some = messages(i, 1'000, true);
            for (Message& one : some) one.lane = "blocked";
            app.append(std::move(some));
        }
        app.start();
        app.wait_idle();
        const SteadyTime start = now();
        produce(load, load.count, [&](std::uint64_t first) {
            append_some(app, load, first);
            const std::uint64_t sum = board->appended += load.per_call;
            if (sum > kBacklog) board->wait_finished(sum - kBacklog);
        });
        board->wait_finished(load.count);
        beside_seconds += seconds_since(start);
        state.SetIterationTime(seconds_since(start));
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(load.count));
    state.counters["cost_%"] = 100.0 * (1.0 - free_seconds / beside_seconds);
}

constexpr int kSamples = 500;

/// Handles messages whose body begins with the moment they were sent at, which all processes share.
void measure_latency(Waybill& app, Board& board) {
    app.box("bench", box_options(false)).on("*", "nothing", [&board](const Message& message) {
        std::chrono::steady_clock::rep sent = 0;
        std::memcpy(&sent, message.body.data(), sizeof sent);
        const std::chrono::steady_clock::duration took =
            now().time_since_epoch() - std::chrono::steady_clock::duration{sent};
        board.sample[board.samples] = std::chrono::duration<double>(took).count() * 1e6;
        ++board.samples;
    });
    app.start();
    app.wait_idle();
    ++board.ready;
    while (!board.stop) Board::nap();
}

/// From the call of append to the start of the handler, one message at a time with pauses, beside one
/// durable commit of the same rows.
void PostgresLatency(benchmark::State& state, bool in_another_process) {
    std::vector<double> raw;
    std::vector<double> ours;
    for (auto _ : state) {
        const Schema schema;
        const SharedBoard board;
        std::vector<Process> other;
        if (in_another_process) {
            other.emplace_back([&] {
                Waybill app{{.store = schema.open()}};
                measure_latency(app, *board);
            });
        }
        RawPostgres limit{conninfo(), schema.name()};
        Waybill app{{.store = schema.open()}};
        std::jthread here;
        if (in_another_process) {
            app.box("bench", box_options(false));
        } else {
            here = std::jthread{[&] { measure_latency(app, *board); }};
        }
        while (board->ready == 0) Board::nap();
        for (std::uint32_t i = 0; i < kSamples; ++i) {
            const std::vector<Message> one = raw_messages(i, 1, false);
            SteadyTime start = now();
            limit.finish(limit.insert(one));
            raw.push_back(seconds_since(start) * 1e6 / 2);

            Message sent = message(0, false);
            const auto moment = now().time_since_epoch().count();
            std::memcpy(sent.body.data(), &moment, sizeof moment);
            app.append(std::move(sent));
            while (board->samples <= i) Board::nap();
            ours.push_back(board->sample[i]);
            // As somebody who has nothing else to do: the store has gone quiet again.
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
        board->stop = true;
        state.SetIterationTime(at(ours, 0.5) * 1e-6);
    }
    state.counters["p50_us"] = at(ours, 0.5);
    state.counters["p99_us"] = at(ours, 0.99);
    state.counters["commit_p50_us"] = at(raw, 0.5);
    state.counters["commit_p99_us"] = at(raw, 0.99);
}

void in_turns(benchmark::internal::Benchmark* bench) {
    bench->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(3);
}
/// A difference of two needs more of them than a ratio does.
void in_many_turns(benchmark::internal::Benchmark* bench) {
    bench->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(7);
}
void once(benchmark::internal::Benchmark* bench) {
    bench->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);
}

BENCHMARK_CAPTURE(PostgresAppend, one_thread, Load{4'000, 1, 1})->Apply(in_turns);
BENCHMARK_CAPTURE(PostgresAppend, threads_64, Load{64'000, 64, 1})->Apply(in_turns);
BENCHMARK_CAPTURE(PostgresAppend, calls_of_100, Load{64'000, 1, 100})->Apply(in_turns);
BENCHMARK_CAPTURE(PostgresEndToEnd, unordered_64_threads, Load{64'000, 64, 1})->Apply(in_turns);
BENCHMARK_CAPTURE(PostgresEndToEnd, unordered_calls_of_100, Load{60'000, 2, 100})->Apply(in_turns);
BENCHMARK_CAPTURE(PostgresEndToEnd, strict_1000_lanes_calls_of_100, Load{180'000, 2, 100, true})
    ->Apply(in_many_turns);
BENCHMARK_CAPTURE(PostgresEndToEnd, unordered_3_instances, Load{180'000, 2, 100, false, 3})
    ->Apply(in_turns);
BENCHMARK_CAPTURE(PostgresEndToEnd, strict_3_instances, Load{180'000, 2, 100, true, 3})
    ->Apply(in_many_turns);
BENCHMARK_CAPTURE(PostgresDrain, ten_thousand, 10'000, false)->Apply(in_turns);
BENCHMARK_CAPTURE(PostgresDrain, one_million, 1'000'000, false)->Apply(once);
// Lanes of 1,000 messages: memory keeps 64 of each, the rest is read on.
BENCHMARK_CAPTURE(PostgresDrain, one_million_in_1000_strict_lanes, 1'000'000, true)->Apply(once);
BENCHMARK_CAPTURE(PostgresBlockedLane, hundred_thousand, Load{60'000, 2, 100, true}, 100'000)
    ->Apply(once);
BENCHMARK_CAPTURE(PostgresLatency, same_process, false)->Apply(once);
BENCHMARK_CAPTURE(PostgresLatency, another_process, true)->Apply(once);

}  // namespace
}  // namespace waybill::bench
