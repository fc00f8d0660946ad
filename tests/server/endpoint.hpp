#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/address.hpp"
#include "server/fixture.hpp"
#include "transport/http_in/http_in.hpp"
#include "waybill/json/value.hpp"
#include "waybill/subscription.hpp"

/// Whom webhooks go out to in tests, and servers that have such subscriptions.
namespace waybill::test {

inline const std::string endpoint_secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Remembers what it got, and answers as told.
class Endpoint {
public:
    using Answer = std::function<HttpResponse(const HttpRequest&)>;

    explicit Endpoint(Answer answer =
                          [](const HttpRequest&) { return HttpResponse{.status = 204}; })
        : answer_(std::move(answer)),
          door_({.port = 0}, [this](HttpRequest request, const http_in::Reply& reply) {
              const std::lock_guard lock{mutex_};
              requests_.push_back(std::move(request));
              reply(answer_(requests_.back()));
          }) {}

    std::string url() const { return "http://127.0.0.1:" + std::to_string(door_.port()) + "/in"; }
    void answer(Answer answer) {
        const std::lock_guard lock{mutex_};
        answer_ = std::move(answer);
    }
    void answer_with(unsigned status) {
        answer([status](const HttpRequest&) { return HttpResponse{.status = status}; });
    }
    std::vector<HttpRequest> requests() {
        const std::lock_guard lock{mutex_};
        return requests_;
    }
    std::vector<std::string> bodies() {
        std::vector<std::string> all;
        for (const HttpRequest& request : requests()) all.push_back(request.body);
        return all;
    }

private:
    std::mutex mutex_;  ///< guards the two below
    Answer answer_;
    std::vector<HttpRequest> requests_{};
    http_in::HttpIn door_;
};

inline Subscription to(const Endpoint& endpoint, const std::string& type = "*") {
    Subscription subscription;
    subscription.type = type;
    subscription.url = endpoint.url();
    subscription.secrets = {{.value = endpoint_secret}};
    subscription.retry.backoff.schedule = {std::chrono::milliseconds{10}};
    subscription.is_static = true;
    return subscription;
}

inline server::Config with(std::vector<Subscription> subscriptions) {
    server::Config config;
    config.sources = {source_named("github", "github")};
    config.egress.rules.allow = {parse_network("127.0.0.1/32").value()};
    std::uint32_t ordinal = 0;
    for (Subscription& one : subscriptions) {
        if (one.id.is_nil()) one.id = static_subscription_id(one, ordinal++);
    }
    config.subscriptions = std::move(subscriptions);
    config.boxes = {{.name = "inbox"},
                    {.name = "outbox",
                     .options = {.unmatched = Unmatched::done, .attempts_log = AttemptsLog::all}}};
    return config;
}

inline json::Value parsed(const std::optional<HttpAnswer>& answer) {
    return json::parse(answer.value().body);
}

/// Publishes, and returns the message's id.
inline std::string publish(ServerUnderTest& server, const std::string& body,
                           const std::string& more = {}) {
    const auto answer = server.operate(
        "POST", "/v1/messages", R"({"type":"order.placed","body":")" + body + "\"" + more + "}");
    return parsed(answer).find("id")->as_string();
}

inline bool is_done(ServerUnderTest& server, const std::string& id) {
    // Of the message, not of one of its deliveries.
    return server.eventually("/v1/messages/" + id, R"("state":"done","appended_at")");
}

inline std::string added(ServerUnderTest& server, const std::string& body) {
    const auto answer = server.operate("POST", "/v1/subscriptions", body);
    EXPECT_EQ(answer->status, 201) << answer->body;
    return parsed(answer).find("id")->as_string();
}

}  // namespace waybill::test
