#include <atomic>
#include <stdexcept>

#include "scenarios/flaky_store.hpp"
#include "scenarios/scenario.hpp"
#include "support/background.hpp"
#include "support/pacing.hpp"

/// Stops, restarts and a store in trouble: T44, T57 … T60.
namespace waybill::test {

using Status = AppendResult::Status;

WAYBILL_SCENARIOS(Surviving);

TEST_P(Surviving, AResultThatCannotBeSavedIsSavedLaterAndItsHandlerIsNotRunAgain) {
    const StoreHandle inner = place().open();
    const auto flaky = std::make_shared<FlakyStore>(inner, 1);
    Application app{StoreHandle{flaky}};
    std::atomic<int> calls{0};
    app->inbox("orders").on("*", "t", [&](const Message&) { ++calls; });
    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::scanned));

    flaky->fail_settles(3);
    app->append({.type = "t"});

    ASSERT_TRUE(app.log.wait_for(Kind::settle_failed, 3));
    ASSERT_TRUE(app.log.wait_for(Kind::finished));
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(flaky->settles_to_fail(), 0);
    EXPECT_EQ(inner.catalogue()->count({.state = Filter::State::done}), 1U);
}

TEST_P(Surviving, ManyMoreAtOnceThanAnyHintHoldsAreAllHandled) {
    constexpr int kMessages = 10'001;
    Application app{place()};
    std::atomic<int> handled{0};
    app->inbox("orders", {.lanes = Lanes::none})
        .on_batch("*", "t",
                  [&](Batch batch, BatchContext&) { handled += static_cast<int>(batch.size()); });
    app->start();

    app->append(numbered(kMessages));

    ASSERT_TRUE(app.log.wait_for(Kind::finished, kMessages, long_patience));
    EXPECT_EQ(handled, kMessages);
    EXPECT_EQ(app.open(), 0U);
}

TEST_P(Surviving, AStopWithOneRunningLeavesTheOthersToTheNextAtOnce) {
    const auto gate = std::make_shared<Gate>();
    {
        Application first{place(), "first"};
        first->inbox("orders", {.lanes = Lanes::none, .concurrency = 1})
            .on("*", "t", [gate](const Message&, Context& context) {
                if (!gate->pass(context.stop_token())) throw std::runtime_error{"told to stop"};
            });
        first->append(numbered(50));
        first->start();
        ASSERT_TRUE(gate->wait_for_arrivals(1));
        first->stop();
        EXPECT_EQ(first.log.count(Kind::started), 1U);
        EXPECT_EQ(first.open(), 50U);
    }

    Application second{place(), "second"};
    Notes handled;
    second->inbox("orders", {.lanes = Lanes::none}).on("*", "t", [&](const Message& m, Context& c) {
        EXPECT_EQ(c.attempt(), 1U);
        handled.add(m.body);
    });

    // "At once" is before a lease of the first one could have run out: nothing waits for that.
    ASSERT_TRUE(second->run_until_idle());
    EXPECT_EQ(handled.all().size(), 50U);
    EXPECT_EQ(handled.tally().size(), 50U);
}

TEST_P(Surviving, AHundredStopsAndStartsUnderLoadLoseNothingAndRunNothingTwice) {
    constexpr int kBacklog = 500;
    Application app{place()};
    Notes handled;
    const BoxOptions options{.dedup_window = 1h, .keep_done = 1h};
    std::atomic<int> ran{0};
    app->inbox("orders", options).on("*", "t", [&](const Message& m) {
        handled.add(m.body);
        ++ran;
    });
    std::atomic<int> appended{0};
    app->append({.type = "t", .body = "first"});
    Background producer{[&](std::stop_token stop) {
        while (!stop.stop_requested() && appended < 20'000) {
            // What waits is read again by every start.
            if (appended - ran > kBacklog) {
                pause_for(1ms);
                continue;
            }
            app->append({.type = "t",
                         .body = std::to_string(appended),
                         .lane = std::to_string(appended % 7)});
            ++appended;
        }
    }};

    for (int round = 0; round < 100; ++round) {
        app->start();
        if (round % 3 != 0 && app.open() > 0) {
            EXPECT_TRUE(app.log.wait_for(Kind::done, app.log.count(Kind::done) + 1));
        }
        app->stop();
    }
    producer.stop();
    producer.join();
    ASSERT_TRUE(app->run_until_idle(long_patience));

    const auto tally = handled.tally();
    EXPECT_EQ(tally.size(), static_cast<std::size_t>(appended) + 1);
    for (const auto& [body, times] : tally) EXPECT_EQ(times, 1) << body;
    EXPECT_EQ(app.open(), 0U);

    // Housekeeping is not a loop that ended with the first stop.
    place().advance(2h);
    const std::vector<BoxDeclaration> boxes{{"orders", options}};
    EXPECT_GT(app->upkeep().sweep(boxes, 100'000).messages, 0U);
    EXPECT_EQ(app.count(Filter::State::any), 0U);
}

TEST_P(Surviving, AStoreThatFailsAtAnyStepLosesNothingAndLeavesNothingStuck) {
    constexpr int kMessages = 300;
    const StoreHandle inner = place().open();
    const auto flaky = std::make_shared<FlakyStore>(inner, 20260);
    Application app{StoreHandle{flaky}};
    Notes handled;
    app->inbox("orders").on("*", "t",
                            [&](const Message& m, Context& context) {
                                handled.add(m.body + "/" + std::to_string(context.attempt()));
                                if (m.body.ends_with('3') && context.attempt() == 1) {
                                    throw std::runtime_error{"once"};
                                }
                            },
                            {.backoff = quick_backoff()});
    flaky->trouble(12, 12);
    const auto until_it_works = [](const auto& call) {
        for (;;) {
            try {
                return call();
            } catch (const StoreError&) {
            }
        }
    };
    until_it_works([&] {
        app->start();
        return 0;
    });

    int fresh = 0;
    for (int i = 0; i < kMessages; ++i) {
        const std::string body = std::to_string(i);
        const Message message{
            .type = "t", .body = body, .lane = std::to_string(i % 9), .dedup_key = body};
        // Unknown is resolved by asking again with the same key.
        for (Status status = Status::unknown; status == Status::unknown;) {
            status = until_it_works([&] { return app->append(message).status; });
            fresh += status == Status::fresh;
            EXPECT_NE(status, Status::conflict);
        }
    }

    EXPECT_LE(fresh, kMessages);
    ASSERT_TRUE(app.log.wait_for(Kind::finished, kMessages, long_patience));
    flaky->trouble(0, 0);
    ASSERT_TRUE(app->wait_idle());
    EXPECT_EQ(inner.catalogue()->count({.state = Filter::State::open}), 0U);
    EXPECT_EQ(inner.catalogue()->count({.state = Filter::State::done}),
              static_cast<std::uint64_t>(kMessages));
    // Trouble of the store is no failure of the message, and no reason to run it again.
    const auto tally = handled.tally();
    EXPECT_EQ(tally.size(), kMessages + kMessages / 10U);
    for (const auto& [call, times] : tally) EXPECT_EQ(times, 1) << call;
    EXPECT_EQ(app->status().reconciled, 0U);
}

}  // namespace waybill::test
