/// What has ended is run again, by the orders of people.

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/admin.hpp"
#include "server/bulk_replay.hpp"
#include "server/store_access.hpp"
#include "waybill/json.hpp"
#include "waybill/testkit.hpp"

namespace waybill::test {
namespace {

using namespace std::chrono_literals;
using server::Operation;
using testing::ElementsAre;
using testing::HasSubstr;

class Replays : public testing::Test {
protected:
    Replays() {
        kit.app.inbox("orders", {.lanes = Lanes::none})
            .on("*", "bill", [this](const Message& message) {
                bodies.push_back(message.body);
                return Outcome{Done{}};
            });
    }
    void handle(int count, const std::string& type = "t") {
        std::vector<Message> messages;
        for (int i = 1; i <= count; ++i) {
            messages.push_back({.type = type, .body = type + std::to_string(i)});
        }
        for (const AppendResult& result : kit.app.append(std::move(messages))) {
            ids.push_back(to_string(result.id));
        }
        ASSERT_TRUE(kit.run_until_idle());
        bodies.clear();
    }
    json::Value order(const std::string& target, const std::string& id = {},
                      const std::string& body = {}) {
        HttpRequest request{.method = "POST", .target = target, .body = body};
        if (!id.empty()) request.headers.set("Idempotency-Key", id);
        const HttpResponse response = admin.handle(request, "ada");
        status = response.status;
        return json::parse(response.body);
    }
    static std::uint64_t number(const json::Value& answer, const char* name) {
        return answer.find(name)->as_uint64();
    }

    testkit::Kit kit;
    std::vector<std::string> bodies{};
    std::vector<std::string> ids{};
    std::uint32_t status = 0;
    const std::unique_ptr<server::StoreAccess> memory = server::open_store("memory:", {});
    server::Admin admin{StoreHandle{kit.store}, memory->notebook(), [](const std::string&) {},
                        [this](Message message) { return kit.app.append(std::move(message)); },
                        [] { return std::make_shared<const server::Config>(); }};
};

TEST_F(Replays, OneMessageRunsAgainForTheTargetThatWasNamed) {
    handle(2);

    const json::Value answer =
        order("/v1/messages/" + ids[1] + "/replay", "", R"({"target":"bill"})");
    kit.run_until_idle();

    EXPECT_EQ(number(answer, "carried_out"), 1U);
    EXPECT_THAT(bodies, ElementsAre("t2"));
}

TEST_F(Replays, ARefusalSaysWhy) {
    handle(1);

    const std::string path = "/v1/messages/" + ids[0] + "/replay";
    const json::Value answer = order(path, "", R"({"target":"nobody"})");

    EXPECT_EQ(number(answer, "refused"), 1U);
    EXPECT_THAT(answer.find("refusal")->as_string(), HasSubstr("no target \"nobody\""));
    order(path, "", "{}");
    EXPECT_EQ(status, 400U);
    order("/v1/messages/x/replay", "", R"({"target":"bill"})");
    EXPECT_EQ(status, 400U);
}

TEST_F(Replays, ThoseThatMatchRunAgainOldestFirstAndOnceUnderAnId) {
    handle(3, "order");
    handle(2, "mail");

    const json::Value answer = order("/v1/replay?type=order&target=bill", "op-1");
    kit.run_until_idle();
    const json::Value again = order("/v1/replay?type=order&target=bill", "op-1");
    kit.run_until_idle();

    EXPECT_EQ(number(answer, "total"), 3U);
    EXPECT_EQ(number(answer, "carried_out"), 3U);
    EXPECT_EQ(number(again, "carried_out"), 3U);
    EXPECT_THAT(bodies, ElementsAre("order1", "order2", "order3"));
}

TEST_F(Replays, AnOrderWithoutATargetOrOverWhatIsOpenIsRefused) {
    handle(1);

    order("/v1/replay?type=t");
    EXPECT_EQ(status, 400U);
    order("/v1/replay?type=t&target=bill&state=open");
    EXPECT_EQ(status, 400U);
    order("/v1/replay?type=t&target=bill&rate=fast");
    EXPECT_EQ(status, 400U);
    order("/v1/replay?typ=t&target=bill");
    EXPECT_EQ(status, 400U);
    EXPECT_TRUE(kit.run_until_idle());
    EXPECT_TRUE(bodies.empty());
}

TEST_F(Replays, ALimitEndsAnOrderAndTheSameIdGoesOn) {
    handle(5);

    const json::Value first = order("/v1/replay?type=t&target=bill&limit=2", "op-1");
    const json::Value second = order("/v1/replay?type=t&target=bill&limit=10", "op-1");
    kit.run_until_idle();

    EXPECT_TRUE(first.find("capped")->as_bool());
    EXPECT_EQ(number(first, "remaining"), 3U);
    EXPECT_FALSE(second.find("capped")->as_bool());
    EXPECT_EQ(number(second, "carried_out"), 5U);
    EXPECT_THAT(bodies, ElementsAre("t1", "t2", "t3", "t4", "t5"));
}

TEST_F(Replays, WhatCameAfterTheOrderIsLeftAlone) {
    handle(3);
    order("/v1/replay?type=t&target=bill&limit=1", "op-1");
    kit.run_until_idle();
    kit.advance(1s);
    handle(2);

    const json::Value rest = order("/v1/replay?type=t&target=bill&limit=100", "op-1");
    kit.run_until_idle();

    EXPECT_EQ(number(rest, "carried_out"), 3U);
    EXPECT_THAT(bodies, ElementsAre("t2", "t3"));
}

TEST_F(Replays, AreCountedOnceWhereverTheyWereInterrupted) {
    struct Crash {};
    for (int crash_at = 1; crash_at <= 2; ++crash_at) {
        for (const bool is_written : {true, false}) {
            handle(150);
            server::BulkProgress written;
            const auto carry_on = [&](int crash) {
                Operation operation;
                operation.bulk = written;
                int notes = 0;
                operation.write_down = [&](const Operation& now) {
                    const bool ends = ++notes == crash;
                    if (!ends || is_written) written = now.bulk;
                    if (ends) throw Crash{};
                };
                const Filter filter{.state = Filter::State::any, .type = "t"};
                try {
                    server::replay_matching(kit.app.catalogue(),
                                            {.filter = filter, .target = "bill"}, 10'000,
                                            kit.clock.wall(), operation);
                } catch (const Crash&) {
                }
                return operation;
            };
            carry_on(crash_at);
            const Operation ended = carry_on(0);
            kit.run_until_idle();

            EXPECT_EQ(ended.bulk.carried_out, ended.bulk.total);
            EXPECT_EQ(ended.bulk.refused, 0U);
            EXPECT_EQ(bodies.size(), ended.bulk.total);
        }
    }
}

TEST_F(Replays, ARateAllowsASecondsWorthAtOnceAndTheRestInTime) {
    handle(40);
    const server::ReplayOrder slow{
        .filter = {.state = Filter::State::done}, .target = "bill", .rate = 10};
    Operation operation;
    StoreTime now = kit.clock.wall();
    const auto handled_after = [&](Duration time) {
        now += time;
        operation.unfinished = false;
        server::replay_matching(kit.app.catalogue(), slow, 1'000, now, operation);
        return operation.bulk.handled();
    };

    EXPECT_EQ(handled_after(0s), 10U);
    EXPECT_GT(server::wait_of(slow, now, operation), 0s);
    EXPECT_LE(server::wait_of(slow, now, operation), 1s);
    EXPECT_EQ(handled_after(0s), 10U);
    EXPECT_EQ(handled_after(300ms), 13U);
    EXPECT_EQ(handled_after(50ms), 13U);
    EXPECT_EQ(handled_after(50ms), 14U);
    // A long pause saves up no more than a second.
    EXPECT_EQ(handled_after(1h), 24U);
    EXPECT_EQ(handled_after(1s), 34U);
    EXPECT_EQ(handled_after(1s), 40U);
    EXPECT_EQ(server::wait_of(slow, now, operation), 0s);
}

TEST_F(Replays, SomebodyElseCancelsAnOrderAndWhatIsLeftIsLeft) {
    handle(5);
    const std::string path = "/v1/replay?type=t&target=bill";
    order(path + "&limit=2", "op-1");

    order("/v1/operations/op-1/cancel");
    EXPECT_EQ(status, 202U);
    const json::Value ended = order(path + "&limit=10", "op-1");
    const json::Value again = order(path + "&limit=10", "op-1");
    kit.run_until_idle();

    EXPECT_THAT(bodies, ElementsAre("t1", "t2"));
    for (const json::Value& answer : {ended, again}) {
        EXPECT_EQ(number(answer, "carried_out"), 2U);
        EXPECT_EQ(number(answer, "remaining"), 3U);
        EXPECT_FALSE(answer.find("capped")->as_bool()) << "who goes on when it is would never end";
        EXPECT_NE(answer.find("cancelled"), nullptr);
    }
    order("/v1/operations/op-1/cancel");
    EXPECT_EQ(status, 409U) << "it has ended";
    order("/v1/operations/nobody-knows/cancel");
    EXPECT_EQ(status, 404U);
    EXPECT_EQ(number(order(path + "&limit=10", "op-2"), "carried_out"), 5U) << "another one is not";
}

TEST_F(Replays, AnOrderThatIsCancelledEndsWithTheBatchItIsAt) {
    handle(250);
    Operation operation;
    operation.is_cancelled = [looks = 0]() mutable { return ++looks > 1; };

    const Filter filter{.state = Filter::State::any, .type = "t"};
    server::replay_matching(kit.app.catalogue(), {.filter = filter, .target = "bill"}, 10'000,
                            kit.clock.wall(), operation);
    kit.run_until_idle();

    EXPECT_TRUE(operation.cancelled);
    EXPECT_FALSE(operation.unfinished);
    EXPECT_EQ(operation.bulk.carried_out, 100U);
    EXPECT_EQ(bodies.size(), 100U);
}

TEST_F(Replays, MessagesAreCountedBeforeAnybodyReplaysThem) {
    handle(3);

    const HttpResponse response =
        admin.handle({.method = "GET", .target = "/v1/messages?state=done&count=1"}, "ada");

    EXPECT_THAT(response.body, HasSubstr(R"({"count":3})"));
}

}  // namespace
}  // namespace waybill::test
