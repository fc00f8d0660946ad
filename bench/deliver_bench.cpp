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

/// An application with an outbox and these subscriptions.
class Sender {
public:
    Sender(StoreHandle store, StoreHandle other, std::vector<Subscription> subscriptions)
        : app_({.store = std::move(store)}) {
        rlimit files{};
        ::getrlimit(RLIMIT_NOFILE, &files);
        files.rlim_cur = files.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &files);
        DeliverOptions options;
        options.egress = make_egress({.allow_private = true});
        options.on_delivery = [this](const DeliveryReport& report) {
            {
                const std::lock_guard lock{mutex_};
                ++by_subscription_[report.subscription];
            }
            ++answered;
            answered.notify_all();
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

    std::uint64_t answered_by(const Uuid& subscription) {
        const std::lock_guard lock{mutex_};
        return by_subscription_[subscription];
    }

    std::atomic<std::uint64_t> answered{0};

private:
    std::mutex mutex_{};  ///< guards the one below
    std::unordered_map<Uuid, std::uint64_t> by_subscription_{};
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
        const auto begin = std::chrono::steady_clock::now();
        const std::uint64_t before = sender.answered;
        sender.publish(1, "t");
        for (std::uint64_t seen = sender.answered; seen == before; seen = sender.answered) {
            sender.answered.wait(seen);
        }
        const std::chrono::duration<double, std::micro> one =
            std::chrono::steady_clock::now() - begin;
        took.push_back(one.count());
    }
    report(state, took);
}
BENCHMARK(deliver_latency)->Unit(benchmark::kMicrosecond)->UseRealTime();

/// One tenant publishes a hundred messages for each of another's: what the other waits for its own, one at a
/// time. 0: nobody else publishes.
void deliver_beside_a_busy_tenant(benchmark::State& state) {
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
    sender.publish(10, "t", "quiet");
    std::vector<double> took;
    for (auto _ : state) {
        const std::uint64_t before = sender.answered_by(quiet.id);
        if (state.range(0) > 0) sender.publish(100, "t", "busy");
        const auto begin = std::chrono::steady_clock::now();
        sender.publish(1, "t", "quiet");
        while (sender.answered_by(quiet.id) == before) std::this_thread::yield();
        const std::chrono::duration<double, std::micro> one =
            std::chrono::steady_clock::now() - begin;
        took.push_back(one.count());
    }
    report(state, took);
}
BENCHMARK(deliver_beside_a_busy_tenant)
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

}  // namespace
}  // namespace waybill::bench
