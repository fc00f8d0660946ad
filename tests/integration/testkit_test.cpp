#include "waybill/testkit.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/app.hpp"
#include "support/gate.hpp"

namespace waybill::testkit {
namespace {

using namespace std::chrono_literals;
using Call = FaultyStore::Call;
using Fault = FaultyStore::Fault;
using Kind = Event::Kind;
using State = Filter::State;

class TestKit : public testing::Test {
protected:
    /// Notes what it handles, and fails as often as told.
    void handle(int failures = 0, On on = {}) {
        kit.app.inbox("orders").on(
            "*", "t",
            [this, failures](const Message& m, Context& context) {
                handled.push_back(m.body);
                if (static_cast<int>(context.attempt()) <= failures) {
                    throw std::runtime_error{"not yet"};
                }
            },
            std::move(on));
    }

    Kit kit;
    std::vector<std::string> handled;
};

TEST_F(TestKit, RunsWhatIsDueAndWaitsForNothing) {
    handle(1);
    const Uuid id = kit.app.append({.type = "t", .body = "a"}).id;
    const LocalTime before = kit.clock.now();

    EXPECT_TRUE(kit.run_until_idle());

    EXPECT_EQ(handled.size(), 1U);
    EXPECT_EQ(kit.state_of(id), State::open) << "its retry has a time of its own";
    EXPECT_EQ(kit.clock.now(), before);
}

TEST_F(TestKit, MovesTheClockToTheMomentAMessageIsDone) {
    handle(2, {.backoff = {.base = 5min, .jitter = Jitter::none()}});
    const Uuid id = kit.app.append({.type = "t"}).id;
    const LocalTime before = kit.clock.now();

    EXPECT_EQ(kit.run_until_done(id), State::done);

    EXPECT_EQ(handled.size(), 3U);
    test::expect_on_time(kit.clock.now() - before, 10min);  // five, and then the cap of five
}

TEST_F(TestKit, ARetryComesWhenItsBackOffSaysAndInEveryRunAtTheSameTime) {
    handle(1, {.backoff = {.base = 5min, .cap = 5min}});  // with the default jitter
    kit.app.append({.type = "t"});
    kit.run_until_idle();

    kit.advance(5min - 1s);
    EXPECT_EQ(handled.size(), 1U);
    kit.advance(2s);
    EXPECT_EQ(handled.size(), 2U);
}

TEST_F(TestKit, SaysWhatBecameOfAMessage) {
    handle(9, {.max_attempts = 2});
    const Uuid dying = kit.app.append({.type = "t"}).id;
    const Uuid later = kit.app.append({.type = "t", .not_before = kit.clock.wall() + 48h}).id;

    EXPECT_EQ(kit.run_until_done(dying), State::dead);
    EXPECT_EQ(kit.run_until_done(later, 1h), State::open);
    EXPECT_EQ(kit.state_of(Uuid{}), std::nullopt);
}

TEST_F(TestKit, WhatComesDueWhileTheClockMovesHappensAtItsTime) {
    std::vector<Duration> times;
    const StoreTime start = kit.clock.wall();
    kit.app.inbox("orders").on("*", "t",
                               [&](const Message&) { times.push_back(kit.clock.wall() - start); });
    for (const auto in : {3h, 1h, 2h}) kit.app.append({.type = "t", .not_before = start + in});

    kit.advance(2h);

    ASSERT_EQ(times.size(), 2U);
    test::expect_on_time(times[0], 1h);
    EXPECT_EQ(times[1], 2h) << "what is due when the clock stops is handled";
    EXPECT_EQ(kit.clock.wall() - start, 2h);
}

TEST_F(TestKit, ARestartLosesNothing) {
    handle(1);
    const Uuid id = kit.app.append({.type = "t"}).id;
    kit.run_until_idle();

    kit.restart();

    EXPECT_EQ(kit.run_until_done(id), State::done);
    EXPECT_EQ(handled.size(), 2U);
}

TEST_F(TestKit, AnAppendWhoseAnswerIsLostIsUnknownAndIsThere) {
    handle();
    kit.app.append({.type = "t", .body = "first: the boxes are declared"});
    kit.store->fail_next(Call::append, Fault::after);

    const AppendResult lost = kit.app.append({.type = "t", .body = "a", .dedup_key = "k"});
    const AppendResult again = kit.app.append({.type = "t", .body = "a", .dedup_key = "k"});

    EXPECT_EQ(lost.status, AppendResult::Status::unknown);
    EXPECT_EQ(again.status, AppendResult::Status::duplicate);
    EXPECT_TRUE(kit.run_until_idle());
    EXPECT_EQ(handled.size(), 2U);
}

TEST_F(TestKit, ASettleWhoseAnswerIsLostIsRepeatedAndTheHandlerIsNot) {
    handle();
    const Uuid id = kit.app.append({.type = "t"}).id;
    kit.store->fail_next(Call::settle, Fault::after, 2);

    EXPECT_EQ(kit.run_until_done(id), State::done);
    kit.advance(1min);

    EXPECT_EQ(handled.size(), 1U);
    EXPECT_EQ(kit.events.count(Kind::done), 1U) << "told once it is known";
    EXPECT_TRUE(kit.store->is_calm());
    EXPECT_GE(kit.store->calls(Call::settle), 3U);
}

TEST_F(TestKit, AnErrorOfOnesOwnReachesTheCaller) {
    handle();
    kit.app.append({.type = "t"});
    kit.store->fail_next(Call::append, StoreError{Reaction::back_off, "the disk is full"});

    EXPECT_THROW(kit.app.append({.type = "t"}), StoreError);
}

TEST_F(TestKit, AStoreThatIsDownIsSurvived) {
    handle();
    const Uuid id = kit.app.append({.type = "t"}).id;
    kit.store->set_down(true);
    EXPECT_FALSE(kit.run_until_idle());
    kit.advance(1min);
    EXPECT_TRUE(handled.empty());
    EXPECT_THROW(kit.app.append({.type = "t"}), StoreError);

    kit.store->set_down(false);

    EXPECT_EQ(kit.run_until_done(id), State::done);
    EXPECT_EQ(handled.size(), 1U);
}

TEST_F(TestKit, MayEndWhileItsStoreIsDown) {
    Kit inner;
    inner.app.inbox("orders").on("*", "t", [&](const Message&) { inner.store->set_down(true); });
    inner.app.append({{.type = "t"}, {.type = "t"}});

    EXPECT_FALSE(inner.run_until_idle()) << "the result cannot be stored";
}

TEST_F(TestKit, ASlowStoreMovesTheClock) {
    handle();
    kit.app.append({.type = "t"});
    kit.store->delay_next(Call::append, 3s);
    const LocalTime before = kit.clock.now();

    kit.app.append({.type = "t"});

    EXPECT_EQ(kit.clock.now() - before, 3s);
    EXPECT_TRUE(kit.run_until_idle());
    EXPECT_EQ(handled.size(), 2U);
}

/// A result waited for company, on a clock that only the test would have moved.
TEST_F(TestKit, IsIdleAlsoWhenASettlementTookAWhile) {
    handle();
    ASSERT_TRUE(kit.run_until_idle());
    kit.store->delay_next(Call::settle, 10ms);
    const Uuid first = kit.app.append({.type = "t"}).id;
    const Uuid second = kit.app.append({.type = "t"}).id;

    EXPECT_TRUE(kit.run_until_idle());

    EXPECT_EQ(kit.state_of(first), State::done);
    EXPECT_EQ(kit.state_of(second), State::done);
}

TEST_F(TestKit, AHandlerThatAppendsForEverIsToldOf) {
    kit.app.inbox("orders").on("*", "t", [&](const Message&) { kit.app.append({.type = "t"}); });
    kit.app.append({.type = "t"});
    kit.rounds_max = 1'000;

    EXPECT_THROW(kit.run_until_idle(), std::logic_error);
}

TEST(FaultyStoreWithThreads, EverythingIsHandledThoughEveryWakeUpIsLost) {
    const auto root = memory::open();
    const auto store = std::make_shared<FaultyStore>(StoreHandle{root->connect()});
    store->lose_wakes(true);
    EventLog log;
    Waybill app{test::quick_settings(store)};
    app.inbox("orders").on("*", "t", [](const Message&) {});
    app.observe(log);
    app.start();
    ASSERT_TRUE(log.wait_for(Kind::scanned));
    // Appended by another: there is no hand-over either, only the poll.
    Waybill other{test::quick_settings(root->connect(), "other")};
    other.inbox("orders").on("*", "t", [](const Message&) {});
    const Uuid id = other.append({.type = "t"}).id;

    EXPECT_TRUE(log.wait_for_message(id));
}

TEST(FaultyStoreWithThreads, ARoleTheInnerStoreDoesNotPlayIsRefused) {
    class OnlyAStore final : public Store {
    public:
        Capabilities capabilities() const override { return {}; }
        std::vector<AppendResult> append(std::span<const Append>) override { return {}; }
        void declare(std::span<const BoxDeclaration>, std::span<const Target>) override {}
        BeatReply beat(const InstanceState&) override { return {}; }
        std::vector<Taken> take(const Uuid&, std::span<const TakeRequest>) override { return {}; }
        void give(std::span<const GiveRequest>) override {}
        ReadPage read(const ReadRequest&) override { return {}; }
        SettleReply settle(const SettleBatch&) override { return {}; }
        void on_wake(std::function<void()>) override {}
    };
    FaultyStore faulty{std::make_unique<OnlyAStore>()};

    EXPECT_THROW(faulty.count({}), StoreError);
    EXPECT_THROW(faulty.migrate(), StoreError);
    EXPECT_THROW(faulty.run_inline({}, [](void*) { return Done{}; }), StoreError);
}

}  // namespace
}  // namespace waybill::testkit
