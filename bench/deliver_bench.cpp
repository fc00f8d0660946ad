#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "http_sink.hpp"
#include "waybill/deliver.hpp"
#include "waybill/sqlite.hpp"
#include "waybill/waybill.hpp"

#ifdef WAYBILL_WITH_POSTGRES
#include "waybill/postgres.hpp"
#endif

/// Published messages of 1 KiB as signed requests to a local receiver that keeps its connections: beside them stands
/// what libcurl alone can do (http_out_bench, bare_libcurl) in the same table.
namespace waybill::bench {
namespace {

constexpr int kMessages = 20'000;
const std::string kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

class Finished final : public Observer {
public:
    void on_event(const Event& event) noexcept override {
        if (event.kind != Event::Kind::finished) return;
        const std::lock_guard lock{mutex_};
        if (++count_ == wanted_) all_.notify_all();
    }
    /// So many more, to be said before they are published; then wait().
    void expect(int more) {
        const std::lock_guard lock{mutex_};
        wanted_ = count_ + more;
    }
    void wait() {
        std::unique_lock lock{mutex_};
        all_.wait(lock, [this] { return count_ >= wanted_; });
    }

private:
    std::mutex mutex_{};  ///< guards the two below
    std::int64_t count_ = 0;
    std::int64_t wanted_ = 0;
    std::condition_variable all_{};
};

Subscription to(const std::string& url, const std::string& type, std::uint32_t in_flight) {
    Subscription subscription;
    subscription.url = url;
    subscription.type = type;
    subscription.concurrency = in_flight;
    subscription.secrets = {{.value = kSecret}};
    static std::uint32_t made = 0;
    subscription.id = static_subscription_id(subscription, ++made);
    return subscription;
}

/// An application with an outbox and these subscriptions. Of the first it is known when it answers.
class Sender {
public:
    Sender(StoreHandle store, StoreHandle other, std::vector<Subscription> subscriptions)
        : watched_(subscriptions.front().id), app_({.store = std::move(store)}) {
        rlimit files{};
        ::getrlimit(RLIMIT_NOFILE, &files);
        files.rlim_cur = files.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &files);
        DeliverOptions options;
        options.egress = make_egress({.allow_private = true});
        options.on_delivery = [this](const DeliveryReport& report) {
            if (report.subscription != watched_) return;
            const std::lock_guard lock{mutex_};
            ++answered_;
            changed_.notify_all();
        };
        const std::vector<std::shared_ptr<SubscriptionReader>> readers{
            std::make_shared<FixedSubscriptions>(std::move(subscriptions))};
        app_.outbox("outbox", {.keep_done = Duration{}, .concurrency = 8'192})
            .to_subscriptions(
                std::make_shared<Deliverer>(std::move(other), readers, nullptr, options));
        app_.observe(finished_);
        app_.start();
    }
    void publish(int count, const std::string& type, const std::string& tenant = {}) {
        std::vector<Message> batch;
        for (int i = 0; i < count; ++i) {
            batch.push_back({.box = "outbox",
                             .type = type,
                             .body = std::string(1'024, 'x'),
                             .content_type = "application/json",
                             .tenant = tenant});
            if (batch.size() == 100) app_.append(std::exchange(batch, {}));
        }
        if (!batch.empty()) app_.append(std::move(batch));
    }
    void publish_and_wait(int count) {
        finished_.expect(count);
        publish(count, "t");
        finished_.wait();
    }

    /// How long it takes from the call that publishes to the receiver's answer, in microseconds.
    double publish_and_be_answered(const std::string& tenant = {}) {
        const auto begin = std::chrono::steady_clock::now();
        std::unique_lock lock{mutex_};
        const std::uint64_t wanted = answered_ + 1;
        lock.unlock();
        publish(1, "t", tenant);
        lock.lock();
        changed_.wait(lock, [&] { return answered_ >= wanted; });
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - begin;
        return took.count();
    }

private:
    const Uuid watched_;
    std::mutex mutex_{};  ///< guards the one below
    std::uint64_t answered_ = 0;
    std::condition_variable changed_{};
    Finished finished_{};
    Waybill app_;
};

struct File {
    File() {
        std::string name = std::filesystem::temp_directory_path() / "waybill-bench-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) std::abort();
        folder = name;
    }
    ~File() { std::filesystem::remove_all(folder); }
    std::string folder{};
};

void deliver_sqlite(benchmark::State& state) {
    const File file;
    const HttpSink sink;
    auto store = sqlite::open(file.folder + "/w.db");
    auto other = store->connect();
    Sender sender{std::move(store),
                  std::move(other),
                  {to(sink.url(), "*", static_cast<std::uint32_t>(state.range(0)))}};
    sender.publish_and_wait(1'000);
    for (auto _ : state) sender.publish_and_wait(kMessages);
    state.SetItemsProcessed(state.iterations() * kMessages);
}
BENCHMARK(deliver_sqlite)->Arg(64)->Arg(1'000)->Unit(benchmark::kMillisecond)->UseRealTime();

#ifdef WAYBILL_WITH_POSTGRES
void deliver_postgres(benchmark::State& state) {
    const char* const conninfo = std::getenv("WAYBILL_POSTGRES");
    if (conninfo == nullptr) return state.SkipWithError("script/bench starts its PostgreSQL");
    const HttpSink sink;
    // A store of its own: a subscription that is gone stays registered, and its messages would wait.
    static int stores = 0;
    const postgres::Options own{.schema = "deliver_" + std::to_string(++stores)};
    Sender sender{postgres::open(conninfo, own),
                  postgres::open(conninfo, own),
                  {to(sink.url(), "*", static_cast<std::uint32_t>(state.range(0)))}};
    sender.publish_and_wait(1'000);
    for (auto _ : state) sender.publish_and_wait(kMessages);
    state.SetItemsProcessed(state.iterations() * kMessages);
}
BENCHMARK(deliver_postgres)->Arg(64)->Arg(1'000)->Unit(benchmark::kMillisecond)->UseRealTime();
#endif

/// 50 healthy endpoints, and so many that never answer; each gets its share of the messages.
void deliver_beside_hanging(benchmark::State& state) {
    const File file;
    const HttpSink sink;
    const HttpSink silent{false};
    auto store = sqlite::open(file.folder + "/w.db");
    auto other = store->connect();
    std::vector<Subscription> all;
    for (int i = 0; i < 50; ++i) all.push_back(to(sink.url(), "t", 8));
    for (int i = 0; i < state.range(0); ++i) all.push_back(to(silent.url(), "hang", 8));
    Sender sender{std::move(store), std::move(other), std::move(all)};
    if (state.range(0) > 0) sender.publish(200, "hang");
    sender.publish_and_wait(100);
    constexpr int kEach = 400;
    for (auto _ : state) sender.publish_and_wait(kEach);
    state.SetItemsProcessed(state.iterations() * kEach * 50);
}
BENCHMARK(deliver_beside_hanging)->Arg(0)->Arg(500)->Unit(benchmark::kMillisecond)->UseRealTime();

void report(benchmark::State& state, std::vector<double>& microseconds) {
    std::ranges::sort(microseconds);
    state.counters["p50_us"] = microseconds[microseconds.size() / 2];
    state.counters["p99_us"] = microseconds[microseconds.size() * 99 / 100];
}

/// From the call that publishes to the receiver's answer, one at a time.
void deliver_latency(benchmark::State& state) {
    const File file;
    const HttpSink sink;
    auto store = sqlite::open(file.folder + "/w.db");
    auto other = store->connect();
    Sender sender{std::move(store), std::move(other), {to(sink.url(), "*", 8)}};
    sender.publish_and_wait(10);
    std::vector<double> took;
    for (auto _ : state) {
        took.push_back(sender.publish_and_be_answered());
    }
    report(state, took);
}
BENCHMARK(deliver_latency)->Unit(benchmark::kMicrosecond)->UseRealTime();

/// A tenant publishes 50 messages a second, and another so many times more: what the first waits for its own.
void deliver_beside_a_busy_tenant(benchmark::State& state) {
    using std::chrono_literals::operator""ms;
    const File file;
    const HttpSink sink;
    const HttpSink busy_sink;
    auto store = sqlite::open(file.folder + "/w.db");
    auto other = store->connect();
    Subscription quiet = to(sink.url(), "*", 8);
    quiet.tenant = "quiet";
    Subscription busy = to(busy_sink.url(), "*", 8);
    busy.tenant = "busy";
    Sender sender{std::move(store), std::move(other), {quiet, busy}};
    for (int i = 0; i < 10; ++i) sender.publish_and_be_answered("quiet");
    const int at_once = static_cast<int>(state.range(0)) / 20;
    std::jthread publisher{[&](const std::stop_token& stop) {
        auto next = std::chrono::steady_clock::now();
        while (at_once > 0 && !stop.stop_requested()) {
            sender.publish(at_once, "t", "busy");
            std::this_thread::sleep_until(next += 1ms);
        }
    }};
    std::vector<double> took;
    auto next = std::chrono::steady_clock::now();
    for (auto _ : state) {
        took.push_back(sender.publish_and_be_answered("quiet"));
        std::this_thread::sleep_until(next += 20ms);
    }
    publisher = {};
    report(state, took);
}
BENCHMARK(deliver_beside_a_busy_tenant)
    ->Arg(0)
    ->Arg(100)
    ->Iterations(500)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

}  // namespace
}  // namespace waybill::bench
