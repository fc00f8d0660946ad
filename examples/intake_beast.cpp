// Webhooks in on plain Boost.Beast: the request as Beast has read it goes to waybill::Intake, and what
// that says goes back. This one starts, sends itself a good, a repeated and a forged webhook, and ends.

#include <cstdio>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "check.hpp"
#include <waybill/intake.hpp>
#include <waybill/memory.hpp>
#include <waybill/providers.hpp>
#include <waybill/system.hpp>

namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

// [adapter]
waybill::HttpRequest from_beast(Request request, const tcp::socket& from) {
    waybill::HttpRequest converted{.method = std::string{request.method_string()},
                                   .target = std::string{request.target()},
                                   .body = std::move(request.body()),  // the bytes as they came
                                   .remote_address = from.remote_endpoint().address().to_string()};
    for (const auto& field : request) {
        converted.headers.add(std::string{field.name_string()}, std::string{field.value()});
    }
    return converted;
}

Response to_beast(waybill::HttpResponse response, bool keep_alive) {
    Response answer{http::int_to_status(response.status), 11};
    for (const auto& [name, value] : response.headers) answer.insert(name, value);
    answer.body() = std::move(response.body);
    answer.keep_alive(keep_alive);
    answer.prepare_payload();
    return answer;
}
// [/adapter]

// [session]
/// Of one connection, on a thread of its own. A server that has no thread to spare for each calls
/// handle(request, answer) instead, which returns at once.
void serve(tcp::socket& socket, waybill::Intake& intake) {
    boost::beast::flat_buffer buffer;
    for (bool keep_alive = true; keep_alive;) {
        Request request;
        boost::system::error_code error;
        http::read(socket, buffer, request, error);
        if (error) return;
        keep_alive = request.keep_alive();
        http::write(socket,
                    to_beast(intake.handle(from_beast(std::move(request), socket)), keep_alive));
    }
}
// [/session]

}  // namespace

int main() {
    waybill::Waybill app{{.store = waybill::memory::open()}};
    app.inbox("inbox").on("invoice.*", "billing", [](const waybill::Message& message) {
        std::printf("%s: %s\n", message.type.c_str(), message.body.c_str());
    });
    const waybill::Source stripe{.name = "stripe", .provider = "stripe", .secrets = {"whsec_test"}};
    waybill::Intake intake{app, {stripe}};
    boost::asio::io_context io;
    tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};
    std::thread serving{[&] {
        tcp::socket socket = acceptor.accept();
        serve(socket, intake);
    }};

    // The rest is a sender that tries it. A service would call app.start() and accept in a loop.
    const waybill::HttpRequest webhook = *waybill::providers::sign(
        {.method = "POST", .body = R"({"id":"evt_1","type":"invoice.paid"})"}, stripe, "",
        waybill::system_clock().wall());
    tcp::socket client{io};
    client.connect(acceptor.local_endpoint());
    boost::beast::flat_buffer buffer;
    const auto post = [&](const std::string& body) {
        Request request{http::verb::post, "/webhooks/stripe", 11, body};
        request.set(http::field::host, "localhost");
        request.set("Stripe-Signature", *webhook.headers.find("Stripe-Signature"));
        request.prepare_payload();
        http::write(client, request);
        Response response;
        http::read(client, buffer, response);
        std::printf("%u %s\n", response.result_int(), response.body().c_str());
        return response.result_int();
    };
    const unsigned first = post(webhook.body);
    const unsigned again = post(webhook.body);
    const unsigned forged = post(R"({"id":"evt_2","type":"invoice.paid"})");
    client.close();
    serving.join();

    CHECK(first == 202);
    CHECK(again == 200);
    CHECK(forged == 400);
    CHECK(app.run_until_idle());  // "billing" has run once
}
