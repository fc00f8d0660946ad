// A user's program, built against the installed tree and nothing else.

#include <atomic>

#include <waybill/memory.hpp>
#include <waybill/waybill.hpp>

int main() {
    std::atomic<int> handled = 0;
    waybill::Waybill app{{.store = waybill::memory::open()}};
    app.inbox("orders").on("order.placed", "billing", [&](const waybill::Message& message) {
        handled += message.body == "order 1" ? 1 : 0;
    });

    app.append({.type = "order.placed", .body = "order 1"});

    return app.run_until_idle() && handled == 1 ? 0 : 1;
}
