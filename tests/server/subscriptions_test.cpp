#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/admin.hpp"
#include "server/endpoint.hpp"
#include "server/store_access.hpp"
#include "support/background.hpp"
#include "support/receiver.hpp"
#include "waybill/webhook.hpp"

/// Webhooks out, from the publishing request to the endpoint, over real sockets.
namespace waybill::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

TEST(Subscriptions, SendTheStoredBytesWithBothHeaderSets) {
    Endpoint endpoint;
    Subscription both = to(endpoint);
    both.signing = {webhook::HeaderSet::standard, webhook::HeaderSet::outbox};
    both.headers.add("X-Custom", "1");
    ServerUnderTest server{with({both})};

    const std::string id = publish(server, "hello", R"(,"correlation_id":"c-1")");
    ASSERT_TRUE(is_done(server, id));

    const auto requests = endpoint.requests();
    ASSERT_EQ(requests.size(), 1U);
    const HttpHeaders& headers = requests[0].headers;
    EXPECT_EQ(*headers.find("webhook-id"), id);
    EXPECT_EQ(*headers.find("X-Outbox-Message-Id"), id);
    EXPECT_EQ(*headers.find("X-Outbox-Event"), "order.placed");
    EXPECT_EQ(*headers.find("X-Outbox-Correlation-Id"), "c-1");
    EXPECT_EQ(*headers.find("X-Custom"), "1");
    for (const auto set : both.signing) {
        const auto verdict = webhook::verify(
            headers, requests[0].body,
            {.secrets = std::span{&endpoint_secret, 1}, .set = set, .now = system_clock().wall()});
        EXPECT_TRUE(std::holds_alternative<webhook::Verified>(verdict));
    }
}

TEST(Subscriptions, OnlyTheOneThatFailedIsCalledAgain) {
    Endpoint well;
    std::atomic<int> turns = 0;
    Endpoint flaky{
        [&](const HttpRequest&) { return HttpResponse{.status = ++turns == 1 ? 503U : 200U}; }};
    ServerUnderTest server{with({to(well), to(flaky)})};

    ASSERT_TRUE(is_done(server, publish(server, "1")));

    EXPECT_EQ(well.requests().size(), 1U);
    const auto again = flaky.requests();
    ASSERT_EQ(again.size(), 2U);
    EXPECT_EQ(*again[0].headers.find("webhook-id"), *again[1].headers.find("webhook-id"));
}

TEST(Subscriptions, AMessageThatNobodyWantsIsDone) {
    Endpoint endpoint;
    ServerUnderTest server{with({to(endpoint, "invoice.*")})};
    EXPECT_TRUE(is_done(server, publish(server, "1")));
    EXPECT_TRUE(endpoint.requests().empty());
}

TEST(Subscriptions, AnExhaustedOneIsADeadLetterAndTheOthersAreDone) {
    Endpoint well;
    Endpoint broken{[](const HttpRequest&) { return HttpResponse{.status = 500}; }};
    Subscription twice = to(broken);
    twice.retry.max_attempts = 2;
    ServerUnderTest server{with({to(well), twice})};

    const std::string id = publish(server, "1");

    ASSERT_TRUE(server.eventually("/v1/messages/" + id, R"("state":"dead")"));
    EXPECT_EQ(well.requests().size(), 1U);
    EXPECT_EQ(broken.requests().size(), 2U);
    const std::string letter = server.operate("GET", "/v1/dead")->body;
    EXPECT_THAT(letter, HasSubstr("failed 2 times: answered 500"));
}

TEST(Subscriptions, TenantsGetTheirOwnAndTheRestGetsTheDefault) {
    Endpoint acme;
    Endpoint rest;
    Endpoint all;
    Subscription of_acme = to(acme);
    of_acme.tenant = "acme";
    Subscription of_rest = to(rest);
    of_rest.tenant = "default";
    ServerUnderTest server{with({of_acme, of_rest, to(all)})};

    ASSERT_TRUE(is_done(server, publish(server, "1", R"(,"tenant":"acme")")));
    ASSERT_TRUE(is_done(server, publish(server, "2", R"(,"tenant":"other")")));
    ASSERT_TRUE(is_done(server, publish(server, "3")));

    EXPECT_THAT(acme.bodies(), ElementsAre("1"));
    EXPECT_THAT(rest.bodies(), UnorderedElementsAre("2", "3"));
    EXPECT_THAT(all.bodies(), UnorderedElementsAre("1", "2", "3"));
}

TEST(Subscriptions, ATenantsOwnSecretSignsItsMessages) {
    Endpoint endpoint;
    server::Config config = with({to(endpoint)});
    TemporaryFolder folder;
    std::ofstream{folder.file("acme")} << "of-acme-and-nobody-else\n";
    config.secrets.tenant_pattern = "file:" + folder.file("{tenant}");
    ServerUnderTest server{config};

    ASSERT_TRUE(is_done(server, publish(server, "1", R"(,"tenant":"acme")")));
    ASSERT_TRUE(is_done(server, publish(server, "2", R"(,"tenant":"other")")));
    ASSERT_TRUE(is_done(server, publish(server, "3", R"(,"tenant":"../acme")")));

    const std::string own = "of-acme-and-nobody-else";
    for (const HttpRequest& request : endpoint.requests()) {
        const std::string& secret = request.body == "1" ? own : endpoint_secret;
        const auto verdict =
            webhook::verify(request.headers, request.body,
                            {.secrets = std::span{&secret, 1}, .now = system_clock().wall()});
        EXPECT_TRUE(std::holds_alternative<webhook::Verified>(verdict)) << request.body;
    }
}

TEST(Subscriptions, NothingGoesOutUnsignedWhenATenantsSecretCannotBeHad) {
    Endpoint endpoint;
    Subscription without = to(endpoint);
    without.secrets.clear();
    without.retry.max_attempts = 1;
    server::Config config = with({without});
    config.secrets.tenant_pattern = "cmd:false {tenant}";
    ServerUnderTest server{config};

    const std::string id = publish(server, "1", R"(,"tenant":"acme")");

    ASSERT_TRUE(server.eventually("/v1/messages/" + id, R"("state":"dead")"));
    EXPECT_TRUE(endpoint.requests().empty());
}

TEST(Subscriptions, AnEndpointThatHangsDoesNotHoldUpAnother) {
    Receiver hanging{[](Connection& connection) { connection.hang(); }};
    Endpoint well;
    Subscription stuck = to(well);
    stuck.url = hanging.url();
    server::Config config = with({stuck, to(well)});
    config.engine.shutdown_timeout = 1s;  // nobody answers in the end, either
    ServerUnderTest server{config};

    for (int n = 0; n < 100; ++n) publish(server, std::to_string(n), R"(,"lane":"one")");

    for (const auto patience = later(system_clock().now(), 60s);
         well.requests().size() < 100 && system_clock().now() < patience;) {
        std::this_thread::yield();
    }
    const auto bodies = well.bodies();
    ASSERT_EQ(bodies.size(), 100U);
    for (int n = 0; n < 100; ++n) {
        EXPECT_EQ(bodies[static_cast<std::size_t>(n)], std::to_string(n)) << "out of order";
    }
    EXPECT_GE(hanging.connections(), 1);
}

TEST(Subscriptions, OneThatAnswersGoneIsDisabledAndItsMessagesWait) {
    Endpoint endpoint{[](const HttpRequest&) { return HttpResponse{.status = 410}; }};
    server::Config config = with({});
    ServerUnderTest server{config};
    const std::string id = added(server, R"({"url":")" + endpoint.url() + "\"}");

    const std::string first = publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/messages/" + first, R"("state":"dead")"));
    ASSERT_TRUE(server.eventually("/v1/subscriptions/" + id, R"("state":"disabled")"));
    const std::string second = publish(server, "2");
    EXPECT_THAT(server.operate("GET", "/v1/messages/" + second)->body,
                HasSubstr(R"("state":"open")"));
    const std::string probed = HttpClient{server.port()}.get("/readyz")->body;
    EXPECT_THAT(probed, HasSubstr(id + " is disabled, and its messages wait"));
    EXPECT_THAT(probed, Not(HasSubstr(endpoint.url()))) << "it may be a secret";

    endpoint.answer_with(200);
    EXPECT_EQ(server.operate("POST", "/v1/subscriptions/" + id + "/enable")->status, 200);
    EXPECT_TRUE(is_done(server, second));
    EXPECT_THAT(endpoint.bodies(), ElementsAre("1", "2"));
}

TEST(Subscriptions, WhatWaitedCanBeSkipped) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string id = added(server, R"({"url":")" + endpoint.url() + R"(","paused":true})");
    const std::string old = publish(server, "old");

    ASSERT_EQ(
        server.operate("POST", "/v1/subscriptions/" + id + "/resume", R"({"skip":true})")->status,
        200);
    ASSERT_TRUE(server.eventually("/v1/messages/" + old, "skipped by an operator"));
    ASSERT_TRUE(is_done(server, publish(server, "new")));
    EXPECT_THAT(endpoint.bodies(), ElementsAre("new"));

    ASSERT_EQ(server.operate("POST", "/v1/dead/requeue", R"({"message":")" + old + "\"}")->status,
              200);
    ASSERT_TRUE(is_done(server, old)) << "who asks for one by name wants it";
    EXPECT_THAT(endpoint.bodies(), ElementsAre("new", "old"));
}

TEST(Subscriptions, AnOpenCircuitBurnsNoAttempts) {
    Endpoint broken{[](const HttpRequest&) { return HttpResponse{.status = 500}; }};
    Subscription once = to(broken);
    once.concurrency = 1;
    once.retry.max_attempts = 1;
    ServerUnderTest server{with({once})};

    for (int n = 0; n < 40; ++n) publish(server, std::to_string(n));

    // Five letters, and then it is left alone.
    ASSERT_TRUE(server.eventually("/v1/stats", R"("dead":5)"));
    EXPECT_EQ(broken.requests().size(), 5U);
    EXPECT_THAT(server.operate("GET", "/v1/stats")->body, HasSubstr(R"("open":35)"));
}

TEST(Subscriptions, AttemptsSayWhatWasAnswered) {
    Endpoint broken{[](const HttpRequest&) {
        return HttpResponse{.status = 500, .headers = {{"X-Why", "because"}}, .body = "no"};
    }};
    Subscription once = to(broken);
    once.retry.max_attempts = 1;
    ServerUnderTest server{with({once})};

    const std::string id = publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/messages/" + id, R"("state":"dead")"));

    const json::Value message = parsed(server.operate("GET", "/v1/messages/" + id));
    const json::Value& attempt = message.find("attempts")->as_array().at(0);
    const json::Value* const detail = attempt.find("detail");
    ASSERT_NE(detail, nullptr);
    EXPECT_EQ(detail->find("status")->as_uint64(), 500U);
    EXPECT_EQ(detail->find("body")->as_string(), "no");
    EXPECT_EQ(detail->find("headers")->find("X-Why")->as_string(), "because");
    EXPECT_EQ(detail->find("delivery_id")->as_string().size(), 36U);
    EXPECT_GT(detail->find("microseconds")->find("total")->as_int64(), 0);
}

TEST(Subscriptions, AnAddressThatIsNotAllowedIsNamedInTheAttempt) {
    Endpoint endpoint;
    Subscription once = to(endpoint);
    once.retry.max_attempts = 1;
    server::Config config = with({once});
    config.egress.rules.allow.clear();
    ServerUnderTest server{config};

    const std::string id = publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/messages/" + id, R"("state":"dead")"));

    const std::string message = server.operate("GET", "/v1/messages/" + id)->body;
    EXPECT_THAT(message, HasSubstr(R"("failure":"blocked")"));
    EXPECT_THAT(message, HasSubstr(R"("verdict":"loopback")"));
    EXPECT_TRUE(endpoint.requests().empty());
    EXPECT_THAT(
        server.operate("GET", "/metrics")->body,
        HasSubstr(R"(waybill_webhooks_unanswered_total{failure="blocked",verdict="loopback"} 1)"));
    const auto refused =
        server.operate("POST", "/v1/subscriptions", R"({"url":")" + endpoint.url() + "\"}");
    EXPECT_EQ(refused->status, 400) << refused->body;
}

TEST(Subscriptions, OneThatIsAddedGetsTheNextMessageAndOneThatIsRemovedNone) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string id = added(server, R"({"type":"order.*","url":")" + endpoint.url() + "\"}");

    ASSERT_TRUE(is_done(server, publish(server, "1")));
    EXPECT_THAT(endpoint.bodies(), ElementsAre("1"));

    ASSERT_EQ(server.operate("POST", "/v1/subscriptions/" + id + "/remove")->status, 200);
    ASSERT_TRUE(is_done(server, publish(server, "2")));
    EXPECT_THAT(endpoint.bodies(), ElementsAre("1"));
    EXPECT_EQ(server.operate("GET", "/v1/subscriptions/" + id)->status, 404);
}

/// It would have signed, and anybody could have guessed it.
TEST(Subscriptions, WhatIsLookedUpInAConfigurationIsNoSecretHere) {
    ServerUnderTest server{with({})};

    const auto refused = server.operate("POST", "/v1/subscriptions",
                                        R"({"url":"https://example.com/","secret":"env:SECRET"})");

    EXPECT_EQ(refused->status, 400);
    EXPECT_THAT(refused->body, HasSubstr("is not looked up here"));
}

TEST(Subscriptions, AnAdditionOrARotationUnderOneIdIsCarriedOutOnceAndItsSecretToldOnce) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string add = R"({"url":")" + endpoint.url() + "\"}";
    const auto order = [&](const std::string& target, const std::string& id,
                           const std::string& body) {
        return server.operate("POST", target, body, "Idempotency-Key: " + id + "\r\n");
    };

    const auto first = order("/v1/subscriptions", "add-1", add);
    const auto again = order("/v1/subscriptions", "add-1", add);
    ASSERT_EQ(first->status, 201) << first->body;
    ASSERT_EQ(again->status, 201) << again->body;
    const std::string id = parsed(first).find("id")->as_string();
    EXPECT_EQ(parsed(again).find("id")->as_string(), id);
    EXPECT_EQ(parsed(again).find("secret"), nullptr);
    EXPECT_EQ(parsed(server.operate("GET", "/v1/subscriptions")).find("items")->as_array().size(),
              1U);
    EXPECT_EQ(order("/v1/subscriptions", "add-1", R"({"url":"https://example.com/"})")->status,
              409);

    const std::string rotate = "/v1/subscriptions/" + id + "/rotate-secret";
    const auto rotated = order(rotate, "rotate-1", "");
    const auto repeated = order(rotate, "rotate-1", "");
    ASSERT_NE(parsed(rotated).find("secret"), nullptr);
    EXPECT_EQ(repeated->status, 200);
    EXPECT_EQ(parsed(repeated).find("secret"), nullptr);
    EXPECT_EQ(
        parsed(server.operate("GET", "/v1/subscriptions/" + id)).find("secrets")->as_array().size(),
        2U)
        << "rotated twice";
    for (const char* operation : {"add-1", "rotate-1"}) {
        EXPECT_THAT(server.operate("GET", std::string{"/v1/operations/"} + operation)->body,
                    Not(HasSubstr("whsec_")));
    }
}

TEST(Subscriptions, ASecretThatWasJustMadeIsAnsweredAlsoWhenWhoSendsCannotBeTold) {
    const auto memory = server::open_store("memory:", {});
    server::Admin admin{memory->connect(),
                        memory->notebook(),
                        [](const std::string&) {},
                        [](const Message&) { return AppendResult{}; },
                        [] { return std::make_shared<const server::Config>(with({})); },
                        {},
                        [] {
                            throw StoreError{Reaction::reconnect, "gone"};
                        }};
    const auto order = [&](const std::string& target, const std::string& body) {
        return admin.handle({.method = "POST", .target = target, .body = body}, "ada");
    };

    const HttpResponse fresh = order("/v1/subscriptions", R"({"url":"http://127.0.0.1:9/"})");
    ASSERT_EQ(fresh.status, 201U) << fresh.body;
    EXPECT_THAT(fresh.body, HasSubstr("whsec_"));
    const std::string id = json::parse(fresh.body).find("id")->as_string();

    const HttpResponse rotated = order("/v1/subscriptions/" + id + "/rotate-secret", "");
    EXPECT_EQ(rotated.status, 200U) << rotated.body;
    EXPECT_THAT(rotated.body, HasSubstr("whsec_"));
}

TEST(Subscriptions, ToRemoveAHeaderIsNotTheSameOrderAsToSetIt) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string path =
        "/v1/subscriptions/" +
        added(server, R"({"headers":{"X-A":"1"},"url":")" + endpoint.url() + "\"}");
    const auto order = [&](const std::string& body) {
        return server.operate("POST", path, body, "Idempotency-Key: op-1\r\n");
    };

    ASSERT_EQ(order(R"({"headers":{"X-A":null}})")->status, 200);
    EXPECT_EQ(order(R"({"headers":{"X-A":null}})")->status, 200);
    EXPECT_THAT(order(R"({"headers":{"X-A":"v"}})")->body, HasSubstr("operation-conflict"));
    EXPECT_THAT(order(R"({"X-A":null})")->body, HasSubstr("operation-conflict"));
}

TEST(Subscriptions, WhileASecretRotatesBothSign) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const auto answer =
        server.operate("POST", "/v1/subscriptions", R"({"url":")" + endpoint.url() + "\"}");
    const std::string id = parsed(answer).find("id")->as_string();
    const std::string before = parsed(answer).find("secret")->as_string();
    const auto rotated = server.operate("POST", "/v1/subscriptions/" + id + "/rotate-secret");
    const std::string after = parsed(rotated).find("secret")->as_string();
    ASSERT_NE(before, after);

    ASSERT_TRUE(is_done(server, publish(server, "1")));

    const auto requests = endpoint.requests();
    for (const std::string& secret : {before, after}) {
        const auto verdict =
            webhook::verify(requests.at(0).headers, requests.at(0).body,
                            {.secrets = std::span{&secret, 1}, .now = system_clock().wall()});
        EXPECT_TRUE(std::holds_alternative<webhook::Verified>(verdict));
    }
    for (const char* path : {"/v1/subscriptions", "/v1/operations/x"}) {
        EXPECT_THAT(server.operate("GET", path)->body, Not(HasSubstr("whsec_")));
    }
}

TEST(Subscriptions, WithAKeyNoSecretIsInTheStoresFile) {
    Endpoint endpoint;
    ::setenv("WAYBILL_TEST_SEALING_KEY", "0123456789abcdef0123456789abcdef", 1);
    server::Config config = with({});
    config.secrets.key = "env:WAYBILL_TEST_SEALING_KEY";
    ServerUnderTest server{config};
    added(server, R"({"secret":"very-secret-indeed","url":")" + endpoint.url() + "\"}");

    ASSERT_TRUE(is_done(server, publish(server, "1")));

    const auto requests = endpoint.requests();
    const std::string secret = "very-secret-indeed";
    const auto verdict =
        webhook::verify(requests.at(0).headers, requests.at(0).body,
                        {.secrets = std::span{&secret, 1}, .now = system_clock().wall()});
    EXPECT_TRUE(std::holds_alternative<webhook::Verified>(verdict));
    for (const char* suffix : {"", "-wal"}) {
        std::ifstream file{server.store_file() + suffix, std::ios::binary};
        const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
        EXPECT_EQ(bytes.find(secret), std::string::npos) << suffix;
    }
}

/// All of a store's file, and what waits to be written to it.
std::string bytes_of(const ServerUnderTest& server) {
    std::string bytes;
    for (const char* suffix : {"", "-wal"}) {
        std::ifstream file{server.store_file() + suffix, std::ios::binary};
        bytes.append(std::istreambuf_iterator<char>{file}, {});
    }
    return bytes;
}

TEST(Subscriptions, WithAKeyNoValueOfAHeaderIsInTheStoresFileOrInAnAnswer) {
    Endpoint endpoint;
    ::setenv("WAYBILL_TEST_SEALING_KEY", "0123456789abcdef0123456789abcdef", 1);
    server::Config config = with({});
    config.secrets.key = "env:WAYBILL_TEST_SEALING_KEY";
    ServerUnderTest server{config};
    const std::string id =
        added(server, R"({"headers":{"Authorization":"Bearer of-nobody-else"},"url":")" +
                          endpoint.url() + "\"}");

    ASSERT_TRUE(is_done(server, publish(server, "1")));

    EXPECT_EQ(*endpoint.requests().at(0).headers.find("Authorization"), "Bearer of-nobody-else");
    const std::string bytes = bytes_of(server);
    EXPECT_NE(bytes.find("Authorization"), std::string::npos) << "nothing was looked at";
    EXPECT_EQ(bytes.find("of-nobody-else"), std::string::npos);
    const std::string shown = server.operate("GET", "/v1/subscriptions/" + id)->body;
    EXPECT_THAT(shown, HasSubstr(R"("headers":{"Authorization":"…"})"));
    EXPECT_THAT(server.operate("GET", "/v1/subscriptions")->body, Not(HasSubstr("of-nobody")));
}

TEST(Subscriptions, OneWhoseHeadersNobodyCanOpenWaitsUntilTheyAreSetAgain) {
    Endpoint endpoint;
    ::setenv("WAYBILL_TEST_SEALING_KEY", "0123456789abcdef0123456789abcdef", 1);
    server::Config config = with({});
    config.secrets.key = "env:WAYBILL_TEST_SEALING_KEY";
    ServerUnderTest server{config};
    const std::string id = added(
        server, R"({"headers":{"X-Token":"old","X-Plain":"p"},"url":")" + endpoint.url() + "\"}");
    const std::string path = "/v1/subscriptions/" + id;
    ::setenv("WAYBILL_TEST_SEALING_KEY", "another-key-of-some-length-indeed", 1);
    server.server().reload(config);
    ASSERT_EQ(server.operate("POST", path + "/rotate-secret")->status, 200);
    EXPECT_THAT(server.operate("GET", path)->body, HasSubstr("its headers are sealed"));

    const std::string waits = publish(server, "1");
    ASSERT_EQ(server.operate("POST", path, R"({"headers":{"x-token":"new"}})")->status, 200);
    EXPECT_THAT(server.operate("GET", path)->body, HasSubstr("its headers are sealed"));
    EXPECT_TRUE(endpoint.requests().empty()) << "sent with what nobody can read";
    ASSERT_EQ(server.operate("POST", path, R"({"headers":{"X-Plain":null}})")->status, 200);

    ASSERT_TRUE(is_done(server, waits));
    const auto requests = endpoint.requests();
    EXPECT_EQ(*requests.at(0).headers.find("X-Token"), "new");
    EXPECT_EQ(requests.at(0).headers.find("X-Plain"), nullptr);
}

TEST(Subscriptions, ANewSecretDoesNotHideThatTheHeadersCannotBeOpenedEither) {
    Endpoint endpoint;
    ::setenv("WAYBILL_TEST_SEALING_KEY", "0123456789abcdef0123456789abcdef", 1);
    server::Config config = with({});
    config.secrets.key = "env:WAYBILL_TEST_SEALING_KEY";
    ServerUnderTest server{config};
    const std::string path =
        "/v1/subscriptions/" +
        added(server, R"({"headers":{"X-Token":"old"},"url":")" + endpoint.url() + "\"}");
    ::setenv("WAYBILL_TEST_SEALING_KEY", "another-key-of-some-length-indeed", 1);

    EXPECT_THAT(server.operate("POST", path + "/rotate-secret")->body,
                HasSubstr("its headers are sealed"));
    EXPECT_THAT(server.operate("POST", path, R"({"headers":{"X-Token":"new"}})")->body,
                Not(HasSubstr("sealed")))
        << "it was mended, and is said not to be";
}

TEST(Subscriptions, AScheduleIsReplacedAndNotContinued) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string id =
        added(server, R"({"retry":{"schedule":["1s","2s"]},"url":")" + endpoint.url() + "\"}");
    const std::string path = "/v1/subscriptions/" + id;

    ASSERT_EQ(server.operate("POST", path, R"({"retry":{"schedule":["3s"]}})")->status, 200);
    EXPECT_THAT(server.operate("GET", path)->body, HasSubstr(R"("schedule":["3s"])"));
    ASSERT_EQ(server.operate("POST", path, R"({"retry":{"schedule":[]}})")->status, 200);
    EXPECT_THAT(server.operate("GET", path)->body, Not(HasSubstr("schedule")));
}

TEST(Subscriptions, AHeaderIsReplacedOrRemovedAndTheOthersStay) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string id = added(
        server, R"({"headers":{"X-A":"1","X-B":"2","X-C":"3"},"url":")" + endpoint.url() + "\"}");
    const std::string path = "/v1/subscriptions/" + id;

    ASSERT_EQ(server.operate("POST", path, R"({"headers":{"x-b":"new","X-C":null}})")->status, 200);
    ASSERT_TRUE(is_done(server, publish(server, "1")));

    const HttpHeaders sent = endpoint.requests().at(0).headers;
    EXPECT_EQ(*sent.find("X-A"), "1");
    EXPECT_EQ(*sent.find("X-B"), "new");
    EXPECT_EQ(sent.count("X-B"), 1U);
    EXPECT_EQ(sent.find("X-C"), nullptr);
    for (const char* bad : {R"({"headers":{"X-A":7}})", R"({"headers":["X-A"]})",
                            R"({"headers":{"X-A":"sealed:x"}})", R"({"headers":{"Host":"x"}})"}) {
        EXPECT_EQ(server.operate("POST", path, bad)->status, 400) << bad;
    }
}

TEST(Subscriptions, OneWhoseSecretsNobodyCanOpenGoesOnWithANewSecret) {
    Endpoint endpoint;
    ::setenv("WAYBILL_TEST_SEALING_KEY", "0123456789abcdef0123456789abcdef", 1);
    server::Config config = with({});
    config.secrets.key = "env:WAYBILL_TEST_SEALING_KEY";
    ServerUnderTest server{config};
    const std::string id = added(server, R"({"url":")" + endpoint.url() + "\"}");
    ::setenv("WAYBILL_TEST_SEALING_KEY", "another-key-of-some-length-indeed", 1);
    EXPECT_THAT(server.operate("GET", "/v1/subscriptions")->body, HasSubstr("another key"));

    ASSERT_EQ(server.operate("POST", "/v1/subscriptions/" + id + "/rotate-secret")->status, 200);

    EXPECT_THAT(server.operate("GET", "/v1/subscriptions")->body, Not(HasSubstr("another key")));
}

TEST(Subscriptions, OfAKeyPairOnlyThePublicHalfIsShown) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const auto answer = server.operate("POST", "/v1/subscriptions",
                                       R"({"ed25519":true,"url":")" + endpoint.url() + "\"}");
    EXPECT_THAT(answer->body, HasSubstr("whpk_"));
    EXPECT_THAT(answer->body, Not(HasSubstr("whsk_")));
}

TEST(Subscriptions, AnExampleIsSentAtOnceAlsoToAnotherUrl) {
    Endpoint endpoint;
    Endpoint other;
    ServerUnderTest server{with({to(endpoint)})};
    const std::string id = to_string(server.config().subscriptions.front().id);

    const auto sent = server.operate("POST", "/v1/subscriptions/" + id + "/test");
    EXPECT_THAT(sent->body, HasSubstr(R"("delivered":true)"));
    const auto elsewhere = server.operate("POST", "/v1/subscriptions/" + id + "/test",
                                          R"({"url":")" + other.url() + "\"}");
    EXPECT_THAT(elsewhere->body, HasSubstr(R"("status":204)"));

    EXPECT_EQ(endpoint.requests().size(), 1U);
    EXPECT_EQ(other.requests().size(), 1U);
}

TEST(Subscriptions, AnExampleToAnotherUrlHasNoneOfItsOwnHeaders) {
    Endpoint endpoint;
    Endpoint other;
    Subscription with_token = to(endpoint);
    with_token.headers.add("Authorization", "Bearer of-nobody-else");
    ServerUnderTest server{with({with_token})};
    const std::string path =
        "/v1/subscriptions/" + to_string(server.config().subscriptions.front().id) + "/test";

    ASSERT_EQ(server.operate("POST", path, R"({"url":")" + other.url() + "\"}")->status, 200);
    ASSERT_EQ(server.operate("POST", path, R"({"url":")" + endpoint.url() + "\"}")->status, 200);

    const HttpRequest elsewhere = other.requests().at(0);
    EXPECT_EQ(elsewhere.headers.find("Authorization"), nullptr);
    EXPECT_TRUE(is_signed_with(elsewhere, endpoint_secret));
    EXPECT_EQ(*endpoint.requests().at(0).headers.find("Authorization"), "Bearer of-nobody-else");
}

TEST(Subscriptions, OfOneThatNobodyCanOpenNoExampleIsSentWithWhatIsSealed) {
    Endpoint endpoint;
    ::setenv("WAYBILL_TEST_SEALING_KEY", "0123456789abcdef0123456789abcdef", 1);
    server::Config config = with({});
    config.secrets.key = "env:WAYBILL_TEST_SEALING_KEY";
    ServerUnderTest server{config};
    const std::string id =
        added(server, R"({"headers":{"X-Token":"old"},"url":")" + endpoint.url() + "\"}");
    ::setenv("WAYBILL_TEST_SEALING_KEY", "another-key-of-some-length-indeed", 1);

    const auto refused = server.operate("POST", "/v1/subscriptions/" + id + "/test");

    EXPECT_EQ(refused->status, 409);
    EXPECT_THAT(refused->body, HasSubstr("sealed with another key"));
    EXPECT_TRUE(endpoint.requests().empty());
}

TEST(Subscriptions, ATestBelowWhatIsNotThereIsNotFoundAndNoFailureOfOurs) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string id = added(server, R"({"url":")" + endpoint.url() + "\"}");

    const auto answer = server.operate("POST", "/v1/subscriptions/" + id + "/x/test");

    EXPECT_EQ(answer->status, 404) << answer->body;
}

TEST(Subscriptions, WhileAnExampleWaitsForItsAnswerOperatorsDoNot) {
    Endpoint slow;
    slow.hold();
    ServerUnderTest server{with({to(slow)})};
    const std::string id = to_string(server.config().subscriptions.front().id);

    std::string sent;
    Background testing{[&](const std::stop_token&) {
        sent = server.operate("POST", "/v1/subscriptions/" + id + "/test")->body;
    }};
    ASSERT_TRUE(slow.wait_for(1));
    EXPECT_EQ(server.operate("GET", "/v1/stats")->status, 200);
    EXPECT_EQ(server.operate("POST", "/v1/boxes/pause", R"({"box":"outbox"})")->status, 200);
    slow.let_go();

    testing.join();
    EXPECT_THAT(sent, HasSubstr(R"("delivered":true)")) << "the others waited until its end";
}

TEST(Subscriptions, WhatIsWrongWithOneIsNamedAllAtOnce) {
    ServerUnderTest server{with({})};
    const auto answer = server.operate("POST", "/v1/subscriptions",
                                       R"({"url":"ftp://x","timout":"1s","concurrency":0})");
    EXPECT_EQ(answer->status, 400);
    EXPECT_THAT(answer->body, HasSubstr("timout"));
    EXPECT_THAT(answer->body, HasSubstr("did you mean"));
    EXPECT_THAT(answer->body, HasSubstr("concurrency"));
}

TEST(Subscriptions, WhatCouldNeverBeSentToIsRefusedWhenItIsWritten) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string id = added(server, R"({"url":")" + endpoint.url() + "\"}");
    for (const char* url : {"http://u:p@127.0.0.1:9/", "http://127.0.0.1:9@169.254.169.254/",
                            "http://10.0.0.1/", "http:///x"}) {
        const std::string body = std::string{R"({"url":")"} + url + "\"}";
        EXPECT_EQ(server.operate("POST", "/v1/subscriptions", body)->status, 400) << url;
        EXPECT_EQ(server.operate("POST", "/v1/subscriptions/" + id, body)->status, 400) << url;
    }
    EXPECT_EQ(server
                  .operate("POST", "/v1/subscriptions",
                           R"({"secret":"","url":")" + endpoint.url() + "\"}")
                  ->status,
              400);
}

TEST(Subscriptions, WhoResumesOneIsNotHeldUpByItsRetryAfter) {
    Endpoint endpoint{[](const HttpRequest&) {
        return HttpResponse{.status = 429, .headers = {{"Retry-After", "3000"}}};
    }};
    ServerUnderTest server{with({})};
    const std::string id = added(server, R"({"concurrency":1,"url":")" + endpoint.url() + "\"}");
    const std::string first = publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/messages/" + first, "answered 429"));
    const std::string second = publish(server, "2");
    endpoint.answer_with(200);

    ASSERT_EQ(server.operate("POST", "/v1/subscriptions/" + id + "/resume")->status, 200);

    EXPECT_TRUE(is_done(server, second));
}

TEST(Subscriptions, OneOfTheConfigurationIsChangedThereOnly) {
    Endpoint endpoint;
    ServerUnderTest server{with({to(endpoint)})};
    const std::string id = to_string(server.config().subscriptions.front().id);
    EXPECT_EQ(server.operate("POST", "/v1/subscriptions/" + id + "/pause")->status, 409);
}

}  // namespace
}  // namespace waybill::test
