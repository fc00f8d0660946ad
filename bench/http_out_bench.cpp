#include <atomic>
#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "bare_libcurl.hpp"
#include "http_sink.hpp"
#include "transport/http_out/http_out.hpp"

/// Requests of 1 KiB to a local receiver that keeps its connections, many in flight; beside them what libcurl alone can do,
/// on one thread as well.
namespace waybill::bench {
namespace {

constexpr int kRequests = 20'000;
const std::string kBody(1'024, 'x');

std::uint64_t resident_bytes() {
    std::ifstream file{"/proc/self/statm"};
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    file >> size >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Keeps so many in flight until all were answered.
class Load {
public:
    Load(http_out::HttpOut& out, std::string url, std::shared_ptr<const http_out::Egress> egress)
        : out_(out), url_(std::move(url)), egress_(std::move(egress)) {}

    void run(int in_flight, int requests) {
        left_ = requests - in_flight;
        open_ = requests;
        for (int i = 0; i < in_flight; ++i) start();
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [this] { return open_ == 0; });
    }
    int failures() const { return failures_; }

private:
    void start() {
        out_.start({.url = url_,
                    .headers = {{"Content-Type", "application/json"}},
                    .body = kBody,
                    .egress = egress_},
                   [this](const http_out::Result& result) { answered(result); });
    }
    void answered(const http_out::Result& result) {
        if (result.status != 200) ++failures_;
        if (--left_ >= 0) start();
        const std::lock_guard lock{mutex_};
        if (--open_ == 0) changed_.notify_all();
    }

    http_out::HttpOut& out_;
    std::string url_;
    std::shared_ptr<const http_out::Egress> egress_;
    std::atomic<int> left_ = 0;
    std::atomic<int> failures_ = 0;
    std::mutex mutex_{};  ///< guards the count below
    int open_ = 0;
    std::condition_variable changed_{};
};

void http_out_requests(benchmark::State& state) {
    allow_many_files();
    const HttpSink sink;
    http_out::HttpOut out;
    const auto egress = std::make_shared<http_out::Egress>(http_out::Egress{.allow_private = true});
    Load load{out, sink.url(), egress};
    const int in_flight = static_cast<int>(state.range(0));
    load.run(in_flight, in_flight);
    for (auto _ : state) load.run(in_flight, kRequests);
    state.SetItemsProcessed(state.iterations() * kRequests);
    if (load.failures() > 0) state.SkipWithError("not all were answered");
}
BENCHMARK(http_out_requests)
    ->Arg(1)
    ->Arg(64)
    ->Arg(1'024)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// 64 in flight, while so many others get no answer.
void beside_hanging(benchmark::State& state) {
    allow_many_files();
    const HttpSink sink;
    const HttpSink silent{false};
    http_out::HttpOut out;
    for (int i = 0; i < state.range(0); ++i) {
        out.start(
            {.url = silent.url(),
             .body = kBody,
             .deadlines = {.first_byte = std::chrono::hours{1}, .total = std::chrono::hours{1}}},
            [](const http_out::Result&) {});
    }
    Load load{out, sink.url(), nullptr};
    load.run(64, 64);
    for (auto _ : state) load.run(64, kRequests);
    state.SetItemsProcessed(state.iterations() * kRequests);
    if (load.failures() > 0) state.SkipWithError("not all were answered");
}
BENCHMARK(beside_hanging)
    ->Arg(0)
    ->Arg(500)
    ->Arg(5'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void bare_libcurl(benchmark::State& state) {
    allow_many_files();
    const HttpSink sink;
    HttpHeaders headers;
    headers.add("Content-Type", "application/json");
    BareLibcurl bare{sink.url(), headers, kBody, static_cast<int>(state.range(0))};
    for (auto _ : state) bare.seconds(kRequests);
    state.SetItemsProcessed(state.iterations() * kRequests);
}
BENCHMARK(bare_libcurl)->Arg(1)->Arg(64)->Arg(1'024)->Unit(benchmark::kMillisecond)->UseRealTime();

/// What a request costs in memory while its receiver says nothing.
void waiting_requests(benchmark::State& state) {
    allow_many_files();
    for (auto _ : state) {
        const HttpSink sink{false};
        const std::uint64_t before = resident_bytes();
        {
            std::atomic<int> told = 0;
            http_out::HttpOut out;
            for (int i = 0; i < state.range(0); ++i) {
                out.start({.url = sink.url(), .body = kBody},
                          [&](const http_out::Result&) { ++told; });
            }
            // The last one to be taken comes after all others were begun.
            out.cancel(out.start({.url = sink.url()}, [&](const http_out::Result&) { ++told; }));
            while (told == 0) ::usleep(1'000);
            ::usleep(300'000);
            state.counters["bytes_each"] = static_cast<double>(resident_bytes() - before) /
                                           static_cast<double>(state.range(0));
        }
    }
}
BENCHMARK(waiting_requests)->Arg(1'024)->Arg(8'192)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace waybill::bench
