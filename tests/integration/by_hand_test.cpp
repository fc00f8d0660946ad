#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/app.hpp"
#include "support/manual_clock.hpp"
#include "support/store_decorator.hpp"
#include "waybill/system.hpp"

/// An application without background work: everything happens on the thread that asks for it.
namespace waybill {
namespace {

using namespace std::chrono_literals;
using Kind = Event::Kind;

class ByHand : public testing::Test {
protected:
    ByHand() { app.observe(log); }
    /// Rounds until the next one is due later.
    LocalTime rounds() {
        LocalTime next = app.step();
        while (next <= clock.now()) next = app.step();
        return next;
    }
    Settings settings() {
        Settings settings = test::quick_settings(store);
        settings.background = false;
        settings.clock = &clock;
        return settings;
    }

    test::ManualClock clock;
    std::shared_ptr<memory::MemoryStore> store = memory::open(clock);
    test::EventLog log;
    std::vector<std::string> handled;
    Waybill app{settings()};
};

TEST_F(ByHand, NothingHappensUntilItIsStepped) {
    app.inbox("orders").on("*", "t", [&](const Message& m) { handled.push_back(m.body); });
    app.append({.type = "t", .body = "a"});
    app.start();
    EXPECT_TRUE(handled.empty());

    rounds();

    EXPECT_EQ(handled, std::vector<std::string>{"a"});
    EXPECT_EQ(log.count(Kind::finished), 1U);
}

TEST_F(ByHand, TheNextRoundIsDueWhenTheNextRetryIs) {
    std::vector<Duration> tries;
    const LocalTime start = clock.now();
    app.inbox("orders").on("*", "t",
                           [&](const Message&, Context& context) {
                               tries.push_back(clock.now() - start);
                               if (context.attempt() < 3) throw std::runtime_error{"not yet"};
                           },
                           {.backoff = {.base = 7s, .jitter = Jitter::none()}});
    app.append({.type = "t"});
    app.start();

    while (log.count(Kind::done) == 0) clock.advance(rounds() - clock.now());

    ASSERT_EQ(tries.size(), 3U);
    EXPECT_EQ(tries[0], 0s);
    test::expect_on_time(tries[1], 7s);
    test::expect_on_time(tries[2], 21s);
}

TEST_F(ByHand, WhatIsDueNowIsHandledNowHoweverShortlyAfterTheLastRound) {
    app.inbox("orders").on("*", "t", [&](const Message& m) { handled.push_back(m.body); });
    app.append({.type = "t", .body = "a", .not_before = clock.wall() + 10us});
    app.start();
    rounds();
    EXPECT_TRUE(handled.empty());

    clock.advance(10us);
    rounds();

    EXPECT_EQ(handled, std::vector<std::string>{"a"});
}

TEST_F(ByHand, AHandlerThatTakesTooLongHasFailedWhenItReturns) {
    app.inbox("orders").on("*", "t",
                           [&](const Message&, Context& context) {
                               if (context.attempt() == 1) clock.advance(31s);
                           },
                           {.backoff = test::quick_backoff(), .timeout = 30s});
    app.append({.type = "t"});
    app.start();
    rounds();

    EXPECT_EQ(log.count(Kind::timed_out), 1U);
    EXPECT_EQ(log.count(Kind::done), 0U);
    clock.advance(rounds() - clock.now());
    rounds();
    EXPECT_EQ(log.count(Kind::done), 1U);
}

TEST_F(ByHand, OneHandlersTimeIsNotTakenFromTheOthers) {
    app.inbox("orders", {.lanes = Lanes::none})
        .on("*", "t", [&](const Message&) { clock.advance(20s); }, {.timeout = 30s});
    app.append({{.type = "t"}, {.type = "t"}, {.type = "t"}});

    EXPECT_TRUE(app.run_until_idle());

    EXPECT_EQ(log.count(Kind::done), 3U);
    EXPECT_EQ(log.count(Kind::timed_out), 0U);
}

TEST_F(ByHand, AHandlerMayAppendAndAskButNotWait) {
    app.inbox("orders").on("*", "t", [&](const Message& m) {
        handled.push_back(m.body);
        if (m.body == "a") app.append({.type = "t", .body = "b"});
        EXPECT_EQ(app.status().running, 1U);
        EXPECT_FALSE(app.wait_idle());
    });
    app.append({.type = "t", .body = "a"});

    EXPECT_TRUE(app.run_until_idle());

    EXPECT_EQ(handled, (std::vector<std::string>{"a", "b"}));
}

TEST_F(ByHand, WhatIsLeftWhenItStopsIsThereAfterTheNextStart) {
    app.inbox("orders").on("*", "t", [&](const Message& m) { handled.push_back(m.body); });
    app.start();
    rounds();
    app.append({.type = "t", .body = "a"});
    app.stop();
    EXPECT_TRUE(handled.empty());

    app.start();
    rounds();

    EXPECT_EQ(handled, std::vector<std::string>{"a"});
    EXPECT_EQ(store->beat({.name = "asks"}).peers.size(), 2U) << "one that stops leaves the list";
}

TEST_F(ByHand, StoppingNeedsNoTimeToPass) {
    app.inbox("orders").on("*", "t", [](const Message&) { throw std::runtime_error{"no"}; });
    app.append({.type = "t"});
    app.start();
    rounds();
    const LocalTime before = clock.now();

    app.stop();

    EXPECT_EQ(clock.now(), before);
    EXPECT_EQ(log.count(Kind::stopped), 1U);
}

/// Answers when somebody lets it.
class Later final : public Executor {
public:
    void start(std::vector<Job> jobs) override {
        for (Job& job : jobs) held.push_back(std::move(job));
    }
    void cancel(std::span<const std::uint64_t>) override {
        if (answers_when_told) answer();
    }
    void answer() {
        for (Job& job : std::exchange(held, {})) {
            job.completion(DeliveryResults(1, DeliveryResult{Done{}}));
        }
    }
    std::vector<Job> held;
    bool answers_when_told = false;
};

TEST_F(ByHand, AnExecutorOfOnesOwnAnswersFromOutside) {
    const auto executor = std::make_shared<Later>();
    app.inbox("orders", {.lanes = Lanes::none}).to("*", "x", executor);
    app.append({{.type = "t"}, {.type = "t"}});
    app.start();
    rounds();
    ASSERT_EQ(executor->held.size(), 2U);

    executor->answer();
    rounds();

    EXPECT_EQ(log.count(Kind::done), 2U);
}

TEST_F(ByHand, AnExecutorOfOnesOwnIsToldOfAStopBeforeItIsWaitedFor) {
    const auto executor = std::make_shared<Later>();
    executor->answers_when_told = true;
    app.inbox("orders").to("*", "x", executor);
    app.append({.type = "t"});
    app.start();
    rounds();
    ASSERT_EQ(executor->held.size(), 1U);
    const LocalTime before = system_clock().now();

    app.stop();

    EXPECT_EQ(log.count(Kind::done), 1U);
    EXPECT_LT(system_clock().now() - before, 5s) << "of the ten it has";
}

TEST_F(ByHand, AStopThatWaitsForAnAnswerKeepsItsLease) {
    class AnswersAfterSomeBeats final : public test::StoreDecorator {
    public:
        AnswersAfterSomeBeats(Store& inner, Later& executor)
            : StoreDecorator(inner), executor_(executor) {}
        BeatReply beat(const InstanceState& state) override {
            if (is_stopping && ++beats == 3) executor_.answer();
            return StoreDecorator::beat(state);
        }
        bool is_stopping = false;
        int beats = 0;

    private:
        Later& executor_;
    };
    const auto executor = std::make_shared<Later>();
    const auto inner = memory::open();
    const auto beaten = std::make_shared<AnswersAfterSomeBeats>(*inner, *executor);
    Settings real = test::quick_settings(beaten);
    real.background = false;
    Waybill real_app{real};
    real_app.observe(log);
    real_app.inbox("orders").to("*", "x", executor, {.ends_by_itself = true});
    real_app.append({.type = "t"});
    real_app.start();
    while (executor->held.empty()) real_app.step();

    beaten->is_stopping = true;
    real_app.stop();

    EXPECT_GE(beaten->beats, 3);
    EXPECT_EQ(log.count(Kind::done), 1U);
}

TEST_F(ByHand, OnTheHostsOwnClockItWaitsForWhatIsDueSoon) {
    Settings real = test::quick_settings(memory::open());
    real.background = false;
    Waybill real_app{real};
    int calls = 0;
    real_app.inbox("orders").on("*", "t",
                                [&](const Message&) {
                                    if (++calls < 3) throw std::runtime_error{"not yet"};
                                },
                                {.backoff = test::quick_backoff()});
    real_app.append({.type = "t"});
    real_app.start();

    EXPECT_TRUE(real_app.wait_done());

    EXPECT_EQ(calls, 3);
}

TEST_F(ByHand, StepAndRunSayWhichOfThemIsMeant) {
    app.inbox("orders");
    EXPECT_THROW(app.run(), ConfigError);
    EXPECT_THROW(app.step(), ConfigError) << "not started";

    test::App threads;
    threads.app.inbox("orders");
    threads.app.start();
    EXPECT_THROW(threads.app.step(), ConfigError);
}

}  // namespace
}  // namespace waybill
