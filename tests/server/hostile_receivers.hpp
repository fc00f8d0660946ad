#pragma once

#include <algorithm>
#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deliver/judge.hpp"
#include "server/endpoint.hpp"
#include "support/pacing.hpp"
#include "support/receiver.hpp"

/// Receivers that mean it ill, and what a server writes down of them.
namespace waybill::test {

/// One of them, and the record that it must leave, to the letter.
struct HostileReceiver {
    std::string name{};
    Receiver::Serve serve{};
    /// "done" or "dead"
    std::string result = "dead";
    /// Of the attempt: its detail as JSON, without times and the delivery's id. PORT is the receiver's.
    std::string detail{};
    /// Not empty: `error` is in words of libcurl or OpenSSL, which have these in them; `detail` has ERROR there.
    std::string says{};
    /// How much of its body is read before it is left; `detail` has DRIPPED or MANY there.
    bool length_varies = false;
    ReceiverOptions options{};
    std::chrono::milliseconds timeout = std::chrono::minutes{2};
    /// Not empty: instead of the receiver's own.
    std::string scheme{};
};

/// What stands in the place of what is another time.
inline void replace_all(std::string& text, const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size())) {
        text.replace(at, what.size(), with);
    }
}

/// The longest that anything may take beyond its deadline: this machine may be slow.
inline constexpr std::chrono::microseconds slack_of_deadlines = std::chrono::seconds{10};

/// A detail without what differs from time to time; that is only looked over.
inline std::string record_of(const json::Value& detail, const HostileReceiver& hostile,
                             const std::string& port) {
    json::Object record;
    for (const auto& [name, value] : detail.as_object()) {
        if (name == "delivery_id") {
            EXPECT_EQ(value.as_string().size(), 36U) << hostile.name;
        } else if (name == "microseconds") {
            const std::chrono::microseconds total{value.find("total")->as_int64()};
            EXPECT_LT(total, hostile.timeout + slack_of_deadlines) << hostile.name;
            for (const auto& [part, took] : value.as_object()) {
                EXPECT_GE(took.as_int64(), 0) << hostile.name << ": " << part;
                EXPECT_LE(took.as_int64(), total.count()) << hostile.name << ": " << part;
            }
            const json::Value* const error = detail.find("error");
            if (error != nullptr && error->as_string().starts_with("timed out")) {
                EXPECT_GE(total, hostile.timeout) << hostile.name;
            }
        } else if (name == "error" && !hostile.says.empty()) {
            EXPECT_THAT(value.as_string(), testing::HasSubstr(hostile.says)) << hostile.name;
            record.emplace_back(name, "ERROR");
        } else if (name == "body_bytes" && hostile.length_varies) {
            EXPECT_GE(value.as_uint64(), detail.find("body")->as_string().size()) << hostile.name;
            record.emplace_back(name, "MANY");
        } else if (name == "body" && hostile.length_varies &&
                   value.as_string().size() < deliver::logged_body_max) {
            EXPECT_EQ(value.as_string().find_first_not_of('x'), std::string::npos) << hostile.name;
            record.emplace_back(name, "DRIPPED");
        } else {
            record.emplace_back(name, value);
        }
    }
    std::string text = json::to_text(record);
    replace_all(text, port, "PORT");
    return text;
}

inline Subscription to(const HostileReceiver& hostile, const Receiver& receiver) {
    Subscription subscription;
    subscription.url = receiver.url("/in");
    if (!hostile.scheme.empty()) {
        subscription.url = hostile.scheme + subscription.url.substr(subscription.url.find(':'));
    }
    subscription.secrets = {{.value = endpoint_secret}};
    subscription.retry.max_attempts = 1;
    subscription.timeout = hostile.timeout;
    subscription.is_static = true;
    return subscription;
}

/// Publishes one message to all of them at once, and holds what is written down against what should be.
inline void expect_records(const std::vector<HostileReceiver>& all, const std::string& ca = {}) {
    std::list<Receiver> receivers;
    std::vector<Subscription> subscriptions;
    for (const HostileReceiver& hostile : all) {
        receivers.emplace_back(hostile.serve, hostile.options);
        subscriptions.push_back(to(hostile, receivers.back()));
    }
    server::Config config = with(std::move(subscriptions));
    config.egress.ca = ca;
    ServerUnderTest server{config};

    const std::string path = "/v1/messages/" + publish(server, "hello");
    json::Value message;
    ASSERT_TRUE(look_until(
        [&] {
            message = parsed(server.operate("GET", path));
            return message.find("attempts")->as_array().size() == all.size();
        },
        std::chrono::minutes{1}))
        << json::to_text(message);

    for (const json::Value& attempt : message.find("attempts")->as_array()) {
        const auto whose = std::ranges::find(server.config().subscriptions,
                                             attempt.find("target")->as_string(), key_of);
        const auto number = whose - server.config().subscriptions.begin();
        const HostileReceiver& hostile = all[static_cast<std::size_t>(number)];
        const std::string port = std::to_string(std::next(receivers.begin(), number)->port());
        EXPECT_EQ(record_of(*attempt.find("detail"), hostile, port), hostile.detail)
            << hostile.name;
        EXPECT_EQ(attempt.find("result")->as_string(), hostile.result) << hostile.name;
        EXPECT_EQ(attempt.find("number")->as_uint64(), 1U) << hostile.name;
    }
}

}  // namespace waybill::test
