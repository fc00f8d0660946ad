#include <algorithm>
#include <atomic>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/app.hpp"
#include "support/store_decorator.hpp"
#include "waybill/testkit.hpp"

namespace waybill {
namespace {

using testing::Contains;
using testing::HasSubstr;

template <class Error, class F>
Problems problems_of(F body) {
    try {
        body();
    } catch (const Error& error) {
        return error.problems();
    }
    return {};
}

TEST(Facade, NamesAllProblemsBeforeAnythingStarts) {
    Settings settings = test::quick_settings(memory::open());
    settings.beat = settings.lease;
    Waybill app{settings};
    app.inbox("no spaces please", {.concurrency = 1'000'000})
        .on("*", "a", [](const Message&) {}, {.after = "nobody"})
        .on("*", "a", [](const Message&) {}, {.max_attempts = 0});
    app.inbox("twice");
    app.inbox("twice");
    app.inbox("empty").on("*", "none", Handler{});

    const Problems problems = problems_of<ConfigError>([&] { app.start(); });

    EXPECT_THAT(problems, Contains(HasSubstr("no spaces please")));
    EXPECT_THAT(problems, Contains(HasSubstr("concurrency")));
    EXPECT_THAT(problems, Contains(HasSubstr("nobody")));
    EXPECT_THAT(problems, Contains(HasSubstr("max_attempts")));
    EXPECT_THAT(problems, Contains(HasSubstr("described twice")));
    EXPECT_THAT(problems, Contains(HasSubstr("beat")));
    EXPECT_FALSE(app.status().started);
}

TEST(Facade, RefusesToBeWithoutAStore) {
    const Problems problems = problems_of<ConfigError>([] {
        Settings settings;
        settings.append_waiting_max = 0;
        settings.handler_threads = 5'000;
        Waybill app{settings};
    });

    EXPECT_EQ(problems.size(), 3U);
    EXPECT_THAT(problems, Contains(HasSubstr("store")));
}

TEST(Facade, SaysWhichRoleAStoreDoesNotPlay) {
    const auto memory = memory::open();
    Waybill app{test::quick_settings(std::make_shared<test::StoreDecorator>(*memory))};
    app.inbox("orders").on_inline("*", "in", [](const Message&, Context&, void*) {});

    EXPECT_THAT(problems_of<ConfigError>([&] { app.start(); }),
                Contains(HasSubstr("transactions")));
    EXPECT_THROW(app.catalogue(), ConfigError);
    EXPECT_THROW(app.upkeep(), ConfigError);
}

TEST(Facade, BoxesAreDescribedWhileNothingRuns) {
    test::App test;
    Box orders = test.app.inbox("orders");
    test.app.start();

    EXPECT_THROW(test.app.inbox("late"), ConfigError);
    EXPECT_THROW(orders.on("*", "late", [](const Message&) {}), ConfigError);
    test.app.stop();
    orders.on("*", "in time", [](const Message&) {});
    test.app.append({.type = "t"});
    EXPECT_TRUE(test.app.run_until_idle());
    EXPECT_EQ(test.log.count(Event::Kind::done), 1U);
}

TEST(Facade, RefusesAMessageThatCanNeverBeStored) {
    test::App test;
    test.app.inbox("orders", {.body_bytes_max = 10});
    test.app.inbox("mail");

    const auto problems = [&](Message message) {
        return problems_of<InvalidMessage>([&] { test.app.append(std::move(message)); });
    };
    EXPECT_THAT(problems({.box = "nowhere", .type = "t"}), Contains(HasSubstr("nowhere")));
    EXPECT_THAT(problems({.type = "t"}), Contains(HasSubstr("box")));
    EXPECT_THAT(problems({.box = "orders", .type = "t", .body = std::string(11, 'x')}),
                Contains(HasSubstr("body")));
    EXPECT_THAT(problems({.box = "orders", .type = std::string{"\0", 1}}),
                Contains(HasSubstr("type")));
    // All or none: one bad message keeps the others out.
    EXPECT_THROW(test.app.append({{.box = "orders", .type = "t"}, {.box = "orders"}}),
                 InvalidMessage);
    EXPECT_EQ(test.store->count({}), 0U);
}

TEST(Facade, AnIdTheCallerBringsIsItsDedupKey) {
    test::App test;
    test.app.inbox("orders");
    Message message{.type = "t", .body = "x"};
    message.id.bytes[0] = 1;

    EXPECT_EQ(test.app.append(message).status, AppendResult::Status::fresh);
    EXPECT_EQ(test.app.append(message).status, AppendResult::Status::duplicate);
    message.body = "y";
    EXPECT_EQ(test.app.append(message).status, AppendResult::Status::conflict);
}

TEST(Facade, ACollapseKeyWithoutALaneIsTheLane) {
    test::App test{memory::open({.partitions = 8})};
    test.app.inbox("orders").on("*", "index", [](const Message&) {});
    std::set<PartitionId> partitions;
    for (int version = 0; version < 20; ++version) {
        partitions.insert(test.app.append({.type = "t", .collapse_key = "page 7"}).partition);
    }
    const Uuid id = test.app.append({.type = "t", .lane = "own", .collapse_key = "page 7"}).id;

    EXPECT_EQ(partitions.size(), 1U) << "without one owner they could not collapse";
    EXPECT_EQ(test.store->get(id)->summary.message->lane, "own");
    ASSERT_TRUE(test.app.run_until_idle());
    EXPECT_EQ(test.log.count(Event::Kind::collapsed), 19U);
    EXPECT_EQ(test.log.count(Event::Kind::done), 2U);
}

TEST(Facade, AHandlerIsToldThePlaceOfItsMessage) {
    test::App test;
    std::atomic<Sequence> single = 0;
    std::atomic<Sequence> second_of_batch = 0;
    test.app.inbox("orders", {.concurrency = 1})
        .on("one", "single", [&](const Message&, Context& context) { single = context.sequence(); })
        .on_batch("two", "batch", [&](Batch batch, BatchContext& context) {
            if (batch.size() == 2) second_of_batch = context.sequence_of(1);
        });

    const auto results = test.app.append({{.type = "one"}, {.type = "two"}, {.type = "two"}});
    ASSERT_TRUE(test.app.run_until_idle());

    EXPECT_EQ(single, results[0].sequence);
    EXPECT_EQ(second_of_batch, results[2].sequence);
}

TEST(Facade, AnOutboxForgetsWhatNobodySubscribesToAndAnInboxParksIt) {
    test::App test;
    test.app.outbox("out");
    test.app.inbox("in");

    test.app.append({{.box = "out", .type = "t"}, {.box = "in", .type = "t"}});
    ASSERT_TRUE(test.app.run_until_idle());

    EXPECT_EQ(test.store->count({.state = Filter::State::parked, .box = "in"}), 1U);
    EXPECT_EQ(test.store->count({.state = Filter::State::open, .box = "out"}), 0U);
    EXPECT_EQ(test.store->count({.state = Filter::State::parked, .box = "out"}), 0U);
}

TEST(Health, NamesTheWorstFirst) {
    const StoreHealth store{.reachable = true, .open = 20'000, .dead = 150};
    Status status{.started = true, .ready = true, .ghosts = 1};

    const Health health = judge(status, store, {});

    EXPECT_EQ(health.state, Health::State::unhealthy);
    ASSERT_EQ(health.reasons.size(), 3U);
    EXPECT_THAT(health.reasons[0], HasSubstr("20,000 messages are open"));
    status.ghosts = 0;
    EXPECT_EQ(judge(status, {.reachable = true}, {}).state, Health::State::healthy);
    EXPECT_EQ(judge(status, {.reachable = false, .text = "no route"}, {}).state,
              Health::State::unhealthy);
    EXPECT_EQ(judge({}, {.reachable = true}, {}).state, Health::State::degraded);
}

/// The longest pause between two rounds of an application that has nothing to do.
Duration longest_pause(Duration poll) {
    testkit::Kit kit{
        {.lease = std::chrono::minutes{10}, .beat = std::chrono::minutes{3}, .poll = poll}};
    kit.app.inbox("orders").on("*", "t", [](const Message&) {});
    kit.run_until_idle();
    Duration longest{};
    for (int i = 0; i < 100; ++i) {
        const LocalTime next = kit.app.step();
        longest = std::max(longest, next - kit.clock.now());
        kit.clock.advance(std::max(next - kit.clock.now(), Duration{std::chrono::milliseconds{1}}));
    }
    return longest;
}

TEST(Facade, LooksAtTheStoreAsOftenAsPollSaysWhenNothingWakesIt) {
    using namespace std::chrono_literals;
    EXPECT_LE(longest_pause(5ms), 5ms);
    EXPECT_LE(longest_pause(1s), 1s);
    EXPECT_GT(longest_pause(1s), 500ms);
    EXPECT_LE(longest_pause(20s), 20s);
    EXPECT_GT(longest_pause(20s), 10s);
    EXPECT_THROW(testkit::Kit(Settings{.poll = 0ms}), ConfigError);
}

}  // namespace
}  // namespace waybill
