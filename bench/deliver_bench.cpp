#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <benchmark/benchmark.h>

#include "bare_libcurl.hpp"
#include "http_sink.hpp"
#include "waybill/deliver.hpp"
#include "waybill/sqlite.hpp"
#include "waybill/system.hpp"
#include "waybill/waybill.hpp"
#include "waybill/webhook.hpp"

#ifdef WAYBILL_WITH_POSTGRES
#include "waybill/postgres.hpp"
#endif

/// Published messages of 1 KiB as signed requests to a local receiver that keeps its connections, in turns with libcurl
/// alone, which posts the same requests, signed beforehand, out of no store.
namespace waybill::bench {
namespace {

constexpr int kMessages = 20'000;
/// Messages published in one call, and how many may be open before the next one.
constexpr int kCall = 100;
constexpr int kAheadMax = 2'000;
const std::string kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

class Finished final : public Observer {
public:
    void on_event(const Event& event) noexcept override {
        if (event.kind != Event::Kind::finished) return;
        const std::lock_guard lock{mutex_};
        ++count_;
        if (wanted_.contains(count_)) changed_.notify_all();
    }
    std::int64_t count() {
        const std::lock_guard lock{mutex_};
        return count_;
    }
    void wait_for(std::int64_t count) {
        std::unique_lock lock{mutex_};
        const auto place = wanted_.insert(count);
        changed_.wait(lock, [&] { return count_ >= count; });
        wanted_.erase(place);
    }

private:
    std::mutex mutex_{};  ///< guards the two below
    std::int64_t count_ = 0;
    /// For whom somebody waits.
    std::multiset<std::int64_t> wanted_{};
    std::condition_variable changed_{};
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

/// A store, and another way to it.
struct Stores {
    StoreHandle store{};
    StoreHandle other{};
};

Message message(const std::string& type, const std::string& tenant) {
    return {.box = "outbox",
            .type = type,
            .body = std::string(1'024, 'x'),
            .content_type = "application/json",
            .tenant = tenant};
}

void publish_to(Waybill& app, int count, const std::string& type, const std::string& tenant = {}) {
    std::vector<Message> batch;
    for (int i = 0; i < count; ++i) {
        batch.push_back(message(type, tenant));
        if (std::ssize(batch) == kCall) app.append(std::exchange(batch, {}));
    }
    if (!batch.empty()) app.append(std::move(batch));
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// What libcurl alone needs, measured in turns with ours: for the same requests, and for the same bodies with
/// no more than their type.
class Limit {
public:
    Limit(const Subscription& subscription, int in_flight)
        : requests_(subscription.url, signed_headers(subscription), body(), in_flight),
          bodies_(subscription.url, only_type(), body(), in_flight) {}

    void measure(benchmark::State& state, const std::function<double()>& ours) {
        requests_seconds_ += requests_.seconds(kMessages);
        bodies_seconds_ += bodies_.seconds(kMessages);
        const double took = ours();
        ours_seconds_ += took;
        state.SetIterationTime(took);
    }
    void report(benchmark::State& state) const {
        const double all = static_cast<double>(state.iterations()) * kMessages;
        state.SetItemsProcessed(state.iterations() * kMessages);
        state.counters["raw_per_s"] = all / requests_seconds_;
        state.counters["of_raw_%"] = 100.0 * requests_seconds_ / ours_seconds_;
        state.counters["of_bodies_only_%"] = 100.0 * bodies_seconds_ / ours_seconds_;
    }

private:
    static std::string body() { return message("t", {}).body; }
    static HttpHeaders only_type() {
        HttpHeaders headers;
        headers.add("Content-Type", "application/json");
        return headers;
    }
    static HttpHeaders signed_headers(const Subscription& subscription) {
        Message sent = message("t", {});
        sent.id = subscription.id;
        const std::vector<std::string> secrets{kSecret};
        return *webhook::headers_of({.message = sent,
                                     .subscription = subscription.id,
                                     .attempt = 1,
                                     .now = system_clock().wall(),
                                     .secrets = secrets,
                                     .sets = subscription.signing});
    }

    BareLibcurl requests_;
    BareLibcurl bodies_;
    double requests_seconds_ = 0;
    double bodies_seconds_ = 0;
    double ours_seconds_ = 0;
};

/// An application with an outbox and these subscriptions. Of the first it is known when it answers.
class Sender {
public:
    Sender(Stores stores, std::vector<Subscription> subscriptions)
        : watched_(subscriptions.front().id), app_({.store = std::move(stores.store)}) {
        allow_many_files();
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
        app_.outbox("outbox").to_subscriptions(
            std::make_shared<Deliverer>(std::move(stores.other), readers, nullptr, options));
        app_.observe(finished_);
    }
    void start() { app_.start(); }
    void publish(int count, const std::string& type, const std::string& tenant = {}) {
        publish_to(app_, count, type, tenant);
    }
    /// A steady flow: the publishers are a little ahead of the deliveries, and never far. (One of them, whose every call waits
    /// for a commit, would be what is measured; and if they filled the store first, one thread would send what
    /// is left while the other processor has nothing to do.)
    void publish_and_wait(int count) {
        const std::int64_t before = finished_.count();
        std::atomic<int> published{0};
        const auto publish_some = [&] {
            for (int first; (first = published.fetch_add(kCall)) < count;) {
                finished_.wait_for(before + first + kCall - kAheadMax);
                publish(std::min(kCall, count - first), "t");
            }
        };
        {
            std::jthread another{publish_some};
            publish_some();
        }
        finished_.wait_for(before + count);
    }

    /// So many wait for it already.
    void start_and_wait(int count) {
        const std::int64_t before = finished_.count();
        start();
        finished_.wait_for(before + count);
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
        return seconds_since(begin) * 1e6;
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

Stores sqlite_stores(const File& file) {
    auto store = sqlite::open(file.folder + "/w.db");
    auto other = store->connect();
    return {std::move(store), std::move(other)};
}

/// Published and delivered in the same time.
void deliver(benchmark::State& state, Stores stores) {
    const HttpSink sink;
    const Subscription to_sink = to(sink.url(), "*", static_cast<std::uint32_t>(state.range(0)));
    Sender sender{std::move(stores), {to_sink}};
    Limit limit{to_sink, static_cast<int>(state.range(0))};
    sender.start();
    sender.publish_and_wait(1'000);
    for (auto _ : state) {
        limit.measure(state, [&] {
            const auto begin = std::chrono::steady_clock::now();
            sender.publish_and_wait(kMessages);
            return seconds_since(begin);
        });
    }
    limit.report(state);
}

/// Delivered only: they were published before, by somebody else.
void deliver_backlog(benchmark::State& state, const std::function<Stores()>& open) {
    const HttpSink sink;
    const Subscription to_sink = to(sink.url(), "*", static_cast<std::uint32_t>(state.range(0)));
    {
        Sender registers{open(), {to_sink}};
        registers.start();
        registers.publish_and_wait(1'000);
    }
    Limit limit{to_sink, static_cast<int>(state.range(0))};
    for (auto _ : state) {
        {
            Waybill publisher{{.store = open().store}};
            publisher.outbox("outbox");
            publish_to(publisher, kMessages, "t");
        }
        limit.measure(state, [&] {
            Sender sender{open(), {to_sink}};
            const auto begin = std::chrono::steady_clock::now();
            sender.start_and_wait(kMessages);
            return seconds_since(begin);
        });
    }
    limit.report(state);
}

void in_turns(benchmark::internal::Benchmark* bench) {
    bench->Arg(64)->Arg(1'000)->Iterations(7)->Unit(benchmark::kMillisecond)->UseManualTime();
}

void deliver_sqlite(benchmark::State& state) {
    const File file;
    deliver(state, sqlite_stores(file));
}
BENCHMARK(deliver_sqlite)->Apply(in_turns);

void deliver_backlog_sqlite(benchmark::State& state) {
    const File file;
    deliver_backlog(state, [&] { return sqlite_stores(file); });
}
BENCHMARK(deliver_backlog_sqlite)->Apply(in_turns);

#ifdef WAYBILL_WITH_POSTGRES
/// A store of its own: a subscription that is gone stays registered, and its messages would wait.
std::function<Stores()> postgres_stores(benchmark::State& state) {
    const char* const conninfo = std::getenv("WAYBILL_POSTGRES");
    if (conninfo == nullptr) {
        state.SkipWithError("script/bench starts its PostgreSQL");
        return {};
    }
    static int stores = 0;
    const postgres::Options own{.schema = "deliver_" + std::to_string(++stores)};
    return [conninfo, own] {
        return Stores{postgres::open(conninfo, own), postgres::open(conninfo, own)};
    };
}

void deliver_postgres(benchmark::State& state) {
    if (const auto open = postgres_stores(state)) deliver(state, open());
}
BENCHMARK(deliver_postgres)->Apply(in_turns);

void deliver_backlog_postgres(benchmark::State& state) {
    if (const auto open = postgres_stores(state)) deliver_backlog(state, open);
}
BENCHMARK(deliver_backlog_postgres)->Apply(in_turns);
#endif

/// 50 healthy endpoints, and so many that never answer; each gets its share of the messages.
void deliver_beside_hanging(benchmark::State& state) {
    const File file;
    const HttpSink sink;
    const HttpSink silent{false};
    std::vector<Subscription> all;
    for (int i = 0; i < 50; ++i) all.push_back(to(sink.url(), "t", 8));
    for (int i = 0; i < state.range(0); ++i) all.push_back(to(silent.url(), "hang", 8));
    Sender sender{sqlite_stores(file), std::move(all)};
    sender.start();
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
    Sender sender{sqlite_stores(file), {to(sink.url(), "*", 8)}};
    sender.start();
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
    Subscription quiet = to(sink.url(), "*", 8);
    quiet.tenant = "quiet";
    Subscription busy = to(busy_sink.url(), "*", 8);
    busy.tenant = "busy";
    Sender sender{sqlite_stores(file), {quiet, busy}};
    sender.start();
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
