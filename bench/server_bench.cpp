/// `waybill serve` as a process of its own, and webhooks posted to it from this one.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "raw_sqlite.hpp"
#include "server_process.hpp"
#include "waybill/providers.hpp"
#include "waybill/system.hpp"
#include "webhook_load.hpp"

namespace waybill::bench {
namespace {

constexpr std::size_t kConnections = 64;
constexpr std::size_t kRequests = 20'000;
constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

class Folder {
public:
    Folder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "waybill-bench-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path = pattern;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string path{};
};

/// 1 KiB, signed as Stripe does.
std::vector<std::string> signed_requests(std::size_t count) {
    Source source{.name = "stripe", .provider = "stripe"};
    source.secrets = {kSecret};
    std::vector<std::string> requests;
    for (std::size_t i = 0; i < count; ++i) {
        std::string body = R"({"id":"evt_)" + std::to_string(i) +
                           R"(","object":"event","type":"invoice.paid","data":")";
        body.append(1022 - body.size(), 'x');
        body += "\"}";
        const HttpRequest request =
            providers::sign({.method = "POST", .target = "/webhooks/stripe", .body = body}, source,
                            {}, system_clock().wall())
                .value();
        std::string text =
            "POST /webhooks/stripe HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1024\r\n";
        for (const auto& [name, value] : request.headers) text += name + ": " + value + "\r\n";
        requests.push_back(text + "\r\n" + body);
    }
    return requests;
}

void write_config(const Folder& folder, const std::string& store, bool with_target) {
    std::ofstream file{folder.path + "/waybill.toml"};
    file << "store = '" << store << "'\n[sources.stripe]\nprovider = 'stripe'\nsecrets = ['"
         << kSecret << "']\ntolerance = '1d'\n";
    if (with_target) file << "[[targets]]\nkey = 'log'\nlog = true\n";
}

/// User and system time of a process, in seconds; and its resident memory in MiB.
struct Usage {
    double cpu = 0;
    double resident = 0;
};

Usage usage_of(pid_t process) {
    const std::string folder = "/proc/" + std::to_string(process);
    std::ifstream stat{folder + "/stat"};
    std::string word;
    Usage usage;
    for (int i = 1; i <= 15 && stat >> word; ++i) {
        if (i >= 14) usage.cpu += std::stod(word) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }
    std::ifstream statm{folder + "/statm"};
    statm >> word >> word;
    usage.resident = std::stod(word) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
    return usage;
}

/// The same rows, dedup records and attributes included, 64 per commit, by sqlite3 alone.
double raw_seconds() {
    const Folder folder;
    RawSqlite raw{folder.path + "/raw.db"};
    std::vector<Message> batch(kConnections);
    const auto began = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < kRequests; i += kConnections) {
        for (std::size_t j = 0; j < kConnections; ++j) {
            const std::size_t number = i + j;
            batch[j].id.bytes = {};
            for (std::size_t b = 0; b < 8; ++b) {
                batch[j].id.bytes[15 - b] = static_cast<std::uint8_t>(number >> (8 * b));
            }
            batch[j].box = "inbox";
            batch[j].type = "invoice.paid";
            batch[j].source = "stripe";
            const std::string event = "evt_" + std::to_string(number);
            batch[j].dedup_key = "stripe::id:" + event;
            batch[j].attributes = {
                {"webhook.id", event}, {"webhook.provider", "stripe"}, {"webhook.secret", "1"}};
            batch[j].body.assign(1024, 'x');
        }
        raw.insert(batch);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void post_webhooks(benchmark::State& state, const std::string& store, bool with_target) {
    const std::vector<std::string> requests = signed_requests(kRequests);
    for (auto _ : state) {
        const Folder folder;
        write_config(folder, store, with_target);
        test::Process server{folder.path,
                             {"serve", "--listen", "127.0.0.1:0", "--log-level", "error"}};
        const std::uint16_t port = server.port();
        const Usage idle = usage_of(server.pid());
        const LoadResult result = send_all(port, requests, kConnections);
        const Usage after = usage_of(server.pid());
        if (result.accepted != kRequests) state.SkipWithError("not all were accepted");
        state.SetIterationTime(result.seconds);
        const auto count = static_cast<double>(kRequests);
        state.counters["p50_us"] = result.at(0.50);
        state.counters["p99_us"] = result.at(0.99);
        state.counters["server_cpu_us"] = (after.cpu - idle.cpu) / count * 1e6;
        state.counters["idle_MiB"] = idle.resident;
        state.counters["after_MiB"] = after.resident;
        if (store != "memory:") {
            const double raw = raw_seconds();
            state.counters["raw_per_s"] = count / raw;
            state.counters["of_raw_%"] = 100 * raw / result.seconds;
        }
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRequests));
}

void BM_WebhooksAcceptedOnSqlite(benchmark::State& state) {
    post_webhooks(state, "sqlite:bench.db", false);
}
BENCHMARK(BM_WebhooksAcceptedOnSqlite)->UseManualTime()->Iterations(1)->Repetitions(3);

void BM_WebhooksAcceptedAndHandledOnSqlite(benchmark::State& state) {
    post_webhooks(state, "sqlite:bench.db", true);
}
BENCHMARK(BM_WebhooksAcceptedAndHandledOnSqlite)->UseManualTime()->Iterations(1);

void BM_WebhooksAcceptedInMemory(benchmark::State& state) {
    post_webhooks(state, "memory:", false);
}
BENCHMARK(BM_WebhooksAcceptedInMemory)->UseManualTime()->Iterations(1)->Repetitions(3);

/// What it costs to wait.
void BM_IdleServer(benchmark::State& state) {
    for (auto _ : state) {
        const Folder folder;
        write_config(folder, "sqlite:bench.db", true);
        test::Process server{folder.path,
                             {"serve", "--listen", "127.0.0.1:0", "--log-level", "error"}};
        server.port();
        const Usage before = usage_of(server.pid());
        constexpr int kSeconds = 10;
        ::sleep(kSeconds);
        const Usage after = usage_of(server.pid());
        state.SetIterationTime(kSeconds);
        state.counters["resident_MiB"] = after.resident;
        state.counters["cpu_%"] = 100 * (after.cpu - before.cpu) / kSeconds;
    }
}
BENCHMARK(BM_IdleServer)->UseManualTime()->Iterations(1);

/// Requests among a thousand connections that only drip.
void BM_BesideAThousandSlowConnections(benchmark::State& state) {
    const std::vector<std::string> requests = signed_requests(2 * 5'000);
    const std::vector<std::string> calm{requests.begin(), requests.begin() + 5'000};
    const std::vector<std::string> among{requests.begin() + 5'000, requests.end()};
    for (auto _ : state) {
        const Folder folder;
        write_config(folder, "memory:", false);
        test::Process server{folder.path,
                             {"serve", "--listen", "127.0.0.1:0", "--log-level", "error"}};
        const std::uint16_t port = server.port();
        const LoadResult first = send_all(port, calm, 16);
        SlowConnections slow{port, 1'000};
        const LoadResult second = send_all(port, among, 16);
        state.SetIterationTime(second.seconds);
        state.counters["calm_p99_us"] = first.at(0.99);
        state.counters["p99_us"] = second.at(0.99);
        state.counters["p99_of_calm"] = second.at(0.99) / first.at(0.99);
    }
}
BENCHMARK(BM_BesideAThousandSlowConnections)->UseManualTime()->Iterations(1);

}  // namespace
}  // namespace waybill::bench
