// Order where order matters: each customer's messages one after the other, customers side by side.
// A failing message holds its own customer back, through its retries, and nobody else.

#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include <waybill/memory.hpp>
#include <waybill/waybill.hpp>

int main() {
    using namespace std::chrono_literals;
    waybill::Waybill app{{.store = waybill::memory::open()}};

    std::mutex mutex;
    std::map<std::string, std::vector<std::string>> seen;
    // [fifo_per_customer]
    app.inbox("accounts", {.lanes = waybill::Lanes::strict})
        .on("account.*", "ledger",
            [&](const waybill::Message& m, waybill::Context& context) {
                if (m.body == "withdraw 20" && context.attempt() < 3) {
                    throw std::runtime_error{"the ledger is busy"};
                }
                const std::lock_guard lock{mutex};
                seen[m.lane].push_back(m.body);
            },
            {.backoff = {.base = 20ms}});

    for (const char* customer : {"ada", "grace"}) {
        for (const char* step : {"deposit 50", "withdraw 20", "close"}) {
            app.append({.type = "account.changed", .body = step, .lane = customer});
        }
    }
    // [/fifo_per_customer]
    app.start();
    CHECK(app.wait_done());
    app.stop();

    for (const auto& [customer, steps] : seen) {
        std::printf("%s:", customer.c_str());
        for (const std::string& step : steps) std::printf(" %s;", step.c_str());
        std::printf("\n");
        CHECK((steps == std::vector<std::string>{"deposit 50", "withdraw 20", "close"}));
    }
    CHECK(seen.size() == 2);
}
