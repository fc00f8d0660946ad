#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/admin.hpp"
#include "server/endpoint.hpp"
#include "server/store_access.hpp"
#include "server/unusable.hpp"
#include "waybill/ownership.hpp"

/// What an operator sees of webhooks that do not go out, and what it says to do.
namespace waybill::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// The first answer that has it.
std::string said(ServerUnderTest& server, const std::string& path, const std::string& wanted) {
    const LocalTime patience = later(system_clock().now(), 60s);
    while (system_clock().now() < patience) {
        std::string body = server.operate("GET", path)->body;
        if (body.find(wanted) != std::string::npos) return body;
    }
    ADD_FAILURE() << path << " never says " << wanted;
    return "{}";
}

TEST(StuckWebhooks, OfASubscriptionThatLeftTheFileSayWhatToDo) {
    Endpoint endpoint{[](const HttpRequest&) { return HttpResponse{.status = 500}; }};
    Subscription slow = to(endpoint);
    slow.retry.backoff.schedule = {1h};
    ServerUnderTest server{with({slow})};
    const Subscription fixed = server.config().subscriptions.front();
    const std::string id = to_string(fixed.id);
    const std::string message = publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/messages/" + message, "answered 500"));
    const std::string forget = R"({"key":")" + id + "\"}";
    EXPECT_THAT(server.operate("POST", "/v1/targets/forget", forget)->body,
                HasSubstr("take it out of the configuration first"));

    server::Config without = server.config();
    without.subscriptions.clear();
    server.server().reload(without);

    const std::string stats = server.operate("GET", "/v1/stats")->body;
    EXPECT_THAT(stats, HasSubstr("subscription " + id));
    EXPECT_THAT(stats, HasSubstr("is not in this server's configuration; 1 message waits for it. "
                                 "Put it there with the same box, type and tenant"));
    EXPECT_THAT(stats, HasSubstr("`waybill targets forget " + key_of(fixed) + " --box outbox`"));
    EXPECT_THAT(stats, Not(HasSubstr("legacy_keys")));

    EXPECT_EQ(server.operate("POST", "/v1/targets/forget", forget)->status, 200);
    EXPECT_TRUE(is_done(server, message));
}

TEST(StuckWebhooks, OfASubscriptionThatAnotherServerMayHaveInItsFileAreNotForgottenByMistake) {
    const auto memory = server::open_store("memory:", {});
    StoreHandle store = memory->connect();
    Subscription theirs;
    theirs.id = static_subscription_id(theirs, 0);
    const Target target = target_of(theirs);
    const BoxDeclaration box{target.box, {}};
    std::vector<InstanceSeen> instances{
        {.name = "first", .executes = {target_number(target.box, subscription_prefix)}}};
    server::Config config = with({});
    config.instance = "first";
    server::Admin admin{memory->connect(),
                        memory->notebook(),
                        [](const std::string&) {},
                        [](const Message&) { return AppendResult{}; },
                        [&] { return std::make_shared<const server::Config>(config); },
                        {.instances = [&] { return instances; }}};
    const auto forget = [&](const std::string& more) {
        store.store().declare({&box, 1}, {&target, 1});
        return admin.handle({.method = "POST",
                             .target = "/v1/targets/forget",
                             .body = R"({"key":")" + target.key + "\"" + more + "}"},
                            "ada");
    };

    EXPECT_EQ(forget("").status, 200U) << "nobody else is there";
    instances.push_back(instances.front());
    instances.back().name = "second";
    const HttpResponse refused = forget("");
    EXPECT_EQ(refused.status, 409U);
    EXPECT_THAT(refused.body, HasSubstr(R"("code":"served")"));
    EXPECT_THAT(refused.body, HasSubstr("second carries out subscriptions of box"));
    EXPECT_THAT(refused.body, HasSubstr("--force"));
    EXPECT_EQ(forget(R"(,"force":true)").status, 200U);
    instances.back().alive = false;
    EXPECT_EQ(forget("").status, 200U);
}

TEST(StuckWebhooks, OneThatIsSubscribedIsNotForgottenByMistake) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string id = added(server, R"({"url":")" + endpoint.url() + "\"}");

    const auto refused =
        server.operate("POST", "/v1/targets/forget", R"({"key":"subscription:)" + id + "\"}");

    EXPECT_EQ(refused->status, 409);
    EXPECT_THAT(refused->body, HasSubstr("waybill subscriptions remove " + id));
    EXPECT_TRUE(is_done(server, publish(server, "1")));
    EXPECT_THAT(endpoint.bodies(), ElementsAre("1"));
}

TEST(StuckWebhooks, TheDefaultSubscriptionIsForOtherTenantsAndNotForAnExclamationMark) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    added(server, R"({"tenant":"default","url":")" + endpoint.url() + "\"}");
    const std::string targets = server.operate("GET", "/v1/targets")->body;
    EXPECT_THAT(targets, HasSubstr(R"("tenant":"other tenants")"));
    EXPECT_THAT(targets, Not(HasSubstr(R"("!")")));
}

TEST(StuckWebhooks, AreReplayedByTheIdOfTheirSubscription) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string id = added(server, R"({"url":")" + endpoint.url() + "\"}");
    const std::string message = publish(server, "1");
    ASSERT_TRUE(is_done(server, message));

    const auto one = server.operate("POST", "/v1/messages/" + message + "/replay",
                                    R"({"target":")" + id + "\"}");
    EXPECT_THAT(one->body, HasSubstr(R"("carried_out":1)"));
    ASSERT_TRUE(is_done(server, message));
    const auto many = server.operate("POST", "/v1/replay?type=*&target=" + id);
    EXPECT_THAT(many->body, HasSubstr(R"("carried_out":1)"));
    ASSERT_TRUE(is_done(server, message));
    EXPECT_THAT(endpoint.bodies(), ElementsAre("1", "1", "1"));
}

TEST(StuckWebhooks, AreCountedUnderANameOfTheirOwn) {
    Endpoint endpoint;
    ServerUnderTest server{with({to(endpoint)})};
    ASSERT_TRUE(is_done(server, publish(server, "1")));
    const std::string page = server.operate("GET", "/metrics")->body;
    EXPECT_THAT(page, HasSubstr("waybill_deliveries_done_total{target=\"subscription:*\"} 1\n"));
    EXPECT_THAT(page, Not(HasSubstr("target=\"\"")));
}

TEST(StuckWebhooks, AnOpenCircuitIsSeenInTheListWithWhySinceWhenAndUntilWhen) {
    Endpoint fixed_end{[](const HttpRequest&) { return HttpResponse{.status = 500}; }};
    Endpoint stored_end{
        [](const HttpRequest&) { return HttpResponse{.status = 500, .body = "on fire"}; }};
    Subscription fixed = to(fixed_end);
    fixed.concurrency = 1;
    ServerUnderTest server{with({fixed})};
    const std::string fixed_id = to_string(server.config().subscriptions.front().id);
    const std::string id =
        added(server, R"({"concurrency":1,"secret":")" + endpoint_secret +
                          R"(","retry":{"schedule":["10ms"]},"url":")" + stored_end.url() + "\"}");
    const std::string path = "/v1/subscriptions/" + id;
    EXPECT_THAT(server.operate("GET", path)->body, Not(HasSubstr("failing")));

    const std::string message = publish(server, "1");
    for (int n = 0; n < 5; ++n) publish(server, "more");
    ASSERT_TRUE(server.eventually("/v1/subscriptions/" + fixed_id, "left_alone_until"));
    const std::string text = said(server, path, "left_alone_until");

    EXPECT_THAT(server.operate("GET", "/v1/subscriptions")->body, Not(HasSubstr(endpoint_secret)));
    const json::Value shown = json::parse(text);
    const json::Value* const failing = shown.find("failing");
    ASSERT_NE(failing, nullptr);
    EXPECT_GE(failing->find("failures")->as_uint64(), 5U);
    EXPECT_EQ(failing->find("last_error")->as_string(), "answered 500: on fire");
    EXPECT_FALSE(failing->find("seen_by")->as_string().empty());
    EXPECT_LT(failing->find("since")->as_string(), failing->find("left_alone_until")->as_string());
    EXPECT_EQ(shown.find("state")->as_string(), "active");
    EXPECT_THAT(shown.find("waits")->as_string(), HasSubstr("is left alone until 20"));
    EXPECT_THAT(shown.find("waits")->as_string(), HasSubstr("`waybill subscriptions resume " + id));

    stored_end.answer_with(200);
    fixed_end.answer_with(200);
    const auto resumed = server.operate("POST", path + "/resume");
    EXPECT_EQ(resumed->status, 200);
    EXPECT_THAT(resumed->body, Not(HasSubstr("left_alone_until")));
    const LocalTime patience = later(system_clock().now(), 60s);
    while (parsed(server.operate("GET", path)).find("failing") != nullptr) {
        ASSERT_LT(system_clock().now(), patience) << "it answers, and is still said to fail";
    }
}

/// What a message says of its one open delivery.
std::string why(ServerUnderTest& server, const std::string& message) {
    const json::Value shown = parsed(server.operate("GET", "/v1/messages/" + message));
    const json::Array& deliveries = shown.find("deliveries")->as_array();
    if (deliveries.size() != 1) return std::to_string(deliveries.size()) + " deliveries";
    const json::Value* const waits = deliveries[0].find("waits");
    return waits == nullptr ? "" : waits->as_string();
}

TEST(StuckWebhooks, AMessageOfAPausedSubscriptionSaysSoAndHowItGoesOn) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string id = added(server, R"({"url":")" + endpoint.url() + "\"}");
    const std::string path = "/v1/subscriptions/" + id;
    ASSERT_EQ(server.operate("POST", path + "/pause", R"({"reason":"they move"})")->status, 200);
    const std::string message = publish(server, "1");

    EXPECT_EQ(why(server, message),
              "it is paused: they move; `waybill subscriptions resume " + id + "` lets it go on");
    ASSERT_EQ(server.operate("POST", path + "/disable", R"({"reason":"gone"})")->status, 200);
    EXPECT_THAT(why(server, message), HasSubstr("it is disabled: gone; once it is mended "
                                                "`waybill subscriptions enable " +
                                                id));
    ASSERT_EQ(server.operate("POST", "/v1/boxes/pause", R"({"box":"outbox"})")->status, 200);
    EXPECT_EQ(why(server, message),
              "the box is paused; `waybill boxes resume outbox` lets it go on");
}

TEST(StuckWebhooks, AMessageForManySubscriptionsAsksForTheirKeyOnce) {
    Endpoint endpoint;
    TemporaryFolder folder;
    server::Config config = with({});
    config.secrets.key = "cmd:echo . >> " + folder.file("asked") + "; echo 0123456789abcdef";
    ServerUnderTest server{config};
    for (int n = 0; n < 3; ++n) {
        added(server, R"({"paused":true,"url":")" + endpoint.url() + "\"}");
    }
    const std::string message = publish(server, "1");
    const auto asked = [&] {
        std::ifstream file{folder.file("asked")};
        return std::count(std::istreambuf_iterator<char>{file}, {}, '.');
    };
    const auto before = asked();

    const std::string shown = server.operate("GET", "/v1/messages/" + message)->body;

    EXPECT_THAT(shown, HasSubstr("it is paused"));
    EXPECT_EQ(asked(), before + 1);
}

TEST(StuckWebhooks, OneWhoseNoteCannotBeReadIsNotToldToChangeTheKey) {
    Subscription unreadable;
    unreadable.problem = "its note cannot be read: line 1";
    Subscription sealed;
    sealed.problem = "its secrets are sealed; `waybill subscriptions rotate-secret x`";

    const Findings findings = server::findings_of(std::vector{unreadable, sealed});

    EXPECT_THAT(findings.at(0).fix, Not(HasSubstr("secrets.key")));
    EXPECT_THAT(findings.at(0).fix, HasSubstr("waybill subscriptions remove"));
    EXPECT_THAT(findings.at(1).fix, HasSubstr("secrets.key"));
}

TEST(StuckWebhooks, AMessageThatIsTriedAgainLaterSaysWhenAndTheOneBehindItSaysWhichItWaitsFor) {
    Endpoint endpoint{[](const HttpRequest&) { return HttpResponse{.status = 500}; }};
    Endpoint well;
    Subscription slow = to(endpoint);
    slow.retry.backoff.schedule = {1h};
    ServerUnderTest server{with({slow, to(well)})};
    const std::string first = publish(server, "1", R"(,"lane":"one")");
    ASSERT_TRUE(server.eventually("/v1/messages/" + first, "tried again at"));
    const std::string second = publish(server, "2", R"(,"lane":"one")");
    const std::string other = publish(server, "3", R"(,"lane":"two","not_before":"2999-01-01")");

    EXPECT_THAT(said(server, "/v1/messages/" + first, "tried again at"),
                HasSubstr("it failed once, the last time: answered 500; tried again at 20"));
    ASSERT_TRUE(server.eventually("/v1/messages/" + second, R"("state":"done")"))
        << "the other subscription has it";
    const json::Value shown = parsed(server.operate("GET", "/v1/messages/" + second));
    const json::Value& waiting = shown.find("deliveries")->as_array().at(0);
    EXPECT_EQ(waiting.find("waits")->as_string(), "it is behind message " + first +
                                                      " in lane \"one\"; `waybill messages show " +
                                                      first + "`");
    EXPECT_THAT(server.operate("GET", "/v1/messages/" + other)->body,
                HasSubstr("its time comes at 2999-01-01"));
}

TEST(StuckWebhooks, AMessageForAnEndpointThatIsLeftAloneSaysUntilWhen) {
    Endpoint endpoint{[](const HttpRequest&) {
        return HttpResponse{.status = 503, .headers = {{"Retry-After", "3000"}}};
    }};
    ServerUnderTest server{with({})};
    const std::string id = added(server, R"({"concurrency":1,"url":")" + endpoint.url() + "\"}");
    publish(server, "1");
    ASSERT_TRUE(server.eventually("/v1/subscriptions/" + id, "left_alone_until"));
    const std::string second = publish(server, "2");

    EXPECT_THAT(why(server, second), HasSubstr("and is left alone until 20"));
    EXPECT_THAT(why(server, second), HasSubstr("the last time: answered 503"));
    EXPECT_THAT(why(server, second), HasSubstr("`waybill subscriptions resume " + id));
}

TEST(StuckWebhooks, ASkipOfAPausedOneSaysWhenItTakesEffect) {
    Endpoint endpoint;
    ServerUnderTest server{with({})};
    const std::string path =
        "/v1/subscriptions/" + added(server, R"({"url":")" + endpoint.url() + "\"}");
    EXPECT_THAT(server.operate("POST", path + "/skip")->body, HasSubstr(R"("takes_effect":"now")"));
    ASSERT_EQ(server.operate("POST", path + "/pause")->status, 200);
    const std::string message = publish(server, "1");

    EXPECT_THAT(server.operate("POST", path + "/skip")->body,
                HasSubstr(R"("takes_effect":"when it is resumed")"));

    ASSERT_EQ(server.operate("POST", path + "/resume")->status, 200);
    EXPECT_TRUE(server.eventually("/v1/messages/" + message, "skipped by an operator"));
    EXPECT_TRUE(endpoint.requests().empty());
}

}  // namespace
}  // namespace waybill::test
