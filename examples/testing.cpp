// How a service tests its handlers: the memory store, run_until_idle(), and an observer.

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "check.hpp"
#include <waybill/memory.hpp>
#include <waybill/waybill.hpp>

namespace {

/// What the service under test registers, in production on its database.
void describe(waybill::Waybill& app, std::atomic<int>& sent) {
    app.outbox("mail").on("welcome", "smtp",
                          [&sent](const waybill::Message& m) {
                              if (m.body.find('@') == std::string::npos)
                                  throw std::invalid_argument{"no address"};
                              ++sent;
                          },
                          {.max_attempts = 2, .backoff = {.base = std::chrono::milliseconds{10}}});
}

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
    // [testing]
    waybill::Waybill app{{.store = waybill::memory::open()}};
    std::atomic<int> sent{0};
    Deaths deaths;
    describe(app, sent);
    app.observe(deaths);

    app.append({.type = "welcome", .body = "ada@example.com", .dedup_key = "user 1"});
    app.append({.type = "welcome", .body = "ada@example.com", .dedup_key = "user 1"});
    app.append({.type = "nobody.listens"});
    CHECK(app.run_until_idle());

    CHECK(sent == 1);
    CHECK(deaths.count == 0);
    // [/testing]

    app.append({.type = "welcome", .body = "no address"});
    app.start();
    CHECK(app.wait_done());
    app.stop();
    CHECK(deaths.count == 1);
    std::printf("sent %d, died %d\n", sent.load(), deaths.count.load());
}
