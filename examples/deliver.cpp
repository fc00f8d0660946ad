// Webhooks out from a program of your own: who hears of what is published stands in a table of the
// application. This one starts a receiver, publishes an order to it, and ends when it was received and
// verified.

#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <httplib.h>

#include "check.hpp"
#include <waybill/deliver.hpp>
#include <waybill/sqlite.hpp>
#include <waybill/system.hpp>
#include <waybill/waybill.hpp>
#include <waybill/webhook.hpp>

namespace {

/// A row of the application.
struct Customer {
    std::string id{};  ///< a UUID: deliveries are known by it, so keep it
    std::string url{};
    std::string secret{};
};

// [reader]
/// The customers are the subscriptions. Asked once a second, on a thread of its own: it may block.
class Customers final : public waybill::SubscriptionReader {
public:
    explicit Customers(std::vector<Customer> rows) : rows_(std::move(rows)) {}

    std::optional<std::vector<waybill::Subscription>> read() override {
        if (std::exchange(was_read_, true)) return std::nullopt;  // the same as last time
        std::vector<waybill::Subscription> all;
        for (const Customer& row : rows_) {  // SELECT id, url, secret FROM customers
            all.push_back({.id = waybill::parse_uuid(row.id).value(),
                           .type = "order.*",
                           .url = row.url,
                           .secrets = {{.value = row.secret}}});
        }
        return all;
    }

private:
    std::vector<Customer> rows_;
    bool was_read_ = false;
};
// [/reader]

}  // namespace

int main(int, char** argv) {
    const std::string file = std::string{argv[0]} + ".db";
    for (const char* part : {"", "-wal", "-shm", "-owner"}) std::remove((file + part).c_str());

    // The customer's side.
    const std::vector<std::string> secrets{waybill::webhook::make_secret()};
    std::atomic<int> genuine = 0;
    httplib::Server receiver;
    receiver.Post("/hook", [&](const httplib::Request& request, httplib::Response& answer) {
        waybill::HttpHeaders headers;
        for (const auto& [name, value] : request.headers) headers.add(name, value);
        const auto checked = waybill::webhook::verify(
            headers, request.body, {.secrets = secrets, .now = waybill::system_clock().wall()});
        const bool is_genuine = std::holds_alternative<waybill::webhook::Verified>(checked);
        if (is_genuine) ++genuine;
        answer.status = is_genuine ? 200 : 400;
    });
    const int port = receiver.bind_to_any_port("127.0.0.1");
    std::thread receiving{[&] { receiver.listen_after_bind(); }};
    const std::string url = "http://127.0.0.1:" + std::to_string(port) + "/hook";

    // [deliver]
    const waybill::StoreHandle store = waybill::sqlite::open(file);
    const auto customers = std::make_shared<Customers>(std::vector<Customer>{
        {.id = "5f0c2d1e-8a57-4c7e-9d53-0e2b6f6a1c11", .url = url, .secret = secrets[0]}});
    waybill::DeliverOptions options{
        .egress = waybill::make_egress({.allow = {"127.0.0.1/32"}}),  // only to try it here
        .on_news = [](const waybill::SubscriptionNews& news) { std::puts(news.text.c_str()); }};

    waybill::Waybill app{{.store = store}};
    app.outbox("outbox").to_subscriptions(std::make_shared<waybill::Deliverer>(
        store, std::vector<std::shared_ptr<waybill::SubscriptionReader>>{customers}, nullptr,
        std::move(options)));
    app.start();  // the readers were asked: whoever is in the table hears of what comes now
    app.append({.type = "order.placed", .body = R"({"order":1})"});
    // [/deliver]

    const bool is_done = app.wait_done();
    app.stop();
    receiver.stop();
    receiving.join();
    CHECK(is_done);
    CHECK(genuine == 1);
}
