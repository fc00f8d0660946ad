// Webhooks in on cpp-httplib: any HTTP server will do, for waybill::Intake takes a request and gives a
// response. This one starts, sends itself a good, a repeated and a forged webhook, and ends.

#include <cstdio>
#include <string>
#include <thread>

#include <httplib.h>

#include "check.hpp"
#include <waybill/intake.hpp>
#include <waybill/memory.hpp>
#include <waybill/providers.hpp>
#include <waybill/system.hpp>

namespace {

// [adapter]
waybill::HttpRequest from_httplib(const httplib::Request& request) {
    waybill::HttpRequest converted{.method = request.method,
                                   .target = request.target,
                                   .body = request.body,  // as it came; gzip is unpacked by httplib
                                   .remote_address = request.remote_addr};
    for (const auto& [name, value] : request.headers) converted.headers.add(name, value);
    return converted;
}

void to_httplib(const waybill::HttpResponse& response, httplib::Response& answer) {
    answer.status = static_cast<int>(response.status);
    std::string type = "application/json";
    for (const auto& [name, value] : response.headers) {
        if (waybill::same_name(name, "Content-Type")) {
            type = value;
        } else {
            answer.set_header(name, value);
        }
    }
    answer.set_content(response.body, type);
}
// [/adapter]

}  // namespace

int main() {
    // [server]
    waybill::Waybill app{{.store = waybill::memory::open()}};
    app.inbox("inbox").on("invoice.*", "billing", [](const waybill::Message& message) {
        std::printf("%s: %s\n", message.type.c_str(), message.body.c_str());
    });
    const waybill::Source stripe{.name = "stripe", .provider = "stripe", .secrets = {"whsec_test"}};
    waybill::Intake intake{app, {stripe}};

    const auto receive = [&](const httplib::Request& request, httplib::Response& answer) {
        to_httplib(intake.handle(from_httplib(request)), answer);
    };
    httplib::Server server;
    server.Post("/webhooks/.*", receive);
    server.Get("/webhooks/.*", receive);  // some senders shake hands first
    server.Options("/webhooks/.*", receive);
    // [/server]

    // The rest is a sender that tries it. A service would call app.start() and server.listen().
    const int port = server.bind_to_any_port("127.0.0.1");
    std::thread serving{[&] { server.listen_after_bind(); }};

    const waybill::HttpRequest webhook = *waybill::providers::sign(
        {.method = "POST", .body = R"({"id":"evt_1","type":"invoice.paid"})"}, stripe, "",
        waybill::system_clock().wall());
    httplib::Client client{"127.0.0.1", port};
    const httplib::Headers signature{
        {"Stripe-Signature", *webhook.headers.find("Stripe-Signature")}};
    const auto post = [&](const std::string& body) {
        const auto result = client.Post("/webhooks/stripe", signature, body, "application/json");
        std::printf("%d %s\n", result ? result->status : 0, result ? result->body.c_str() : "");
        return result ? result->status : 0;
    };
    const int first = post(webhook.body);
    const int again = post(webhook.body);
    const int forged = post(R"({"id":"evt_2","type":"invoice.paid"})");
    server.stop();
    serving.join();

    CHECK(first == 202);
    CHECK(again == 200);
    CHECK(forged == 400);
    CHECK(app.run_until_idle());  // "billing" has run once
}
