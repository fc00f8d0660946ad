#include <atomic>
#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/app.hpp"
#include "support/gate.hpp"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using Kind = Event::Kind;
using test::App;
using test::Gate;

TEST(Timeouts, AnAttemptPastItsDeadlineFailsAndItsLateSuccessCountsForNothing) {
    App test;
    const auto gate = std::make_shared<Gate>();
    std::atomic<int> calls{0};
    test.app.inbox("orders").on("*", "t",
                                [&, gate](const Message&, Context&) {
                                    if (++calls == 1) gate->pass();
                                },
                                {.backoff = test::quick_backoff(), .timeout = 30ms});
    test.app.start();
    test.app.append({.type = "t"});

    ASSERT_TRUE(test.log.wait_for(Kind::timed_out));
    gate->open();
    ASSERT_TRUE(test.log.wait_for(Kind::done));
    ASSERT_TRUE(test.log.wait_for(Kind::ghost_returned));

    EXPECT_EQ(calls, 2);
    EXPECT_EQ(test.log.count(Kind::done), 1U);
}

TEST(Timeouts, AHandlerIsToldWhenItsTimeIsUp) {
    App test;
    const auto gate = std::make_shared<Gate>();
    std::atomic<int> told{0};
    test.app.inbox("orders").on(
        "*", "t",
        [&, gate](const Message&, Context& context) {
            if (!gate->pass(context.stop_token())) {
                ++told;
                EXPECT_EQ(context.time_left(), 0s);
                throw std::runtime_error{"timed out"};
            }
        },
        {.max_attempts = 2, .backoff = test::quick_backoff(), .timeout = 20ms});
    test.app.append({.type = "t"});
    test.app.start();

    ASSERT_TRUE(test.log.wait_for(Kind::died));
    EXPECT_EQ(test.log.count(Kind::timed_out), 2U);
    ASSERT_TRUE(test.log.wait_for(Kind::ghost_returned, 2));
    EXPECT_EQ(told, 2);
}

TEST(Timeouts, OthersGoOnWhileAThreadIsStuck) {
    App test;
    const auto gate = std::make_shared<Gate>();
    test.app.inbox("orders", {.lanes = Lanes::none, .concurrency = 1})
        .on("stuck", "s", [gate](const Message&) { gate->pass(); },
            {.max_attempts = 1, .timeout = 20ms})
        .on("*", "all", [](const Message&) {});
    test.app.start();
    test.app.append({.type = "stuck"});
    ASSERT_TRUE(test.log.wait_for(Kind::timed_out));

    for (int i = 0; i < 50; ++i) test.app.append({.type = "t"});

    EXPECT_TRUE(test.log.wait_for(Kind::done, 51));
    gate->open();
    EXPECT_TRUE(test.log.wait_for(Kind::ghost_returned));
}

TEST(Timeouts, TooManyStuckThreadsAndTheInstanceResigns) {
    auto root = memory::open({.partitions = 4});
    const auto gate = std::make_shared<Gate>();
    test::EventLog log;
    test::EventLog other_log;
    Settings settings = test::quick_settings(root->connect(), "stuck");
    settings.abandoned_max = 2;
    settings.shutdown_timeout = 100ms;
    Waybill app{settings};
    app.inbox("orders", {.lanes = Lanes::none})
        .on("*", "t", [gate](const Message&) { gate->pass(); },
            {.max_attempts = 100, .backoff = test::quick_backoff(), .timeout = 20ms});
    app.observe(log);
    Waybill other{test::quick_settings(root->connect(), "well")};
    other.inbox("orders", {.lanes = Lanes::none}).on("*", "t", [](const Message&) {});
    other.observe(other_log);
    for (int i = 0; i < 20; ++i) app.append({.type = "t"});
    app.start();

    ASSERT_TRUE(log.wait_for(Kind::resigned));
    EXPECT_TRUE(app.status().resigned);
    EXPECT_EQ(app.health().state, Health::State::unhealthy);

    // Whatever it does not run is somebody else's now; the rest follows when its threads return.
    other.start();
    gate->open();
    const auto open = [&] { return root->count({.state = Filter::State::open}); };
    EXPECT_TRUE(other_log.wait_for_line([&](const auto& line) {
        return line.kind == Kind::finished && open() == 0;
    }) || open() == 0)
        << open() << " are still open";
}

TEST(Timeouts, AHandlerThatNeverReturnsDoesNotKeepTheProcessFromStopping) {
    const auto gate = std::make_shared<Gate>();
    {
        auto store = memory::open();
        Settings settings = test::quick_settings(std::move(store));
        settings.shutdown_timeout = 50ms;
        Waybill app{settings};
        app.inbox("orders").on("*", "t", [gate](const Message&) { gate->pass(); });
        app.append({.type = "t"});
        app.start();
        ASSERT_TRUE(gate->wait_for_arrivals(1));
    }
    gate->open();
}

}  // namespace
}  // namespace waybill
