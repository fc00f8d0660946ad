/// What another outbox promises of its webhooks (WH…, DD14, TN…) and where it fails (W-ON…), one by one, with
/// subscriptions of a running server. tests/scenarios/README.md says which is which.

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/endpoint.hpp"
#include "sqlite/own_connection.hpp"
#include "support/receiver.hpp"
#include "waybill/signing.hpp"
#include "waybill/sqlite/publish.hpp"

namespace waybill::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

json::Value shown(ServerUnderTest& server, const std::string& message) {
    return parsed(server.operate("GET", "/v1/messages/" + message));
}

/// What became of a message for one subscription, as people see it.
std::string error_of(const json::Value& message, const Subscription& subscription) {
    for (const json::Value& attempt : message.find("attempts")->as_array()) {
        if (attempt.find("target")->as_string() != key_of(subscription)) continue;
        return attempt.find("result")->as_string() + " " + attempt.find("error")->as_string();
    }
    return "no attempt";
}

// WH1
TEST(WebhooksOut, ASubscriptionNeedsOnlyAUrlAndIsReadChangedAndTurnedOff) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string id = added(server, R"({"url":")" + endpoint.url() + "\"}");
    const std::string path = "/v1/subscriptions/" + id;

    const json::Value fresh = parsed(server.operate("GET", path));
    EXPECT_EQ(fresh.find("type")->as_string(), "*");
    EXPECT_EQ(fresh.find("tenant")->as_string(), "");
    EXPECT_EQ(fresh.find("state")->as_string(), "active");
    EXPECT_EQ(fresh.find("timeout")->as_string(), "30s");
    EXPECT_EQ(fresh.find("retry")->find("max_attempts")->as_uint64(), 5U);
    EXPECT_EQ(fresh.find("secrets")->as_array().size(), 1U);
    EXPECT_EQ(fresh.find("changed_at")->as_string(), fresh.find("created_at")->as_string());

    ASSERT_EQ(server.operate("POST", path, R"({"type":"order.placed","timeout":"2s"})")->status,
              200);
    ASSERT_EQ(server.operate("POST", path + "/disable")->status, 200);
    const json::Value changed = parsed(server.operate("GET", path));
    EXPECT_EQ(changed.find("type")->as_string(), "order.placed");
    EXPECT_EQ(changed.find("timeout")->as_string(), "2s");
    EXPECT_EQ(changed.find("url")->as_string(), fresh.find("url")->as_string());
    EXPECT_EQ(changed.find("state")->as_string(), "disabled");
    EXPECT_EQ(changed.find("created_at")->as_string(), fresh.find("created_at")->as_string());
    EXPECT_NE(changed.find("changed_at")->as_string(), fresh.find("changed_at")->as_string());
}

// WH2
TEST(WebhooksOut, WhoIsActiveAndWantsTheTypeAndTheTenantGetsIt) {
    Endpoint endpoint;
    struct Wish {
        const char* name;
        const char* type;
        const char* tenant;
        Subscription::State state;
        bool gets;
    };
    using enum Subscription::State;
    const std::vector<Wish> wishes{
        {"exact", "order.placed", "", active, true},
        {"all", "*", "", active, true},
        {"beginning", "order.*", "", active, true},
        {"same-tenant", "order.placed", "acme", active, true},
        {"another-type", "order.paid", "", active, false},
        {"longer-type", "order.placed.twice", "", active, false},
        {"case", "Order.Placed", "ACME", active, true},
        {"another-tenant", "*", "acm", active, false},
        {"paused", "*", "", paused, false},
        {"disabled", "*", "", disabled, false},
    };
    std::vector<Subscription> all;
    std::vector<std::string> wanted;
    for (const Wish& wish : wishes) {
        Subscription one = to(endpoint, wish.type);
        one.tenant = wish.tenant;
        one.state = wish.state;
        one.url += std::string{"?"} + wish.name;
        all.push_back(one);
        if (wish.gets) wanted.push_back(std::string{"/in?"} + wish.name);
    }
    ServerUnderTest server{with(all)};

    publish(server, "1", R"(,"tenant":"acme")");
    ASSERT_TRUE(endpoint.wait_for(wanted.size()));
    // Whoever gets what it should not gets it before this.
    publish(server, "2", R"(,"tenant":"acme")");
    ASSERT_TRUE(endpoint.wait_for(2 * wanted.size()));

    std::vector<std::string> got;
    for (const HttpRequest& request : endpoint.requests()) {
        if (request.body == "1") got.push_back(request.target);
    }
    EXPECT_THAT(got, testing::UnorderedElementsAreArray(wanted));
}

// WH3
TEST(WebhooksOut, OneOfTheConfigurationThatMovesIsTheSameAndNothingIsSentTwice) {
    Endpoint before;
    Endpoint after;
    Subscription patient = to(before);
    patient.retry = {.max_attempts = 100, .backoff = {.schedule = {200ms}}};
    server::Config config = with({patient});
    ServerUnderTest server{config};
    ASSERT_TRUE(is_done(server, publish(server, "1")));
    before.answer_with(409);
    const std::string waits = publish(server, "2");
    ASSERT_TRUE(before.wait_for(2));

    config.subscriptions.front().url = after.url();
    server.server().reload(config);

    ASSERT_TRUE(is_done(server, waits));
    ASSERT_TRUE(is_done(server, publish(server, "3")));
    EXPECT_THAT(after.bodies(), ElementsAre("2", "3"));
}

// WH6
TEST(WebhooksOut, ARequestIsAPostOfTheBytesThatWereStored) {
    Endpoint endpoint;
    Subscription outbox = to(endpoint);
    outbox.signing = {webhook::HeaderSet::outbox};
    ServerUnderTest server{with({outbox})};
    const std::string bytes("\0\xff\r\n{", 5);

    const auto published =
        server.operate("POST", "/v1/messages",
                       R"({"type":"t","content_type":"application/x-own","body_base64":")" +
                           signing::to_base64(bytes) + "\"}");
    const std::string id = parsed(published).find("id")->as_string();
    ASSERT_TRUE(is_done(server, id));
    ASSERT_TRUE(is_done(server, publish(server, "plain")));

    const HttpRequest first = endpoint.requests().at(0);
    EXPECT_EQ(first.method, "POST");
    EXPECT_EQ(first.target, "/in");
    EXPECT_EQ(first.body, bytes);
    EXPECT_EQ(*first.headers.find("Content-Type"), "application/x-own");
    const std::string subscription = to_string(server.config().subscriptions.front().id);
    EXPECT_EQ(*first.headers.find("X-Outbox-Subscription-Id"), subscription);
    EXPECT_THAT(*first.headers.find("X-Outbox-Timestamp"), testing::MatchesRegex("[0-9]{10}"));
    EXPECT_THAT(*first.headers.find("X-Outbox-Signature"),
                testing::MatchesRegex("sha256=[0-9a-f]{64}"));
    EXPECT_EQ(first.headers.find("X-Outbox-Correlation-Id"), nullptr);
    EXPECT_EQ(*endpoint.requests().at(1).headers.find("Content-Type"), "application/json");
}

// WH7, W-ON7
TEST(WebhooksOut, TwoHundredsAreSuccessAndAllElseSaysWhyNot) {
    Endpoint endpoint{[](const HttpRequest& request) {
        return HttpResponse{.status =
                                static_cast<std::uint16_t>(std::stoi(request.target.substr(4)))};
    }};
    Receiver hanging{[](Connection& connection) { connection.hang(); }};
    Receiver leaving{[](Connection& connection) { connection.request(); }};
    std::vector<Subscription> all;
    std::vector<std::string> wanted;
    const auto add = [&](const std::string& url, const std::string& result) {
        Subscription one = to(endpoint);
        one.url = url;
        one.retry.max_attempts = 1;
        if (url == hanging.url()) one.timeout = 200ms;
        all.push_back(one);
        wanted.push_back(result);
    };
    for (const char* status : {"200", "201", "202", "204", "226", "299"}) {
        add(endpoint.url() + "?" + status, "done ");
    }
    for (const char* status : {"300", "301", "304", "400", "401", "404", "409", "422", "429", "500",
                               "502", "503", "599"}) {
        add(endpoint.url() + "?" + status, std::string{"dead answered "} + status);
    }
    add(hanging.url(), "dead timeout: ");
    add(leaving.url(), "dead http: ");
    add("http://127.0.0.1:1/", "dead connect: ");
    ServerUnderTest server{with(all)};

    const std::string id = publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/messages/" + id, R"("state":"dead","appended_at")"));

    const json::Value message = shown(server, id);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const Subscription& one = server.config().subscriptions[i];
        EXPECT_THAT(error_of(message, one), testing::StartsWith(wanted[i])) << one.url;
    }
}

// WH7, W-ON7
TEST(WebhooksOut, ARetryAfterIsWhenItIsSentAgain) {
    Endpoint busy{[](const HttpRequest&) {
        return HttpResponse{.status = 503, .headers = {{"Retry-After", "1800"}}};
    }};
    ServerUnderTest server{with({to(busy)})};
    const StoreTime before = system_clock().wall();

    const std::string id = publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/messages/" + id, "answered 503"));

    const json::Value message = shown(server, id);
    const json::Value& delivery = message.find("deliveries")->as_array().at(0);
    EXPECT_EQ(delivery.find("failures")->as_uint64(), 1U);
    EXPECT_GE(delivery.find("due")->as_string(), server::time_text(before + 1799s))
        << "its own schedule says 10 ms";
}

// WH8, W-ON4
TEST(WebhooksOut, EachHasItsOwnTimeout) {
    Endpoint slow;
    slow.hold();
    Subscription patient = to(slow);
    patient.url += "?patient";
    Subscription hasty = to(slow);
    hasty.url += "?hasty";
    hasty.timeout = 100ms;
    hasty.retry.max_attempts = 1;
    ServerUnderTest server{with({patient, hasty})};

    const std::string id = publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/dead", "timeout"));
    slow.let_go();
    ASSERT_TRUE(server.eventually("/v1/messages/" + id, R"("state":"dead","appended_at")"));

    const json::Value message = shown(server, id);
    EXPECT_EQ(error_of(message, server.config().subscriptions[0]), "done ");
    EXPECT_THAT(error_of(message, server.config().subscriptions[1]), HasSubstr("timeout"));
}

// WH9, W-ON8
TEST(WebhooksOut, OfAnAnswerTheBeginningIsKept) {
    Endpoint talkative{[](const HttpRequest&) {
        return HttpResponse{.status = 500, .body = std::string(1'000'000, 'x')};
    }};
    Subscription once = to(talkative);
    once.retry.max_attempts = 1;
    ServerUnderTest server{with({once})};

    const std::string id = publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/messages/" + id, R"("state":"dead")"));

    const json::Value message = shown(server, id);
    const json::Value* const detail = message.find("attempts")->as_array().at(0).find("detail");
    // 4,000 and what says that it was cut.
    EXPECT_GE(detail->find("body")->as_string().size(), 3'900U);
    EXPECT_LE(detail->find("body")->as_string().size(), 4'003U);
    EXPECT_TRUE(detail->find("cut")->as_bool());
    EXPECT_LE(detail->find("body_bytes")->as_uint64(), 200'000U)
        << "more than response_max is read";
}

// WH10
TEST(WebhooksOut, AllSubscriptionsOfAMessageAreCalledBesideEachOther) {
    Endpoint endpoint;
    endpoint.hold();
    const std::size_t count = 20;
    std::vector<Subscription> all(count, to(endpoint));
    ServerUnderTest server{with(all)};

    const std::string id = publish(server, "1");
    ASSERT_TRUE(endpoint.wait_for(count)) << "some wait until others have been answered";
    endpoint.let_go();

    EXPECT_TRUE(is_done(server, id));
}

// WH10, W-ON4
TEST(WebhooksOut, NoMoreAreUnderWayThanItsConcurrency) {
    Endpoint endpoint;
    endpoint.hold();
    Endpoint other;
    Subscription two = to(endpoint);
    two.concurrency = 2;
    ServerUnderTest server{with({two, to(other)})};
    for (int i = 0; i < 6; ++i) publish(server, std::to_string(i));
    ASSERT_TRUE(other.wait_for(6)) << "all six are on their way";

    for (std::size_t came = 2; came <= 6; ++came) {
        ASSERT_TRUE(endpoint.wait_for(came));
        EXPECT_LE(endpoint.waiting(), 2U);
        endpoint.let_one_go();
    }
    endpoint.let_go();
}

// W-ON4
TEST(WebhooksOut, NoMoreAreSentThanItsRate) {
    Endpoint slow;
    Endpoint other;
    Subscription rated = to(slow);
    rated.rate = 0.01;
    ServerUnderTest server{with({rated, to(other)})};

    for (int i = 0; i < 20; ++i) publish(server, std::to_string(i));

    ASSERT_TRUE(other.wait_for(20));
    ASSERT_TRUE(slow.wait_for(1));
    EXPECT_EQ(slow.requests().size(), 1U);
}

// WH11
TEST(WebhooksOut, AMessageIsOpenWhileOneStillTriesAndDeadWhenNoneDoes) {
    Endpoint gives_up{[](const HttpRequest&) { return HttpResponse{.status = 400}; }};
    Endpoint tries;
    tries.hold();
    Subscription once = to(gives_up);
    once.retry.max_attempts = 1;
    ServerUnderTest server{with({once, to(tries)})};

    const std::string id = publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/dead", "answered 400"));
    EXPECT_THAT(server.operate("GET", "/v1/messages/" + id)->body,
                HasSubstr(R"("state":"open","appended_at")"));
    ASSERT_TRUE(tries.wait_for(1));
    tries.let_go();

    EXPECT_TRUE(server.eventually("/v1/messages/" + id, R"("state":"dead","appended_at")"));
}

// DD14
TEST(WebhooksOut, TheMessagesIdStaysOverRetriesAndEachAttemptHasItsOwn) {
    Endpoint flaky;
    flaky.answer([turns = 0](const HttpRequest&) mutable {
        return HttpResponse{.status = static_cast<std::uint16_t>(++turns < 3 ? 409 : 200)};
    });
    Subscription outbox = to(flaky);
    outbox.signing = {webhook::HeaderSet::outbox};
    ServerUnderTest server{with({outbox})};

    const std::string id = publish(server, "1");
    ASSERT_TRUE(is_done(server, id));

    const auto requests = flaky.requests();
    ASSERT_EQ(requests.size(), 3U);
    const json::Value message = shown(server, id);
    const json::Array& attempts = message.find("attempts")->as_array();
    Message known;
    known.id = parse_uuid(id).value();
    std::vector<std::string> delivery_ids;
    for (std::size_t i = 0; i < 3; ++i) {
        const HttpHeaders& headers = requests[i].headers;
        EXPECT_EQ(*headers.find("X-Outbox-Message-Id"), id);
        delivery_ids.push_back(*headers.find("X-Outbox-Delivery-Id"));
        EXPECT_EQ(attempts.at(i).find("detail")->find("delivery_id")->as_string(),
                  delivery_ids.back())
            << "what the receiver logs is what we log";
        const auto number = static_cast<std::uint32_t>(attempts.at(i).find("number")->as_uint64());
        EXPECT_EQ(delivery_ids.back(), to_string(webhook::delivery_id(
                                           known, server.config().subscriptions[0].id, number)));
    }
    EXPECT_NE(delivery_ids[0], delivery_ids[1]);
    EXPECT_NE(delivery_ids[1], delivery_ids[2]);
}

// TN1
TEST(WebhooksOut, ATenantWithABoxOfItsOwnIsServedByWhoeverHasThatBox) {
    Endpoint acme;
    Subscription of_acme = to(acme);
    of_acme.box = "outbox-acme";
    server::Config config = with({of_acme});
    config.boxes.push_back({.name = "outbox-acme", .options = {.unmatched = Unmatched::park}});
    config.boxes.push_back({.name = "outbox-other", .options = {.unmatched = Unmatched::park}});
    ServerUnderTest server{config};

    const std::string others =
        publish(server, "other", R"(,"tenant":"other","box":"outbox-other")");
    ASSERT_TRUE(is_done(server, publish(server, "1", R"(,"tenant":"acme","box":"outbox-acme")")));

    EXPECT_THAT(acme.bodies(), ElementsAre("1"));
    EXPECT_TRUE(server.eventually("/v1/messages/" + others, R"("state":"parked")"));
}

TEST(WebhooksOut, EndpointsThatHangDoNotHoldUpAnotherInABoxOfTheirOwnEither) {
    constexpr std::size_t kHanging = 50;
    Endpoint hanging;
    hanging.hold();
    Endpoint well;
    std::vector<Subscription> all;
    for (std::size_t i = 0; i <= kHanging; ++i) {
        all.push_back(i < kHanging ? to(hanging, "hang") : to(well, "ok"));
        all.back().box = "outbox-acme";
        all.back().timeout = 10min;
    }
    server::Config config = with(all);
    config.boxes.push_back({.name = "outbox-acme", .options = {.unmatched = Unmatched::done}});
    ServerUnderTest server{config};
    const auto publish_to = [&](const std::string& type) {
        return parsed(server.operate("POST", "/v1/messages",
                                     R"({"box":"outbox-acme","body":"1","type":")" + type + "\"}"))
            .find("id")
            ->as_string();
    };
    for (int i = 0; i < 10; ++i) publish_to("hang");
    ASSERT_TRUE(hanging.wait_for(kHanging * 8)) << "each has what it may have under way";

    EXPECT_TRUE(is_done(server, publish_to("ok")));
    EXPECT_EQ(hanging.waiting(), kHanging * 8);
    hanging.let_go();
}

// TN2
TEST(WebhooksOut, ATenantsSecretIsBelievedAsLongAsTold) {
    for (const Duration ttl : {Duration{1h}, Duration{0}}) {
        Endpoint endpoint;
        server::Config config = with({to(endpoint)});
        TemporaryFolder folder;
        config.secrets.tenant_pattern = "file:" + folder.file("{tenant}");
        config.secrets.cache_ttl = ttl;
        ServerUnderTest server{config};
        const auto publish_and_wait = [&](const std::string& body) {
            return is_done(server, publish(server, body, R"(,"tenant":"acme")"));
        };

        // That there is none is believed for moments, too.
        if (ttl == 0s) {
            ASSERT_TRUE(publish_and_wait("none"));
        }
        std::ofstream{folder.file("acme")} << "the first of them\n";
        ASSERT_TRUE(publish_and_wait("first"));
        std::ofstream{folder.file("acme")} << "the second of them\n";
        ASSERT_TRUE(publish_and_wait("second"));

        auto requests = endpoint.requests();
        if (ttl == 0s) {
            EXPECT_TRUE(is_signed_with(requests.at(0), endpoint_secret))
                << "the subscription's own";
            requests.erase(requests.begin());
        }
        ASSERT_EQ(requests.size(), 2U);
        EXPECT_TRUE(is_signed_with(requests[0], "the first of them"));
        EXPECT_TRUE(
            is_signed_with(requests[1], ttl > 0s ? "the first of them" : "the second of them"));
    }
}

// W-ON1
TEST(WebhooksOut, WhatIsPublishedInATransactionIsSentWhenItCommitsAndNeverWhenItDoesNot) {
    Endpoint endpoint;
    ServerUnderTest server{with({to(endpoint)})};
    OwnConnection own{server.store_file()};
    own.run("create table business (id integer primary key)");
    const auto publish_in_it = [&](const std::string& body) {
        own.run("begin");
        own.run("insert into business default values");
        sqlite::publish(own.handle(), {.box = "outbox", .type = "t", .body = body});
    };

    publish_in_it("rolled back");
    own.run("rollback");
    publish_in_it("committed");
    EXPECT_THAT(endpoint.requests(), IsEmpty());
    own.run("commit");

    ASSERT_TRUE(endpoint.wait_for(1));
    ASSERT_TRUE(is_done(server, publish(server, "later")));
    EXPECT_THAT(endpoint.bodies(), UnorderedElementsAre("committed", "later"));
    EXPECT_EQ(own.ask("select count(*) from business"), "1");
}

// W-ON3
TEST(WebhooksOut, ALaneStaysInOrderOverRetriesAndNobodyElseIsInIt) {
    Endpoint flaky;
    flaky.answer([turns = 0](const HttpRequest&) mutable {
        return HttpResponse{.status = static_cast<std::uint16_t>(++turns < 3 ? 409 : 200)};
    });
    ServerUnderTest server{with({to(flaky)})};

    publish(server, "1", R"(,"lane":"l","tenant":"t","user":"u")");
    publish(server, "2", R"(,"lane":"l","tenant":"t","user":"u")");
    ASSERT_TRUE(is_done(server, publish(server, "3", R"(,"lane":"l","tenant":"t","user":"u")")));

    EXPECT_THAT(flaky.bodies(), ElementsAre("1", "1", "1", "2", "3"));
}

// W-ON3
TEST(WebhooksOut, OneTenantAndUserAreNoLane) {
    Endpoint endpoint;
    endpoint.hold();
    ServerUnderTest server{with({to(endpoint)})};

    publish(server, "1", R"(,"tenant":"t","user":"u")");
    publish(server, "2", R"(,"tenant":"t","user":"u")");

    EXPECT_TRUE(endpoint.wait_for(2)) << "the second waits for the first, and nobody asked it to";
    endpoint.let_go();
}

// W-ON5
TEST(WebhooksOut, EachHasItsOwnAttemptsHoweverMany) {
    Endpoint gives_up{[](const HttpRequest&) { return HttpResponse{.status = 409}; }};
    Endpoint late;
    late.answer([turns = 0](const HttpRequest&) mutable {
        return HttpResponse{.status = static_cast<std::uint16_t>(++turns < 8 ? 409 : 200)};
    });
    Subscription once = to(gives_up);
    once.retry.max_attempts = 1;
    Subscription often = to(late);
    often.retry.max_attempts = 8;
    ServerUnderTest server{with({once, often})};

    const std::string id = publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/messages/" + id, R"("state":"dead","appended_at")"));

    EXPECT_EQ(gives_up.requests().size(), 1U);
    EXPECT_EQ(late.requests().size(), 8U);
    const json::Value message = shown(server, id);
    ASSERT_EQ(message.find("dead")->as_array().size(), 1U) << "the healthy one was given up too";
}

// W-ON8
TEST(WebhooksOut, AnAnswerWhoseBodyStallsIsAnAnswer) {
    Receiver stalling{[](Connection& connection) {
        connection.request();
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegins");
        connection.hang();
    }};
    Endpoint unused;
    Subscription short_time = to(unused);
    short_time.url = stalling.url();
    short_time.timeout = 1s;
    ServerUnderTest server{with({short_time})};

    ASSERT_TRUE(is_done(server, publish(server, "1")));
    EXPECT_EQ(stalling.served(), 1) << "it was sent again";
}

// W-ON8
TEST(WebhooksOut, WhoRepeatsARequestLaterIsNotBelieved) {
    Endpoint endpoint;
    ServerUnderTest server{with({to(endpoint)})};
    ASSERT_TRUE(is_done(server, publish(server, "1")));

    HttpRequest captured = endpoint.requests().at(0);
    ASSERT_TRUE(is_signed_with(captured, endpoint_secret));
    const std::string later_on =
        std::to_string(std::stoll(*captured.headers.find("webhook-timestamp")) + 100);
    captured.headers.set("webhook-timestamp", later_on);

    EXPECT_FALSE(is_signed_with(captured, endpoint_secret)) << "the time is not signed";
}

// W-ON11
TEST(WebhooksOut, WhatNobodyWantsYetWaitsWhereTheBoxSaysSo) {
    Endpoint endpoint;
    server::Config config = with({});
    config.boxes[1].options.unmatched = Unmatched::park;
    ServerUnderTest server{config};
    const std::string id = publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/messages/" + id, R"("state":"parked")"));

    added(server, R"({"url":")" + endpoint.url() + "\"}");

    EXPECT_TRUE(is_done(server, id));
    EXPECT_THAT(endpoint.bodies(), ElementsAre("1"));
}

}  // namespace
}  // namespace waybill::test
