#include <atomic>
#include <stdexcept>
#include <system_error>

#include "scenarios/scenario.hpp"

/// Targets, failures and retries: T24, T25, T28, T32 … T37, T39, and where others stall.
namespace waybill::test {

using testing::ElementsAre;
using testing::HasSubstr;

WAYBILL_SCENARIOS(Dispatching);

TEST_P(Dispatching, OnlyTheTargetThatFailedRunsAgainAndNotBeforeItsTime) {
    Application app{place()};
    Notes calls;
    std::atomic<bool> broken{true};
    app->inbox("orders")
        .on("*", "a", [&](const Message&) { calls.add("a"); })
        .on("*", "b",
            [&](const Message&) {
                calls.add("b");
                if (broken) throw std::runtime_error{"b is down"};
            },
            {.backoff = in_an_hour()});
    const Uuid id = app->append({.type = "t"}).id;
    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::failed));
    ASSERT_TRUE(app->wait_idle());

    EXPECT_EQ(app.progress(id, "a").state, Progress::State::done);
    EXPECT_EQ(app.progress(id, "a").failures, 0U);
    EXPECT_EQ(app.progress(id, "b").state, Progress::State::ready);
    EXPECT_EQ(app.progress(id, "b").failures, 1U);
    EXPECT_GT(app.progress(id, "b").due, place().now() + 50min);
    EXPECT_EQ(app.progress(id, "b").last_error, "b is down");

    broken = false;
    place().advance(1h);
    ASSERT_TRUE(app.log.wait_for(Kind::finished));
    EXPECT_EQ(calls.count("a"), 1U);
    EXPECT_EQ(calls.count("b"), 2U);
}

TEST_P(Dispatching, AChainGoesOnWhereItFailed) {
    Application app{place()};
    Notes calls;
    const auto note = [&](const std::string& name) {
        return [&calls, name](const Message&) { calls.add(name); };
    };
    app->inbox("orders")
        .on("*", "a", note("a"))
        .on("*", "b",
            [&](const Message&, Context& context) {
                calls.add("b");
                if (context.attempt() == 1) throw std::runtime_error{"once"};
            },
            {.after = "a", .backoff = quick_backoff()})
        .on("*", "c", note("c"), {.after = "b"});
    app->append({.type = "t"});
    app->start();

    ASSERT_TRUE(app.log.wait_for(Kind::finished));
    EXPECT_THAT(calls.all(), ElementsAre("a", "b", "b", "c"));
}

TEST_P(Dispatching, WhatNeverSucceedsEndsAsADeadLetterAndNotAsDone) {
    Application app{place()};
    app->inbox("orders").on("*", "t", [](const Message&) { throw std::runtime_error{"never"}; },
                            {.max_attempts = 4, .backoff = quick_backoff()});
    const Uuid id = app->append({.type = "t"}).id;
    app->start();

    ASSERT_TRUE(app.log.wait_for(Kind::finished));

    EXPECT_EQ(app.log.count(Kind::started), 4U);
    EXPECT_EQ(app.log.count(Kind::done), 0U);
    EXPECT_EQ(app->catalogue().get(id)->summary.state, Filter::State::dead);
    EXPECT_EQ(app.count(Filter::State::done), 0U);
}

TEST_P(Dispatching, ARetryWaitsForItsTimeHoweverOftenOneLooks) {
    Application app{place()};
    app->inbox("orders").on("*", "t",
                            [](const Message&, Context& context) {
                                if (context.attempt() == 1) throw std::runtime_error{"later"};
                            },
                            {.backoff = in_an_hour()});
    app->append({.type = "t"});

    for (int look = 0; look < 3; ++look) EXPECT_TRUE(app->run_until_idle());
    EXPECT_EQ(app.log.count(Kind::started), 1U);

    place().advance(1h);
    EXPECT_TRUE(app->run_until_idle());
    EXPECT_EQ(app.log.count(Kind::started), 2U);
    EXPECT_EQ(app.open(), 0U);
}

TEST_P(Dispatching, AfterItsLastAttemptADeliveryStaysDead) {
    Application app{place()};
    const auto fail = [](const Message&) { throw std::runtime_error{"no"}; };
    app->inbox("orders")
        .on("*", "three", fail, {.max_attempts = 3, .backoff = quick_backoff()})
        .on("*", "one", fail, {.max_attempts = 1, .backoff = quick_backoff()});
    app->append({.type = "t"});
    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::finished));

    place().advance(1h);
    ASSERT_TRUE(app->wait_idle());
    app->stop();
    ASSERT_TRUE(app->run_until_idle());

    EXPECT_EQ(app.log.count(Kind::started), 4U);
    std::map<std::string, std::uint32_t> failures;
    for (const auto& dead : app.dead()) failures[dead.letter.target] = dead.letter.failures;
    EXPECT_EQ(failures, (std::map<std::string, std::uint32_t>{{"three", 3}, {"one", 1}}));
}

TEST_P(Dispatching, TwoFailuresAndASuccessAreThreeCallsAndTwoLinesInTheLog) {
    Application app{place()};
    std::atomic<int> calls{0};
    app->inbox("orders").on("*", "t",
                            [&](const Message&) {
                                if (++calls < 3) throw std::runtime_error{"not yet"};
                            },
                            {.backoff = quick_backoff()});
    const Uuid id = app->append({.type = "t"}).id;
    app->start();

    ASSERT_TRUE(app.log.wait_for(Kind::finished));

    EXPECT_EQ(calls, 3);
    const auto detail = app->catalogue().get(id);
    EXPECT_EQ(detail->summary.state, Filter::State::done);
    ASSERT_EQ(detail->attempts.size(), 2U);
    for (const Attempt& attempt : detail->attempts) {
        EXPECT_EQ(attempt.result, Attempt::Result::failed);
        EXPECT_EQ(attempt.error, "not yet");
    }
}

TEST_P(Dispatching, ATimeoutIsAFailureAndAfterTheLastOneTheLaneGoesOn) {
    Application app{place()};
    app->inbox("orders").on("*", "t",
                            [](const Message& m, Context& context) {
                                if (m.body != "stuck") return;
                                const auto never = std::make_shared<Gate>();
                                never->pass(context.stop_token());
                            },
                            {.max_attempts = 2, .backoff = quick_backoff(), .timeout = 30ms});
    app->append({{.type = "t", .body = "stuck", .lane = "l"}, {.type = "t", .lane = "l"}});
    app->start();

    ASSERT_TRUE(app.log.wait_for(Kind::finished, 2));

    EXPECT_EQ(app.log.count(Kind::timed_out), 2U);
    const auto letters = app.dead();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].letter.failures, 2U);
    EXPECT_THAT(letters[0].letter.reason, HasSubstr("timed out"));
}

TEST_P(Dispatching, AStopInTheMiddleOfAHandlerCostsItNothing) {
    Application app{place()};
    const auto gate = std::make_shared<Gate>();
    std::atomic<bool> stopped{false};
    app->inbox("orders").on("*", "t",
                            [&, gate](const Message&, Context& context) {
                                EXPECT_EQ(context.attempt(), 1U);
                                if (stopped) return;
                                gate->pass(context.stop_token());
                                throw std::runtime_error{"my own call was cancelled"};
                            },
                            {.max_attempts = 1});
    const Uuid id = app->append({.type = "t"}).id;
    app->start();
    ASSERT_TRUE(gate->wait_for_arrivals(1));

    app->stop();
    stopped = true;

    EXPECT_EQ(app.progress(id, "t").failures, 0U);
    EXPECT_EQ(app.count(Filter::State::dead), 0U);
    EXPECT_EQ(app.open(), 1U);
    EXPECT_TRUE(app->run_until_idle());
    EXPECT_EQ(app.count(Filter::State::done), 1U);
}

TEST_P(Dispatching, AHandlersOwnCancellationErrorIsAnOrdinaryFailureAndTheEngineGoesOn) {
    Application app{place()};
    app->inbox("orders", {.lanes = Lanes::none})
        .on("cancelled", "c",
            [](const Message&) {
                throw std::system_error{std::make_error_code(std::errc::operation_canceled)};
            },
            {.max_attempts = 2, .backoff = quick_backoff()})
        .on("slow", "s",
            [](const Message&) {
                throw std::system_error{std::make_error_code(std::errc::timed_out)};
            },
            {.max_attempts = 2, .backoff = quick_backoff()})
        .on("fine", "f", [](const Message&) {});
    app->start();
    app->append({{.type = "cancelled"}, {.type = "slow"}});
    ASSERT_TRUE(app.log.wait_for(Kind::died, 2));

    app->append({.type = "fine"});

    EXPECT_TRUE(app.log.wait_for(Kind::done));
    for (const auto& dead : app.dead()) EXPECT_EQ(dead.letter.failures, 2U);
    EXPECT_TRUE(app->status().ready);
}

TEST_P(Dispatching, ARenamedHandlerGoesOnUnderItsNewKey) {
    Uuid id;
    {
        Application old_version{place()};
        old_version->inbox("orders")
            .on("*", "old", [](const Message&) { throw std::runtime_error{"no"}; },
                {.max_attempts = 2, .backoff = in_an_hour()})
            .on("*", "charged", [](const Message&) {});
        id = old_version->append({.type = "t"}).id;
        ASSERT_TRUE(old_version->run_until_idle());
    }
    Application app{place()};
    Notes calls;
    app->inbox("orders")
        .on("*", "new",
            [&](const Message&, Context& context) {
                calls.add("new " + std::to_string(context.attempt()));
                throw std::runtime_error{"still no"};
            },
            {.max_attempts = 2, .legacy_keys = {"older", "old"}})
        .on("*", "billed", [&](const Message&) { calls.add("billed"); },
            {.legacy_keys = {"charged"}});
    app->start();
    place().advance(1h);
    ASSERT_TRUE(app.log.wait_for(Kind::finished));

    EXPECT_THAT(calls.all(), ElementsAre("new 2"));
    const auto letters = app.dead();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].letter.target, "new");
    EXPECT_EQ(letters[0].letter.failures, 2U);
}

TEST_P(Dispatching, ALegacyKeyThatIsAnothersKeyIsRefusedAtTheStart) {
    Application app{place()};
    app->inbox("orders")
        .on("*", "a", [](const Message&) {})
        .on("*", "b", [](const Message&) {}, {.legacy_keys = {"a"}});

    EXPECT_THROW(app->start(), ConfigError);
    EXPECT_FALSE(app->status().started);
}

TEST_P(Dispatching, WorkOfAHandlerThisVersionDoesNotHaveWaitsForOneThatDoes) {
    {
        Application newer{place()};
        newer->inbox("orders").on("*", "new handler", [](const Message&) {});
        newer->append({.type = "t", .body = "for the new one"});
    }
    {
        Application older{place()};
        older->inbox("orders").on("*", "old handler", [](const Message&) {});
        ASSERT_TRUE(older->run_until_idle());
        EXPECT_EQ(older.log.count(Kind::done), 1U);
        EXPECT_EQ(older.open(), 1U);
        EXPECT_EQ(older.count(Filter::State::dead), 0U);
    }
    Application newer{place()};
    Notes calls;
    newer->inbox("orders").on("*", "new handler", [&](const Message& m) { calls.add(m.body); });

    ASSERT_TRUE(newer->run_until_idle());

    EXPECT_THAT(calls.all(), ElementsAre("for the new one"));
    EXPECT_EQ(newer.open(), 0U);
}

TEST_P(Dispatching, WithoutAnAttemptLogSuccessIsRememberedAllTheSame) {
    Application app{place()};
    std::atomic<int> charged{0};
    app->inbox("orders", {.attempts_log = AttemptsLog::none})
        .on("*", "charge", [&](const Message&) { ++charged; })
        .on("*", "mail",
            [](const Message&, Context& context) {
                if (context.attempt() < 3) throw std::runtime_error{"no mail yet"};
            },
            {.backoff = quick_backoff()});
    const Uuid id = app->append({.type = "t"}).id;
    app->start();

    ASSERT_TRUE(app.log.wait_for(Kind::finished));

    EXPECT_EQ(charged, 1);
    EXPECT_TRUE(app->catalogue().get(id)->attempts.empty());
}

TEST_P(Dispatching, ASlowHandlerHoldsNoFreshMessageBack) {
    Application app{place()};
    const auto gate = std::make_shared<Gate>();
    app->inbox("orders", {.lanes = Lanes::none})
        .on("slow", "s", [gate](const Message&) { gate->pass(); })
        .on("quick", "q", [](const Message&) {});
    app->start();
    app->append({.type = "slow"});
    ASSERT_TRUE(gate->wait_for_arrivals(1));

    for (int i = 0; i < 100; ++i) app->append({.type = "quick"});

    EXPECT_TRUE(app.log.wait_for(Kind::finished, 100));
    EXPECT_EQ(app.open(), 1U);
    gate->open();
    EXPECT_TRUE(app.log.wait_for(Kind::finished, 101));
}

TEST_P(Dispatching, ThousandsOfFailingOnesInFrontHoldNobodyBack) {
    constexpr int kFailing = 2'500;
    Application app{place()};
    app->inbox("orders", {.lanes = Lanes::none})
        .on_batch("bad", "b",
                  [](Batch, BatchContext&) { throw std::runtime_error{"the endpoint is down"}; },
                  {.backoff = in_an_hour(), .batch_max = 1'000})
        .on("good", "g", [](const Message&) {});
    app->append(std::vector<Message>(kFailing, Message{.type = "bad"}));
    app->append({.type = "good"});
    app->start();

    EXPECT_TRUE(app.log.wait_for(Kind::done));
    EXPECT_TRUE(app.log.wait_for(Kind::failed, kFailing, long_patience));
    EXPECT_EQ(app.count(Filter::State::dead), 0U);
}

TEST_P(Dispatching, TheReceiversOwnRetryAfterReplacesTheBackOff) {
    Application app{place()};
    app->inbox("orders").on("*", "t",
                            [](const Message&, Context& context) -> Outcome {
                                if (context.attempt() > 1) return Done{};
                                return Fail{.reason = "busy", .retry_after = 3h};
                            },
                            {.backoff = quick_backoff()});
    const Uuid id = app->append({.type = "t"}).id;
    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::failed));
    ASSERT_TRUE(app->wait_idle());

    EXPECT_GT(app.progress(id, "t").due, place().now() + 2h);
    place().advance(3h);
    EXPECT_TRUE(app.log.wait_for(Kind::finished));
}

/// An endpoint that answered 503 with "Retry-After: 0" had its messages dead after 50 ms.
TEST_P(Dispatching, ARetryAfterThatBacksOffTooWaitsForTheLongerOfBoth) {
    Application app{place()};
    app->inbox("orders").on("*", "t",
                            [](const Message& message) -> Outcome {
                                const Duration wish = message.body == "soon" ? 0s : 3h;
                                return Fail{.retry_after = wish, .backs_off_too = true};
                            },
                            {.backoff = in_an_hour()});
    const Uuid soon = app->append({.type = "t", .body = "soon"}).id;
    const Uuid late = app->append({.type = "t", .body = "late"}).id;
    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::failed, 2));
    ASSERT_TRUE(app->wait_idle());

    EXPECT_GT(app.progress(soon, "t").due, place().now() + 30min);
    EXPECT_GT(app.progress(late, "t").due, place().now() + 2h);
}

}  // namespace waybill::test
