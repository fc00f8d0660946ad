// A durable inbox: what append() accepted is in the file, and is handled, at least once, retried with
// back-off. Kill the process whenever you like and start it again.

// [durable_inbox]
#include <cstdio>

#include <waybill/console.hpp>
#include <waybill/sqlite.hpp>
#include <waybill/waybill.hpp>

int main() {
    // [in_fifteen_lines]
    waybill::Console console;  // says what fails, on standard error
    waybill::Waybill app{{.store = waybill::sqlite::open("orders.db")}};
    app.observe(console);

    app.inbox("orders", {.lanes = waybill::Lanes::strict})
        .on("order.placed", "billing.charge",
            [](const waybill::Message& m, waybill::Context& context) {
                std::printf("charge %s, attempt %u\n", m.body.c_str(), context.attempt());
            })  // returning = Done; throwing = Fail, retried with back-off
        .on("order.placed", "mail.receipt",
            [](const waybill::Message& m) { std::printf("receipt for %s\n", m.body.c_str()); },
            {.after = "billing.charge", .max_attempts = 10});

    app.append({.type = "order.placed", .body = "order 1", .lane = "customer 7"});
    app.append({.type = "order.placed", .body = "order 2", .lane = "customer 7"});

    return app.run_until_idle() ? 0 : 1;  // a service calls app.run(): until SIGTERM
    // [/in_fifteen_lines]
}
// [/durable_inbox]
