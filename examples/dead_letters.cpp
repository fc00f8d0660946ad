// What failed for good: looked at, mended, requeued; the rest discarded.

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include <waybill/memory.hpp>
#include <waybill/waybill.hpp>

namespace {

// [counting_observer]
struct Deaths final : waybill::Observer {
    void on_event(const waybill::Event& event) noexcept override {
        if (event.kind == waybill::Event::Kind::died) ++count;
    }
    std::atomic<int> count{0};
};
// [/counting_observer]

}  // namespace

int main() {
    using namespace std::chrono_literals;
    Deaths deaths;
    waybill::Waybill app{{.store = waybill::memory::open()}};
    app.observe(deaths);
    std::atomic<bool> bank_is_open{false};
    std::atomic<int> charged{0};
    app.inbox("orders", {.lanes = waybill::Lanes::none, .keep_dead = 24h * 90})
        .on("order.placed", "billing",
            [&](const waybill::Message& m) {
                if (m.body.empty()) throw waybill::PermanentFailure{"an empty order"};
                if (!bank_is_open) throw std::runtime_error{"the bank is closed"};
                ++charged;
            },
            {.max_attempts = 2, .backoff = {.base = 10ms}});
    for (int i = 0; i < 10; ++i) {
        app.append({.type = "order.placed", .body = i < 3 ? "" : std::to_string(i)});
    }
    app.start();
    CHECK(app.wait_done());

    // [look]
    waybill::DeadLetters dead = app.dead_letters();
    for (const auto& item : dead.list({.box = "orders"}, {}, 2).items) {
        std::printf("%s failed %u times: %s\n", item.message->type.c_str(), item.letter.failures,
                    item.letter.reason.c_str());
        for (const waybill::Attempt& attempt : dead.attempts(item.letter.message, "billing")) {
            std::printf("  attempt %u: %s\n", attempt.number, attempt.error.c_str());
        }
    }
    // [/look]
    CHECK(dead.count() == 10);
    CHECK(deaths.count == 10);

    bank_is_open = true;
    // [mend]
    const auto requeued = dead.requeue_matching({.box = "orders", .reason = "the bank is closed"});
    const auto discarded = dead.discard_matching({.box = "orders", .reason = "an empty order"});
    // [/mend]
    CHECK(app.wait_done());
    app.stop();

    std::printf("%llu requeued, %llu discarded, %d charged\n",
                static_cast<unsigned long long>(requeued.carried_out),
                static_cast<unsigned long long>(discarded.carried_out), charged.load());
    CHECK(requeued.carried_out == 7);
    CHECK(discarded.carried_out == 3);
    CHECK(charged == 7);
    CHECK(dead.count() == 0);
}
