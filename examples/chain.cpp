// A chain: the next target runs when the one before is done, each with retries of its own. When a
// link dies its successors wait for a person; a requeue sets all of them going again.

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "check.hpp"
#include <waybill/memory.hpp>
#include <waybill/waybill.hpp>

int main() {
    waybill::Waybill app{{.store = waybill::memory::open()}};

    std::mutex mutex;
    std::vector<std::string> steps;
    const auto step = [&](const char* name) {
        const std::lock_guard lock{mutex};
        steps.push_back(name);
    };
    std::atomic<bool> in_stock{false};
    // [chain]
    app.inbox("orders")
        .on("order.placed", "reserve",
            [&](const waybill::Message&) -> waybill::Outcome {
                if (!in_stock) return waybill::Dead{"out of stock"};
                step("reserve");
                return waybill::Done{};
            })
        .on("order.placed", "charge", [&](const waybill::Message&) { step("charge"); },
            {.after = "reserve"})
        .on("order.placed", "ship", [&](const waybill::Message&) { step("ship"); },
            {.after = "charge"});
    // [/chain]

    const waybill::Uuid id = app.append({.type = "order.placed", .body = "a lamp"}).id;
    CHECK(app.run_until_idle());
    CHECK(steps.empty());

    in_stock = true;
    const std::vector<waybill::DeliveryRef> dead{{id, "reserve"}};
    CHECK(app.catalogue().requeue(dead).front().carried_out);
    CHECK(app.run_until_idle());

    for (const std::string& name : steps) std::printf("%s\n", name.c_str());
    CHECK((steps == std::vector<std::string>{"reserve", "charge", "ship"}));
}
