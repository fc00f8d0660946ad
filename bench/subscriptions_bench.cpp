#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "http_sink.hpp"
#include "waybill/deliver.hpp"
#include "waybill/sqlite.hpp"
#include "waybill/waybill.hpp"

/// Thousands of subscriptions in the store, their secrets sealed: what each more costs, and what they cost the others.
namespace waybill::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTypes = 10;

double milliseconds_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double resident_mib() {
    std::ifstream file{"/proc/self/statm"};
    double size = 0;
    double resident = 0;
    file >> size >> resident;
    return resident * 4'096 / (1 << 20);
}

class Folder {
public:
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "waybill-bench-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) std::abort();
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_{};
};

/// An application whose subscriptions are added one by one while it runs, as the server does it.
class Many {
public:
    Many() {
        allow_many_files();
        app_.outbox("outbox").to_subscriptions(deliverer_);
        app_.start();
    }

    void add(const std::string& type) {
        Subscription one;
        one.url = sink_.url();
        one.type = type;
        one.secrets = {{.value = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}};
        book_->add(std::move(one));
    }
    void publish(const std::string& type) { app_.append({.type = type, .body = "{}"}); }
    std::uint64_t answered() {
        const std::lock_guard lock{mutex_};
        return answered_;
    }
    void wait_for(std::uint64_t count) {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return answered_ >= count; });
    }
    void refresh() { deliverer_->refresh(); }
    double publish_and_be_answered(const std::string& type) {
        const std::uint64_t before = answered();
        const auto begin = Clock::now();
        publish(type);
        wait_for(before + 1);
        return milliseconds_since(begin);
    }

private:
    DeliverOptions options() {
        DeliverOptions options;
        options.egress = make_egress({.allow_private = true});
        options.on_delivery = [this](const DeliveryReport&) {
            const std::lock_guard lock{mutex_};
            ++answered_;
            changed_.notify_all();
        };
        return options;
    }

    Folder folder_{};
    HttpSink sink_{};
    std::mutex mutex_{};  ///< guards the one below
    std::uint64_t answered_ = 0;
    std::condition_variable changed_{};
    const std::shared_ptr<sqlite::SqliteStore> store_ = sqlite::open(folder_.file("w.db"));
    const std::shared_ptr<SubscriptionBook> book_ =
        std::make_shared<SubscriptionBook>(*store_, store_, std::string(32, 'k'));
    const std::shared_ptr<Deliverer> deliverer_ = std::make_shared<Deliverer>(
        store_, std::vector<std::shared_ptr<SubscriptionReader>>{reader_of(book_)}, book_,
        options());
    Waybill app_{{.store = store_}};
};

/// One is well and has a type of its own; the others share ten.
void subscriptions(benchmark::State& state) {
    const auto count = static_cast<int>(state.range(0));
    Many many;
    many.add("mine");
    many.refresh();
    const double before = resident_mib();
    for (auto _ : state) {
        auto begin = Clock::now();
        for (int i = 0; i < count; ++i) many.add("t" + std::to_string(i % kTypes));
        state.counters["add_ms"] = milliseconds_since(begin) / count;
        many.refresh();
        state.counters["KiB_each"] = (resident_mib() - before) * 1'024 / count;

        std::vector<double> took;
        for (int i = 0; i < 300; ++i) took.push_back(many.publish_and_be_answered("mine"));
        std::ranges::sort(took);
        state.counters["one_p50_ms"] = took[150];
        state.counters["one_p99_ms"] = took[297];

        const std::uint64_t answered = many.answered();
        begin = Clock::now();
        for (int i = 0; i < kTypes; ++i) many.publish("t" + std::to_string(i));
        many.wait_for(answered + static_cast<std::uint64_t>(count));
        state.counters["all_us_each"] = milliseconds_since(begin) * 1'000 / count;
    }
}
BENCHMARK(subscriptions)->Arg(1'000)->Arg(10'000)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace waybill::bench
