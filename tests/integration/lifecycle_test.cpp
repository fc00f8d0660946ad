#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>

#include "support/app.hpp"
#include "support/background.hpp"
#include "support/gate.hpp"
#include "support/run_together.hpp"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using Kind = Event::Kind;
using test::App;
using test::Gate;

TEST(Lifecycle, StartsAndStopsAHundredTimesUnderLoad) {
    App test;
    std::mutex mutex;
    std::map<std::string, int> handled;
    test.app.inbox("orders").on("*", "t", [&](const Message& m) {
        const std::lock_guard lock{mutex};
        ++handled[m.body];
    });
    std::atomic<int> appended{0};
    test.app.append({.type = "t", .body = "first"});
    test::Background producer{[&](std::stop_token stop) {
        while (!stop.stop_requested()) {
            test.app.append({.type = "t",
                             .body = std::to_string(appended),
                             .lane = std::to_string(appended % 10)});
            ++appended;
            if (appended % 64 == 0) test.app.wait_idle(1ms);
        }
    }};

    for (int i = 0; i < 100; ++i) {
        test.app.start();
        if (i % 3 != 0) test.log.wait_for(Kind::done, test.log.count(Kind::done) + 1);
        test.app.stop();
    }
    producer.stop();
    producer.join();
    ASSERT_TRUE(test.app.run_until_idle(60s));

    EXPECT_EQ(handled.size(), static_cast<std::size_t>(appended) + 1);
    for (const auto& [body, times] : handled) EXPECT_EQ(times, 1) << body;
    EXPECT_EQ(test.store->count({.state = Filter::State::open}), 0U);
    EXPECT_EQ(test.log.count(Kind::stopped), 101U);
}

TEST(Lifecycle, StartAndStopMayBeSaidTwice) {
    App test;
    test.app.inbox("orders");
    test.app.stop();
    test.app.start();
    test.app.start();
    test.app.stop();
    test.app.stop();
    EXPECT_EQ(test.log.count(Kind::stopped), 1U);
    EXPECT_FALSE(test.app.status().started);
}

TEST(Lifecycle, AGracefulStopReleasesWhatWasCancelledUncounted) {
    App test;
    const auto gate = std::make_shared<Gate>();
    std::atomic<int> second_attempt{0};
    test.app.inbox("orders", {.lanes = Lanes::none})
        .on("*", "t", [&, gate](const Message&, Context& context) {
            // Ends when told to, with the error of somebody's cancelled call.
            if (!gate->pass(context.stop_token())) throw std::runtime_error{"call cancelled"};
            if (context.attempt() > 1) ++second_attempt;
        });
    test.app.append({{.type = "t"}, {.type = "t"}, {.type = "t"}});
    test.app.start();
    ASSERT_TRUE(gate->wait_for_arrivals(3));

    test.app.stop();

    EXPECT_EQ(test.log.count(Kind::released), 3U);
    EXPECT_EQ(test.log.count(Kind::failed), 0U);
    EXPECT_EQ(test.store->count({.state = Filter::State::open}), 3U);
    gate->open();
    EXPECT_TRUE(test.app.run_until_idle());
    EXPECT_EQ(second_attempt, 0);
}

TEST(Lifecycle, WhatEndsWellDuringAStopIsKept) {
    App test;
    const auto gate = std::make_shared<Gate>();
    test.app.inbox("orders", {.lanes = Lanes::none}).on("*", "t", [gate](const Message&) {
        gate->pass();
    });
    test.app.append({{.type = "t"}, {.type = "t"}});
    test.app.start();
    ASSERT_TRUE(gate->wait_for_arrivals(2));

    test::Background stopper{[&](std::stop_token) { test.app.stop(); }};
    gate->open();
    stopper.join();

    EXPECT_EQ(test.log.count(Kind::done), 2U);
    EXPECT_EQ(test.store->count({.state = Filter::State::open}), 0U);
}

TEST(Lifecycle, AnotherInstanceGoesOnAtOnceAfterAStop) {
    auto root = memory::open({.partitions = 4});
    const auto gate = std::make_shared<Gate>();
    test::EventLog log;
    const auto handler = [gate](const Message&, Context& context) {
        if (!gate->pass(context.stop_token())) throw std::runtime_error{"cancelled"};
    };
    Waybill first{test::quick_settings(root->connect(), "first")};
    first.inbox("orders").on("*", "t", handler);
    Waybill second{test::quick_settings(root->connect(), "second")};
    second.inbox("orders").on("*", "t", handler);
    second.observe(log);
    for (int i = 0; i < 8; ++i) first.append({.type = "t", .lane = std::to_string(i)});
    first.start();
    ASSERT_TRUE(gate->wait_for_arrivals(8));
    second.start();

    first.stop();
    gate->open();

    EXPECT_TRUE(log.wait_for(Kind::finished, 8));
    for (const auto& line : log.lines(Kind::started)) EXPECT_EQ(line.count, 1U);
}

TEST(Lifecycle, RunOnceHandlesWhatIsThereAndLeaves) {
    App test;
    test.app.inbox("orders", {.lanes = Lanes::none}).on("*", "t", [](const Message&) {});
    std::vector<Message> batch(250, Message{.type = "t"});
    test.app.append(std::move(batch));

    EXPECT_EQ(test.app.run_once(), 250U);
    EXPECT_EQ(test.app.run_once(), 0U);
    EXPECT_FALSE(test.app.status().started);
    EXPECT_THROW(
        {
            test.app.start();
            test.app.run_once();
        },
        ConfigError);
}

TEST(Lifecycle, RunEndsWithASignalAndStopsInOrder) {
    App test;
    test.app.inbox("orders").on("*", "t", [](const Message&) { ::raise(SIGTERM); });
    test.app.append({.type = "t"});

    test.app.run();

    EXPECT_EQ(test.log.count(Kind::stopped), 1U);
    EXPECT_EQ(test.log.count(Kind::done), 1U);
}

TEST(Lifecycle, StopFromAnotherThreadEndsRun) {
    App test;
    const auto gate = std::make_shared<Gate>();
    gate->open();
    test.app.inbox("orders").on("*", "t", [gate](const Message&) { gate->pass(); });
    test.app.append({.type = "t"});
    test::Background stopper{[&](std::stop_token) {
        gate->wait_for_arrivals(1);
        test.app.stop();
    }};

    test.app.run();

    EXPECT_EQ(test.log.count(Kind::stopped), 1U);
}

TEST(Lifecycle, TheStatusTellsWhatIsGoingOn) {
    App test;
    const auto gate = std::make_shared<Gate>();
    test.app.inbox("orders").on("*", "t", [gate](const Message&) { gate->pass(); });
    EXPECT_FALSE(test.app.status().started);
    EXPECT_EQ(test.app.health().state, Health::State::degraded);
    test.app.append({.type = "t", .lane = "a"});
    test.app.start();
    ASSERT_TRUE(gate->wait_for_arrivals(1));

    const Status status = test.app.status();

    EXPECT_TRUE(status.ready);
    EXPECT_EQ(status.partitions, 1U);
    EXPECT_EQ(status.running, 1U);
    EXPECT_EQ(test.app.health().state, Health::State::healthy);
    EXPECT_FALSE(test.app.wait_idle(1ms));
    gate->open();
    EXPECT_TRUE(test.app.wait_idle());
}

}  // namespace
}  // namespace waybill
