#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/engine/engine.hpp"
#include "core/runtime/system_random.hpp"
#include "waybill/memory.hpp"
#include "waybill/system.hpp"
#include "waybill/waybill.hpp"

/// What the engine and its runtime cost on a store that costs almost nothing: messages per second
/// from append to settled, beside the same rows through the bare store, and the engine's decisions
/// without any thread.
namespace waybill {
namespace {

constexpr std::uint64_t kMessages = 200'000;
/// Producers wait when so many are open: a steady flow, not a race to fill the memory.
constexpr std::uint64_t kBacklog = 4'000;
constexpr std::size_t kRows = 1'000;
constexpr std::size_t kLanes = 1'000;
constexpr std::size_t kBodyBytes = 100;

/// Nothing is kept, so that the store stays as small at the end as at the beginning.
BoxOptions box_options(Lanes lanes) {
    return {.lanes = lanes,
            .keep_done = Duration{},
            .attempts_log = AttemptsLog::none,
            .concurrency = 2'048};
}

/// Every message has a lane: only the box's option says whether its order is kept, and only that is compared.
Message message(std::uint64_t number) {
    return {.box = "bench",
            .type = "order.placed",
            .body = std::string(kBodyBytes, 'x'),
            .lane = "customer " + std::to_string(number % kLanes)};
}

std::vector<Message> messages(std::uint64_t first, std::size_t count) {
    std::vector<Message> made;
    made.reserve(count);
    for (std::size_t i = 0; i < count; ++i) made.push_back(message(first + i));
    return made;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Of this thread alone: what others do on the machine does not count.
double thread_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Counts finished messages, and lets others wait for a number of them.
class Finished final : public Observer {
public:
    void on_event(const Event& event) noexcept override {
        if (event.kind != Event::Kind::finished) return;
        const std::uint64_t now = count_.fetch_add(1, std::memory_order_relaxed) + 1;
        if (now % kStep == 0) {
            const std::lock_guard lock{mutex_};
            changed_.notify_all();
        }
    }
    /// `count` is rounded up to the next thousand.
    void wait_for(std::uint64_t count) {
        const std::uint64_t wanted = (count + kStep - 1) / kStep * kStep;
        if (count_.load(std::memory_order_relaxed) >= wanted) return;
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return count_.load(std::memory_order_relaxed) >= wanted; });
    }

private:
    static constexpr std::uint64_t kStep = 1'000;
    std::atomic<std::uint64_t> count_{0};
    std::mutex mutex_;  ///< so that no waiter misses its number
    std::condition_variable changed_;
};

/// The limit: append, read and settle in batches of 1,000 on one thread, with no engine between.
double raw_seconds(std::uint64_t count) {
    const auto store = memory::open();
    SystemRandom random;
    store->declare(std::vector<BoxDeclaration>{{"bench", box_options(Lanes::none)}}, {});
    InstanceState self{.incarnation = random_uuid(random), .boxes = {"bench"}};
    const BeatReply reply = store->beat(self);
    const PartitionId partition = reply.partitions.front().id;
    const auto taken = store->take(
        self.incarnation, std::vector<TakeRequest>{{partition, reply.partitions.front().token}});
    ReadRequest request{.partitions = {partition}};
    request.position = store->read(request).position;

    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t done = 0; done < count; done += kRows) {
        std::vector<Append> batch;
        batch.reserve(kRows);
        for (Message& made : messages(done, kRows)) {
            made.id = uuid7(system_clock().wall(), random);
            batch.push_back({.message = std::make_shared<const Message>(std::move(made))});
        }
        store->append(batch);
        ReadPage page = store->read(request);
        request.position = page.position;
        SettleBatch settle{.registry_version = reply.registry_version,
                           .fences = {{partition, taken.front().token}}};
        for (const Entry& entry : page.entries) {
            settle.items.push_back({.partition = partition,
                                    .sequence = entry.sequence,
                                    .message = entry.message->id,
                                    .finish = true,
                                    .drop_message = true});
        }
        store->settle(settle);
    }
    return seconds_since(start);
}

double raw_rate() {
    static const double rate = static_cast<double>(kMessages) / raw_seconds(kMessages);
    return rate;
}

void RawStore(benchmark::State& state) {
    for (auto _ : state) state.SetIterationTime(raw_seconds(kMessages));
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kMessages));
}

struct Load {
    Lanes lanes = Lanes::none;
    int threads = 1;
    /// Messages per append call.
    std::size_t per_call = 1;
    /// Everything is appended before the start, and only the handling is measured.
    bool drain = false;
};

void append_all(Waybill& app, const Load& load, Finished& finished) {
    const std::uint64_t share = kMessages / static_cast<std::uint64_t>(load.threads);
    std::atomic<std::uint64_t> appended{0};
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < load.threads; ++thread) {
        threads.emplace_back([&, first = share * static_cast<std::uint64_t>(thread)] {
            for (std::uint64_t i = 0; i < share; i += load.per_call) {
                if (load.per_call == 1) {
                    app.append(message(first + i));
                } else {
                    app.append(messages(first + i, load.per_call));
                }
                const std::uint64_t sum = appended += load.per_call;
                if (!load.drain && sum > kBacklog) finished.wait_for(sum - kBacklog);
            }
        });
    }
}

/// Append → handler → settled, through the front door.
double end_to_end_seconds(const Load& load) {
    Waybill app{{.store = memory::open()}};
    Finished finished;
    app.box("bench", box_options(load.lanes)).on("*", "nothing", [](const Message&) {});
    app.observe(finished);
    if (load.drain) {
        append_all(app, load, finished);
        const auto start = std::chrono::steady_clock::now();
        app.start();
        finished.wait_for(kMessages);
        return seconds_since(start);
    }
    app.start();
    app.wait_idle();
    const auto start = std::chrono::steady_clock::now();
    append_all(app, load, finished);
    finished.wait_for(kMessages);
    return seconds_since(start);
}

double median(std::vector<double> values) {
    std::ranges::nth_element(values,
                             values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
}

void EndToEnd(benchmark::State& state, const Load& load) {
    std::vector<double> seconds;
    std::vector<double> costs;
    double cpu = 0;
    for (auto _ : state) {
        // In turns, so that what else the machine does hits both.
        double unordered = 0;
        if (load.lanes != Lanes::none) {
            Load same = load;
            same.lanes = Lanes::none;
            unordered = end_to_end_seconds(same);
        }
        const std::clock_t before = std::clock();
        seconds.push_back(end_to_end_seconds(load));
        cpu += static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
        state.SetIterationTime(seconds.back());
        costs.push_back(100.0 * (1.0 - unordered / seconds.back()));
    }
    const auto all = state.iterations() * static_cast<std::int64_t>(kMessages);
    state.SetItemsProcessed(all);
    // Of all threads: steadier than the clock on the wall when the machine is not ours alone.
    state.counters["cpu_ns_per_message"] = cpu * 1e9 / static_cast<double>(all);
    state.counters["of_raw_%"] =
        100.0 * static_cast<double>(kMessages) / median(seconds) / raw_rate();
    if (load.lanes != Lanes::none) state.counters["lanes_cost_%"] = median(costs);
}

/// The engine alone: a shell without threads that carries each command out at once.
class Stepper {
public:
    Stepper(Store& store, const engine::Config& config, Observer& observer)
        : store_(store), engine_(config, random_, observer) {}

    /// Until `runs` deliveries have been decided and settled.
    void step_until(std::uint64_t runs) {
        if (!started_) engine_.start(system_clock().now());
        started_ = true;
        engine_.on_wake(system_clock().now());
        while (runs_ < runs || !engine_.is_idle()) {
            engine::Commands commands = engine_.take_commands();
            const LocalTime now = system_clock().now();
            if (commands.empty()) engine_.on_tick(now);
            if (commands.beat) engine_.on_beat(now, store_.beat(*commands.beat));
            if (commands.channel) engine_.on_channel(now, call(*commands.channel));
            for (const engine::Run& run : commands.runs) {
                runs_ += run.items.size();
                engine_.on_outcome(now, run.id,
                                   engine::RunResults(run.items.size(), engine::RunResult{}));
            }
        }
    }

private:
    engine::ChannelReply call(const engine::ChannelCall& what) {
        if (const auto* declare = std::get_if<engine::DeclareCall>(&what)) {
            store_.declare(declare->boxes, declare->targets);
            return engine::Declared{};
        }
        if (const auto* take = std::get_if<engine::TakeCall>(&what)) {
            return store_.take(take->self, take->wanted);
        }
        if (const auto* read = std::get_if<ReadRequest>(&what)) return store_.read(*read);
        if (const auto* settle = std::get_if<SettleBatch>(&what)) return store_.settle(*settle);
        store_.give(std::get<engine::GiveCall>(what).partitions);
        return engine::Given{};
    }

    Store& store_;
    SystemRandom random_;
    engine::Engine engine_;
    std::uint64_t runs_ = 0;
    bool started_ = false;
};

/// The engine's own time, and the store's under it, for all messages.
double scheduler_seconds(Lanes lanes) {
    SystemRandom random;
    const auto store = memory::open();
    engine::Config config;
    config.boxes.push_back({"bench", box_options(lanes), {{{.box = "bench", .key = "t"}, {}}}});
    Finished finished;
    Stepper stepper{*store, config, finished};
    stepper.step_until(0);
    double seconds = 0;
    for (std::uint64_t done = 0; done < kMessages; done += kBacklog) {
        std::vector<Append> batch;
        for (Message& made : messages(done, kBacklog)) {
            made.id = uuid7(system_clock().wall(), random);
            batch.push_back({.message = std::make_shared<const Message>(std::move(made))});
        }
        store->append(batch);
        const double start = thread_seconds();
        stepper.step_until(done + kBacklog);
        seconds += thread_seconds() - start;
    }
    return seconds;
}

void Scheduler(benchmark::State& state, Lanes lanes) {
    std::vector<double> costs;
    double sum = 0;
    for (auto _ : state) {
        const double unordered = lanes == Lanes::none ? 0 : scheduler_seconds(Lanes::none);
        const double seconds = scheduler_seconds(lanes);
        state.SetIterationTime(seconds);
        sum += seconds;
        costs.push_back(100.0 * (1.0 - unordered / seconds));
    }
    const auto all = state.iterations() * static_cast<std::int64_t>(kMessages);
    state.SetItemsProcessed(all);
    state.counters["ns_per_message"] = sum * 1e9 / static_cast<double>(all);
    if (lanes != Lanes::none) state.counters["lanes_cost_%"] = median(costs);
}

void steady(benchmark::internal::Benchmark* bench) {
    bench->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(7);
}

constexpr auto none = Lanes::none;
constexpr auto strict = Lanes::strict;

BENCHMARK(RawStore)->Apply(steady);
BENCHMARK_CAPTURE(Scheduler, unordered, none)->Apply(steady);
BENCHMARK_CAPTURE(Scheduler, strict_1000_lanes, strict)->Apply(steady);
BENCHMARK_CAPTURE(EndToEnd, unordered_1_thread, Load{none, 1, 1})->Apply(steady);
BENCHMARK_CAPTURE(EndToEnd, strict_lanes_1_thread, Load{strict, 1, 1})->Apply(steady);
BENCHMARK_CAPTURE(EndToEnd, unordered_4_threads, Load{none, 4, 1})->Apply(steady);
BENCHMARK_CAPTURE(EndToEnd, strict_lanes_4_threads, Load{strict, 4, 1})->Apply(steady);
BENCHMARK_CAPTURE(EndToEnd, unordered_calls_of_100, Load{none, 1, 100})->Apply(steady);
BENCHMARK_CAPTURE(EndToEnd, strict_lanes_calls_of_100, Load{strict, 1, 100})->Apply(steady);
BENCHMARK_CAPTURE(EndToEnd, drain_unordered, Load{none, 1, 100, true})->Apply(steady);
BENCHMARK_CAPTURE(EndToEnd, drain_strict_lanes, Load{strict, 1, 100, true})->Apply(steady);

}  // namespace
}  // namespace waybill
