// SIGTERM: nothing new is started, running handlers are told and have time to end, what has not ended
// is given back uncounted, and the process exits with 0. The next start goes on where it was.

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <stop_token>

#include "check.hpp"
#include <waybill/memory.hpp>
#include <waybill/waybill.hpp>

namespace {

std::atomic<int> pages{0};
std::atomic<bool> is_first_try{true};

/// In production somebody else sends it, and the printer is slow.
void somebody_stops_us(const std::stop_token& stop) {
    std::raise(SIGTERM);
    std::mutex mutex;
    std::unique_lock lock{mutex};
    std::condition_variable_any{}.wait(lock, stop, [] { return false; });
}

// [handler]
/// Long work in steps; between two of them it looks whether it should end.
void print_report(const waybill::Message&, waybill::Context& context) {
    for (int page = 1; page <= 20; ++page) {
        if (context.stop_requested()) throw std::runtime_error{"stopped; again after the restart"};
        std::printf("page %d, attempt %u\n", page, context.attempt());
        ++pages;
        if (page == 10 && is_first_try) somebody_stops_us(context.stop_token());
    }
}
// [/handler]

}  // namespace

int main() {
    const auto store = waybill::memory::open();
    const auto describe = [](waybill::Waybill& app) {
        app.inbox("reports").on("report.wanted", "printer", print_report);
    };

    // [run]
    waybill::Waybill app{{.store = store->connect(), .shutdown_timeout = std::chrono::seconds{20}}};
    describe(app);
    app.on_start([] { std::puts("opening the printer"); });
    app.on_stop([] { std::puts("closing the printer"); });
    app.append({.type = "report.wanted"});

    app.run();  // Until SIGTERM or SIGINT. A second signal ends the process the hard way.
    // [/run]
    std::printf("stopped after %d pages\n", pages.load());
    CHECK(pages == 10);
    CHECK(!app.status().started);

    // What a new process would do. The report was not finished, and no attempt was counted.
    is_first_try = false;
    waybill::Waybill next{{.store = store->connect()}};
    describe(next);
    CHECK(next.run_once() == 1);
    CHECK(pages == 30);
    CHECK(next.health().store.open == 0);
}
