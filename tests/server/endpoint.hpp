#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/address.hpp"
#include "server/fixture.hpp"
#include "transport/http_in/http_in.hpp"
#include "waybill/json/value.hpp"
#include "waybill/subscription.hpp"
#include "waybill/webhook.hpp"

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
          door_({.port = 0}, [this](HttpRequest request, http_in::Reply reply) {
              const std::lock_guard lock{mutex_};
              requests_.push_back(std::move(request));
              if (hold_after_ && requests_.size() > hold_after_->first) {
                  is_holding_ = true;
                  answer_ = [status = hold_after_->second](const HttpRequest&) {
                      return HttpResponse{.status = status};
                  };
                  hold_after_.reset();
              }
              if (is_holding_) {
                  held_.push_back([reply = std::move(reply), answer = answer_(requests_.back())] {
                      reply(answer);
                  });
              } else {
                  reply(answer_(requests_.back()));
              }
              changed_.notify_all();
          }) {}

    std::string url() const { return "http://127.0.0.1:" + std::to_string(door_.port()) + "/in"; }
    void answer(Answer answer) {
        const std::lock_guard lock{mutex_};
        answer_ = std::move(answer);
    }
    void answer_with(unsigned status) {
        answer([status](const HttpRequest&) { return HttpResponse{.status = status}; });
    }
    /// Answers nobody until let_go().
    void hold() {
        const std::lock_guard lock{mutex_};
        is_holding_ = true;
    }
    /// From the one after so many on, which is too soon for a test to say it: the others, and how they are answered then.
    void hold_after(std::size_t count, unsigned status) {
        const std::lock_guard lock{mutex_};
        hold_after_ = {count, status};
    }
    void let_go() {
        const std::lock_guard lock{mutex_};
        is_holding_ = false;
        for (const auto& reply : std::exchange(held_, {})) reply();
    }
    /// The one that waits longest.
    void let_one_go() {
        const std::lock_guard lock{mutex_};
        held_.front()();
        held_.erase(held_.begin());
    }
    std::size_t waiting() {
        const std::lock_guard lock{mutex_};
        return held_.size();
    }
    /// Until that many have come, in all.
    bool wait_for(std::size_t count) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, std::chrono::seconds{60},
                                 [&] { return requests_.size() >= count; });
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
    std::mutex mutex_;  ///< guards the four below
    Answer answer_;
    std::vector<HttpRequest> requests_{};
    bool is_holding_ = false;
    std::optional<std::pair<std::size_t, unsigned>> hold_after_{};
    std::vector<std::function<void()>> held_{};
    std::condition_variable changed_{};
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

inline bool is_signed_with(const HttpRequest& request, const std::string& secret) {
    const auto verdict =
        webhook::verify(request.headers, request.body,
                        {.secrets = std::span{&secret, 1}, .now = system_clock().wall()});
    return std::holds_alternative<webhook::Verified>(verdict);
}

}  // namespace waybill::test
