#include <string>

#include <benchmark/benchmark.h>

#include "waybill/intake.hpp"
#include "waybill/memory.hpp"
#include "waybill/providers.hpp"
#include "waybill/system.hpp"

/// What a webhook of 1 KiB costs before it reaches the store, and with the memory store.
namespace waybill {
namespace {

const Source kStripe{.name = "stripe", .provider = "stripe", .secrets = {"whsec_old", "whsec_new"}};

std::string body_of(std::uint64_t number) {
    std::string body = R"({"id":"evt_)" + std::to_string(number) +
                       R"(","object":"event","type":"invoice.paid","data":{"object":{"id":"in_1")";
    for (int i = 0; body.size() < 1'000; ++i) {
        body += ",\"field_" + std::to_string(i) + "\":" + std::to_string(i * 1'000);
    }
    return body + "}}}";
}

HttpRequest webhook(std::uint64_t number, const std::string& secret) {
    Source source = kStripe;
    source.secrets = {secret};
    return *providers::sign({.method = "POST",
                             .target = "/webhooks/stripe",
                             .headers = {{"Host", "example.com"},
                                         {"Content-Type", "application/json"},
                                         {"User-Agent", "Stripe/1.0"}},
                             .body = body_of(number)},
                            source, "", system_clock().wall());
}

void Verify(benchmark::State& state, const std::string& secret) {
    const HttpRequest request = webhook(1, secret);
    const auto provider = providers::find("stripe");
    const StoreTime now = system_clock().wall();
    for (auto _ : state) benchmark::DoNotOptimize(provider->receive({request, kStripe, now}));
}
BENCHMARK_CAPTURE(Verify, first_secret, "whsec_old");
BENCHMARK_CAPTURE(Verify, second_secret, "whsec_new");
BENCHMARK_CAPTURE(Verify, wrong_secret, "whsec_other");

void Accept(benchmark::State& state) {
    Waybill app{{.store = memory::open()}};
    app.inbox("inbox");
    Intake intake{app, {kStripe}};
    std::uint64_t number = 0;
    for (auto _ : state) {
        state.PauseTiming();
        HttpRequest request = webhook(++number, "whsec_old");
        state.ResumeTiming();
        benchmark::DoNotOptimize(intake.handle(std::move(request)));
    }
}
BENCHMARK(Accept)->Iterations(20'000);

void SelfTest(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(providers::self_test());
}
BENCHMARK(SelfTest)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace waybill
