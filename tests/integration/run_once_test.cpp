#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/app.hpp"
#include "support/gate.hpp"
#include "support/run_together.hpp"
#include "waybill/system.hpp"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using Kind = Event::Kind;

/// With threads, and on the caller's own.
class RunOnce : public testing::TestWithParam<bool> {
protected:
    RunOnce() { app.observe(log); }
    Settings settings() {
        Settings settings = test::quick_settings(store);
        settings.background = GetParam();
        return settings;
    }
    std::uint64_t open() { return store->count({.state = Filter::State::open}); }

    std::shared_ptr<memory::MemoryStore> store = memory::open();
    test::EventLog log;
    Waybill app{settings()};
};

TEST_P(RunOnce, StartsNoMoreThanItWasAllowed) {
    std::atomic<int> calls{0};
    app.inbox("orders", {.lanes = Lanes::none}).on("*", "t", [&](const Message&) { ++calls; });
    app.append(std::vector<Message>(25, Message{.type = "t"}));

    EXPECT_EQ(app.run_once(30s, 10), 10U);
    EXPECT_EQ(calls, 10);
    EXPECT_EQ(open(), 15U);

    EXPECT_EQ(app.run_once(30s, 10), 10U);
    EXPECT_EQ(app.run_once(30s, 10), 5U);
    EXPECT_EQ(app.run_once(30s, 10), 0U);
    EXPECT_EQ(calls, 25);
}

TEST_P(RunOnce, DoesNotWaitForABoxThatIsPaused) {
    app.inbox("orders").on("*", "t", [](const Message&) { ADD_FAILURE() << "it is paused"; });
    app.append({.type = "t"});
    ASSERT_TRUE(store->pause_box("orders", true));
    const LocalTime before = system_clock().now();

    EXPECT_EQ(app.run_once(10min), 0U);

    EXPECT_LT(system_clock().now() - before, 5min);
    EXPECT_EQ(open(), 1U);
}

TEST_P(RunOnce, ABatchIsCutToWhatIsAllowed) {
    std::atomic<std::size_t> handled{0};
    app.inbox("orders", {.lanes = Lanes::none}).on_batch("*", "t", [&](Batch batch, BatchContext&) {
        handled += batch.size();
    });
    app.append(std::vector<Message>(25, Message{.type = "t"}));

    EXPECT_EQ(app.run_once(30s, 10), 10U);

    EXPECT_EQ(handled, 10U);
    EXPECT_EQ(open(), 15U);
}

TEST_P(RunOnce, WhatItWasNotAllowedToStartCostsNoAttempt) {
    std::atomic<int> later_attempts{0};
    app.inbox("orders", {.lanes = Lanes::none}).on("*", "t", [&](const Message&, Context& context) {
        later_attempts += context.attempt() > 1 ? 1 : 0;
    });
    app.append(std::vector<Message>(20, Message{.type = "t"}));

    while (app.run_once(30s, 3) > 0) {
    }

    EXPECT_EQ(open(), 0U);
    EXPECT_EQ(later_attempts, 0);
    EXPECT_EQ(log.count(Kind::failed), 0U);
}

TEST_P(RunOnce, AFailureUsesUpAPlaceToo) {
    app.inbox("orders", {.lanes = Lanes::none}).on("*", "t", [](const Message&) {
        throw std::runtime_error{"no"};
    });
    app.append(std::vector<Message>(5, Message{.type = "t"}));

    EXPECT_EQ(app.run_once(30s, 3), 0U) << "none is done or dead";

    EXPECT_EQ(log.count(Kind::failed), 3U);
}

TEST_P(RunOnce, WithNothingToDoItComesBackAtOnce) {
    app.inbox("orders").on("*", "t", [](const Message&) {});

    EXPECT_EQ(app.run_once(), 0U);
    EXPECT_EQ(app.run_once(30s, 0), 0U);
}

INSTANTIATE_TEST_SUITE_P(Background, RunOnce, testing::Values(true, false),
                         [](const auto& test) { return test.param ? "Threads" : "ByHand"; });

TEST(RunOnceAsAGuest, TakesNothingFromARunningInstance) {
    auto root = memory::open();
    std::atomic<int> host_calls{0};
    std::atomic<int> guest_calls{0};
    test::EventLog log;
    Waybill host{test::quick_settings(root->connect(), "host")};
    host.inbox("orders").on("*", "t", [&](const Message&) { ++host_calls; });
    Waybill guest{test::quick_settings(root->connect(), "guest")};
    guest.inbox("orders").on("*", "t", [&](const Message&) { ++guest_calls; });
    host.observe(log);
    host.start();
    ASSERT_TRUE(log.wait_for(Kind::owned));

    guest.append({.type = "t"});
    guest.run_once();

    EXPECT_TRUE(log.wait_for(Kind::done));
    EXPECT_EQ(guest_calls, 0);
    EXPECT_EQ(host_calls, 1);
}

}  // namespace
}  // namespace waybill
