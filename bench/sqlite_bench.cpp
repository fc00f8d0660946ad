#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/runtime/system_random.hpp"
#include "raw_sqlite.hpp"
#include "waybill/sqlite.hpp"
#include "waybill/system.hpp"
#include "waybill/waybill.hpp"

/// What the SQLite store costs beside sqlite3 itself. Every line runs both in turns, in the same tables,
/// with the same rows and batch sizes and the same durability, and prints what part of the raw rate it
/// reached. Rows are about 500 bytes.
namespace waybill::bench {
namespace {

constexpr std::size_t kBodyBytes = 400;
constexpr std::size_t kLanes = 1'000;
/// Producers wait when so many are open: a steady flow, not a race to fill the file.
constexpr std::uint64_t kBacklog = 10'000;

using SteadyTime = std::chrono::steady_clock::time_point;

SteadyTime now() {
    return std::chrono::steady_clock::now();
}
double seconds_since(SteadyTime start) {
    return std::chrono::duration<double>(now() - start).count();
}

/// A folder on the disk that is measured, gone at the end.
class Folder {
public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "waybill-bench-XXXXXX");
        if (::mkdtemp(name.data()) == nullptr) std::abort();
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

Message message(std::uint64_t number, bool laned) {
    Message made{.box = "bench", .type = "order.placed", .body = std::string(kBodyBytes, 'x')};
    if (laned) made.lane = "customer " + std::to_string(number % kLanes);
    return made;
}

std::vector<Message> messages(std::uint64_t first, std::size_t count, bool laned) {
    std::vector<Message> made;
    made.reserve(count);
    for (std::size_t i = 0; i < count; ++i) made.push_back(message(first + i, laned));
    return made;
}

/// Raw rows need their ids from us.
std::vector<Message> raw_messages(std::uint64_t first, std::size_t count, bool laned) {
    std::vector<Message> made = messages(first, count, laned);
    for (Message& one : made) one.id = uuid7(system_clock().wall(), thread_random());
    return made;
}

/// Counts finished messages, and lets others wait for a number of them.
class Finished final : public Observer {
public:
    void on_event(const Event& event) noexcept override {
        if (event.kind != Event::Kind::finished) return;
        if ((count_.fetch_add(1, std::memory_order_relaxed) + 1) % kStep != 0) return;
        const std::lock_guard lock{mutex_};
        changed_.notify_all();
    }
    /// `count` is rounded up to the next hundred.
    void wait_for(std::uint64_t count) {
        const std::uint64_t wanted = (count + kStep - 1) / kStep * kStep;
        if (count_.load(std::memory_order_relaxed) >= wanted) return;
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return count_.load(std::memory_order_relaxed) >= wanted; });
    }

private:
    static constexpr std::uint64_t kStep = 100;
    std::atomic<std::uint64_t> count_{0};
    std::mutex mutex_;  ///< so that no waiter misses its number
    std::condition_variable changed_;
};

struct Load {
    std::uint64_t count = 0;
    int threads = 1;
    /// Messages per call, and per commit of the raw side unless many threads share one.
    std::size_t per_call = 1;
    bool laned = false;
};

BoxOptions box_options(bool laned) {
    return {.lanes = laned ? Lanes::strict : Lanes::none, .concurrency = 1'024};
}

/// Calls `append(first, count)` from all threads, until the load is through.
template <class Append>
void produce(const Load& load, Append append) {
    const std::uint64_t share = load.count / static_cast<std::uint64_t>(load.threads);
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < load.threads; ++thread) {
        threads.emplace_back([&, first = share * static_cast<std::uint64_t>(thread)] {
            for (std::uint64_t i = 0; i < share; i += load.per_call) append(first + i);
        });
    }
}

void append_some(Waybill& app, const Load& load, std::uint64_t first) {
    if (load.per_call == 1) {
        app.append(message(first, load.laned));
    } else {
        app.append(messages(first, load.per_call, load.laned));
    }
}

/// Both rates, and what they cost the processor.
class Ratio {
public:
    template <class Raw, class Ours>
    void measure(Raw raw, Ours ours) {
        const std::clock_t begin = std::clock();
        raw_ += raw();
        const std::clock_t middle = std::clock();
        last_ = ours();
        ours_ += last_;
        raw_cpu_ += static_cast<double>(middle - begin) / CLOCKS_PER_SEC;
        cpu_ += static_cast<double>(std::clock() - middle) / CLOCKS_PER_SEC;
        ++rounds_;
    }
    double last() const { return last_; }
    double ours() const { return ours_; }
    void report(benchmark::State& state, std::uint64_t count) const {
        const double all = static_cast<double>(count) * rounds_;
        state.SetItemsProcessed(static_cast<std::int64_t>(all));
        state.counters["raw_per_s"] = all / raw_;
        state.counters["of_raw_%"] = 100.0 * raw_ / ours_;
        // Of all threads: steadier than the clock on the wall when the machine is not ours alone.
        state.counters["cpu_us"] = cpu_ / all * 1e6;
        state.counters["raw_cpu_us"] = raw_cpu_ / all * 1e6;
    }

private:
    double raw_ = 0;
    double ours_ = 0;
    double last_ = 0;
    double cpu_ = 0;
    double raw_cpu_ = 0;
    double rounds_ = 0;
};

/// The raw side of an append: as many rows per commit as callers can share.
double raw_append_seconds(const Load& load) {
    const Folder folder;
    RawSqlite raw{folder.file("raw.db")};
    const std::size_t per_commit = load.per_call * static_cast<std::size_t>(load.threads);
    const SteadyTime start = now();
    for (std::uint64_t i = 0; i < load.count; i += per_commit) {
        raw.insert(raw_messages(i, per_commit, load.laned));
    }
    return seconds_since(start);
}

double append_seconds(const Load& load) {
    const Folder folder;
    Waybill app{{.store = sqlite::open(folder.file("ours.db"))}};
    app.box("bench", box_options(load.laned));
    app.append(message(0, load.laned));
    const SteadyTime start = now();
    produce(load, [&](std::uint64_t first) { append_some(app, load, first); });
    return seconds_since(start);
}

void Append(benchmark::State& state, const Load& load) {
    Ratio ratio;
    for (auto _ : state) {
        ratio.measure([&] { return raw_append_seconds(load); },
                      [&] { return append_seconds(load); });
        state.SetIterationTime(ratio.last());
    }
    ratio.report(state, load.count);
}

/// The raw side of end-to-end: the same rows come and go, in commits as large as ours can be.
double raw_end_to_end_seconds(const Load& load) {
    const Folder folder;
    RawSqlite raw{folder.file("raw.db")};
    const std::size_t per_commit = load.per_call * static_cast<std::size_t>(load.threads);
    const SteadyTime start = now();
    for (std::uint64_t i = 0; i < load.count; i += per_commit) {
        raw.insert(raw_messages(i, per_commit, load.laned));
        raw.finish(per_commit);
    }
    return seconds_since(start);
}

/// Append → handler → settled, through the front door.
double end_to_end_seconds(const Load& load) {
    const Folder folder;
    Finished finished;
    Waybill app{{.store = sqlite::open(folder.file("ours.db"))}};
    app.box("bench", box_options(load.laned)).on("*", "nothing", [](const Message&) {});
    app.observe(finished);
    app.start();
    app.wait_idle();
    std::atomic<std::uint64_t> appended{0};
    const SteadyTime start = now();
    produce(load, [&](std::uint64_t first) {
        append_some(app, load, first);
        const std::uint64_t sum = appended += load.per_call;
        if (sum > kBacklog) finished.wait_for(sum - kBacklog);
    });
    finished.wait_for(load.count);
    return seconds_since(start);
}

void EndToEnd(benchmark::State& state, const Load& load) {
    Ratio ratio;
    double unordered = 0;
    for (auto _ : state) {
        // In turns, so that what else the machine does hits both.
        if (load.laned) {
            Load same = load;
            same.laned = false;
            unordered += end_to_end_seconds(same);
        }
        ratio.measure([&] { return raw_end_to_end_seconds(load); },
                      [&] { return end_to_end_seconds(load); });
        state.SetIterationTime(ratio.last());
    }
    ratio.report(state, load.count);
    if (load.laned) state.counters["lanes_cost_%"] = 100.0 * (1.0 - unordered / ratio.ours());
}

double resident_megabytes() {
    std::ifstream status{"/proc/self/status"};
    std::string word;
    while (status >> word) {
        double kilobytes = 0;
        if (word == "VmRSS:" && status >> kilobytes) return kilobytes / 1024.0;
    }
    return 0;
}

void fill(Waybill& app, std::uint64_t count, bool laned) {
    for (std::uint64_t i = 0; i < count; i += 1'000) app.append(messages(i, 1'000, laned));
}

double small_drain_rate = 0;

/// A backlog is there before anything starts; only its handling is measured.
void Drain(benchmark::State& state, std::uint64_t count) {
    for (auto _ : state) {
        const Folder folder;
        Finished finished;
        Waybill app{{.store = sqlite::open(folder.file("ours.db"))}};
        app.box("bench", box_options(false)).on("*", "nothing", [](const Message&) {});
        app.observe(finished);
        fill(app, count, false);
        const SteadyTime start = now();
        app.start();
        finished.wait_for(count);
        state.SetIterationTime(seconds_since(start));
        state.counters["resident_mb"] = resident_megabytes();
        const double rate = static_cast<double>(count) / seconds_since(start);
        if (count <= 10'000) small_drain_rate = std::max(small_drain_rate, rate);
        if (small_drain_rate > 0) state.counters["of_small_%"] = 100.0 * rate / small_drain_rate;
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}

/// The same load with and without a lane in front of it that stands still.
void BlockedLane(benchmark::State& state, const Load& load, std::uint64_t blocked) {
    double free_seconds = 0;
    double beside_seconds = 0;
    for (auto _ : state) {
        free_seconds += end_to_end_seconds(load);
        const Folder folder;
        Finished finished;
        Waybill app{{.store = sqlite::open(folder.file("ours.db"))}};
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
        std::atomic<std::uint64_t> appended{0};
        const SteadyTime start = now();
        produce(load, [&](std::uint64_t first) {
            append_some(app, load, first);
            const std::uint64_t sum = appended += load.per_call;
            if (sum > kBacklog) finished.wait_for(sum - kBacklog);
        });
        finished.wait_for(load.count);
        beside_seconds += seconds_since(start);
        state.SetIterationTime(seconds_since(start));
        state.counters["resident_mb"] = resident_megabytes();
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(load.count));
    state.counters["cost_%"] = 100.0 * (1.0 - free_seconds / beside_seconds);
}

double at(std::vector<double>& samples, double part) {
    std::ranges::sort(samples);
    return samples[static_cast<std::size_t>(part * static_cast<double>(samples.size() - 1))];
}

/// From the call of append to the start of the handler, one message at a time, beside one durable
/// commit of the same rows.
void IdleLatency(benchmark::State& state) {
    constexpr int kSamples = 500;
    std::vector<double> raw;
    std::vector<double> ours;
    for (auto _ : state) {
        const Folder folder;
        RawSqlite file{folder.file("raw.db")};
        Waybill app{{.store = sqlite::open(folder.file("ours.db"))}};
        std::mutex mutex;
        std::condition_variable changed;
        SteadyTime handled{};
        int count = 0;
        app.box("bench", box_options(false)).on("*", "nothing", [&](const Message&) {
            const std::lock_guard lock{mutex};
            handled = now();
            ++count;
            changed.notify_one();
        });
        app.start();
        app.wait_idle();
        for (int i = 0; i < kSamples; ++i) {
            const std::vector<Message> one = raw_messages(static_cast<std::uint64_t>(i), 1, false);
            SteadyTime start = now();
            file.insert(one);
            raw.push_back(seconds_since(start) * 1e6);

            Message sent = message(0, false);
            start = now();
            app.append(std::move(sent));
            std::unique_lock lock{mutex};
            changed.wait(lock, [&] { return count == i + 1; });
            ours.push_back(std::chrono::duration<double>(handled - start).count() * 1e6);
            lock.unlock();
            app.wait_idle();
        }
        state.SetIterationTime(at(ours, 0.5) * 1e-6);
    }
    state.counters["p50_us"] = at(ours, 0.5);
    state.counters["p99_us"] = at(ours, 0.99);
    state.counters["commit_p50_us"] = at(raw, 0.5);
    state.counters["commit_p99_us"] = at(raw, 0.99);
    state.counters["p50_of_commit"] = at(ours, 0.5) / at(raw, 0.5);
}

void in_turns(benchmark::internal::Benchmark* bench) {
    bench->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(3);
}
void once(benchmark::internal::Benchmark* bench) {
    bench->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);
}

BENCHMARK_CAPTURE(Append, one_thread, Load{5'000, 1, 1})->Apply(in_turns);
BENCHMARK_CAPTURE(Append, threads_64, Load{128'000, 64, 1})->Apply(in_turns);
BENCHMARK_CAPTURE(Append, calls_of_100, Load{100'000, 1, 100})->Apply(in_turns);
BENCHMARK_CAPTURE(EndToEnd, unordered_64_threads, Load{64'000, 64, 1})->Apply(in_turns);
BENCHMARK_CAPTURE(EndToEnd, strict_1000_lanes_64_threads, Load{64'000, 64, 1, true})
    ->Apply(in_turns);
BENCHMARK_CAPTURE(EndToEnd, unordered_calls_of_100, Load{100'000, 2, 100})->Apply(in_turns);
BENCHMARK_CAPTURE(EndToEnd, strict_1000_lanes_calls_of_100, Load{100'000, 2, 100, true})
    ->Apply(in_turns);
BENCHMARK_CAPTURE(Drain, ten_thousand, 10'000)->Apply(in_turns);
BENCHMARK_CAPTURE(Drain, one_million, 1'000'000)->Apply(once);
BENCHMARK_CAPTURE(BlockedLane, hundred_thousand, Load{100'000, 2, 100, true}, 100'000)
    ->Apply(in_turns);
BENCHMARK(IdleLatency)->Apply(once);

}  // namespace
}  // namespace waybill::bench
