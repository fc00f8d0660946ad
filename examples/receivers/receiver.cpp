// Receives webhooks from Waybill in C++, here with cpp-httplib; any HTTP server will do.
//
//     WEBHOOK_SECRETS='whsec_…' receiver 9000
//
// WEBHOOK_SECRETS: one or more, separated by spaces; any may match, so that the sender can rotate.
// WEBHOOK_SET: "standard" (as the sender is set up unless told otherwise) or "outbox".

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <httplib.h>

#include <waybill/system.hpp>
#include <waybill/webhook.hpp>

namespace {

// [receive]
class Receiver {
public:
    Receiver(std::vector<std::string> secrets, waybill::webhook::HeaderSet set)
        : secrets_(std::move(secrets)), set_(set) {}

    /// `body`: the bytes as they came, before anybody has parsed them.
    waybill::HttpResponse receive(const waybill::HttpHeaders& headers, const std::string& body) {
        const auto checked = waybill::webhook::verify(
            headers, body,
            {.secrets = secrets_, .set = set_, .now = waybill::system_clock().wall()});
        if (const auto* refused = std::get_if<waybill::Rejected>(&checked)) {
            return {.status = 400, .body = refused->message};
        }
        const auto& message = std::get<waybill::webhook::Verified>(checked);
        // A message may come more than once: its answer got lost, or its sender crashed.
        const std::string* const subscription = headers.find("X-Outbox-Subscription-Id");
        const auto key = std::pair{message.message_id, subscription ? *subscription : ""};
        const std::lock_guard lock{mutex_};
        if (handled_.contains(key)) return {.status = 200, .body = "duplicate"};
        std::printf("handled %s\n", message.message_id.c_str());  // your work
        handled_.insert(key);
        return {.status = 200, .body = "handled"};
    }

private:
    const std::vector<std::string> secrets_;
    const waybill::webhook::HeaderSet set_;
    std::mutex mutex_;  ///< guards the set below
    /// In a real service: a table, written in the transaction that does the work.
    std::set<std::pair<std::string, std::string>> handled_{};
};
// [/receive]

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

int main(int count, char** words) {
    std::istringstream text{variable("WEBHOOK_SECRETS")};
    std::vector<std::string> secrets;
    for (std::string secret; text >> secret;) secrets.push_back(secret);
    if (secrets.empty()) {
        std::fputs("set WEBHOOK_SECRETS to what the sender signs with\n", stderr);
        return 1;
    }
    const auto set = waybill::webhook::parse_header_set(variable("WEBHOOK_SET"));
    Receiver receiver{secrets, set.value_or(waybill::webhook::HeaderSet::standard)};

    httplib::Server server;
    server.set_payload_max_length(std::size_t{1} << 20);
    server.Post("/.*", [&](const httplib::Request& request, httplib::Response& answer) {
        waybill::HttpHeaders headers;
        for (const auto& [name, value] : request.headers) headers.add(name, value);
        const waybill::HttpResponse response = receiver.receive(headers, request.body);
        answer.status = static_cast<int>(response.status);
        answer.set_content(response.body, "text/plain");
    });
    int port = count > 1 ? std::atoi(words[1]) : 0;
    if (port != 0 && !server.bind_to_port("127.0.0.1", port)) {
        std::fprintf(stderr, "port %d is taken\n", port);
        return 1;
    }
    if (port == 0) port = server.bind_to_any_port("127.0.0.1");
    std::printf("listening on http://127.0.0.1:%d/\n", port);
    std::fflush(stdout);
    return server.listen_after_bind() ? 0 : 1;
}
