// A user's program, built against the installed tree and nothing else.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#ifdef HAS_DELIVER
#include <waybill/deliver.hpp>
#endif
#include <waybill/intake.hpp>
#include <waybill/json.hpp>
#include <waybill/memory.hpp>
#include <waybill/providers.hpp>
#include <waybill/sqlite.hpp>
#include <waybill/testkit.hpp>
#include <waybill/waybill.hpp>

struct Order {
    std::string customer{};
};
WAYBILL_JSON(Order, customer)

bool handles_one_message(waybill::StoreHandle store) {
    std::atomic<int> handled = 0;
    waybill::Waybill app{{.store = std::move(store)}};
    app.inbox("orders").on("order.placed", "billing", [&](const waybill::Message& message) {
        handled += message.body == "order 1" ? 1 : 0;
    });

    app.append({.type = "order.placed", .body = "order 1"});

    return app.run_until_idle() && handled == 1;
}

/// As in a test: a clock of its own, no thread, and payloads with a type.
bool can_be_tested() {
    waybill::testkit::Kit kit;
    int calls = 0;
    kit.app.inbox("orders").on<Order>("*", "billing", [&](const Order& order) -> waybill::Outcome {
        if (++calls == 1 || order.customer != "ada") return waybill::Fail{"once"};
        return waybill::Done{};
    });
    const auto id = kit.app.append(waybill::encode(Order{"ada"}, {.type = "order.placed"})).id;
    return kit.run_until_done(id) == waybill::Filter::State::done && calls == 2;
}

/// Without a server, and every provider as it should be.
bool takes_webhooks() {
    waybill::Waybill app{{.store = waybill::memory::open()}};
    app.inbox("inbox");
    waybill::Intake intake{app, {{.name = "local", .provider = "none"}}};
    const waybill::HttpRequest request{.method = "POST",
                                       .target = "/webhooks/local",
                                       .body = R"({"type":"t"})",
                                       .remote_address = "127.0.0.1"};
    return intake.handle(request).status == 202 && waybill::providers::self_test().empty();
}

#ifdef HAS_DELIVER
/// To an address that it may not call: that is said, and nothing is called.
bool sends_webhooks() {
    const waybill::StoreHandle store = waybill::memory::open();
    waybill::Subscription nowhere;
    nowhere.id.bytes = {1};
    nowhere.url = "http://127.0.0.1:9/";
    nowhere.secrets = {{.value = waybill::webhook::make_secret()}};
    nowhere.retry.max_attempts = 1;
    waybill::Waybill app{{.store = store}};
    app.outbox("outbox").to_subscriptions(std::make_shared<waybill::Deliverer>(
        store,
        std::vector<std::shared_ptr<waybill::SubscriptionReader>>{
            std::make_shared<waybill::FixedSubscriptions>(std::vector{nowhere})},
        nullptr));
    app.append({.type = "order.placed"});
    return app.run_until_idle() &&
           app.catalogue().count({.state = waybill::Filter::State::dead}) == 1;
}
#else
bool sends_webhooks() {
    return true;
}
#endif

int main(int, char** argv) {
    const bool in_memory = handles_one_message(waybill::memory::open());
    const bool in_a_file = handles_one_message(waybill::sqlite::open(std::string{argv[0]} + ".db"));
    return in_memory && in_a_file && can_be_tested() && takes_webhooks() && sends_webhooks() ? 0
                                                                                             : 1;
}
