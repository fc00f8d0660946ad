#include <atomic>
#include <stdexcept>

#include "scenarios/scenario.hpp"
#include "support/background.hpp"

/// Retention, health, schedules: T23, T75, T76, T79, T80.
namespace waybill::test {

using testing::ElementsAre;
using testing::HasSubstr;

WAYBILL_SCENARIOS(Keeping);

TEST_P(Keeping, OnlyWhatIsDoneAndOldEnoughIsSweptInSmallBatches) {
    Application app{place()};
    const BoxOptions options{.lanes = Lanes::none, .keep_done = 1h};
    app->inbox("orders", options)
        .on("done", "t", [](const Message&) {})
        .on("dead", "t2", [](const Message&) -> Outcome { return Dead{"no"}; })
        .on("half", "ok", [](const Message&) {})
        .on("half", "later", [](const Message&) -> Outcome { return Defer{100h}; });
    const std::vector<BoxDeclaration> boxes{{"orders", options}};
    std::vector<Message> messages(5, Message{.type = "done"});
    messages.push_back({.type = "dead"});
    messages.push_back({.type = "half"});
    messages.push_back({.type = "nobody's"});
    app->append(std::move(messages));
    ASSERT_TRUE(app->run_until_idle());

    EXPECT_EQ(app->upkeep().sweep(boxes, 2), Swept{});
    place().advance(2h);
    app->append({.type = "done", .body = "young"});
    ASSERT_TRUE(app->run_until_idle());

    std::vector<std::uint64_t> swept;
    for (bool more = true; more;) {
        const Swept round = app->upkeep().sweep(boxes, 2);
        swept.push_back(round.messages);
        EXPECT_EQ(round.dead_letters, 0U);
        more = round.more;
    }
    EXPECT_THAT(swept, ElementsAre(2U, 2U, 1U));
    EXPECT_EQ(app.count(Filter::State::done), 1U);
    EXPECT_EQ(app.count(Filter::State::dead), 1U);
    EXPECT_EQ(app.count(Filter::State::open), 1U);
    EXPECT_EQ(app.count(Filter::State::parked), 1U);
}

TEST_P(Keeping, SweepingBesideWorkTouchesNothingOpenAndNoOtherBox) {
    constexpr int kMessages = 300;
    Application app{place()};
    Notes handled;
    const auto handler = [&](const Message& m, Context& context) {
        if (context.attempt() == 1 && m.body.ends_with('7')) throw std::runtime_error{"once"};
        handled.add(m.box + m.body);
    };
    const BoxOptions short_lived{.keep_done = 1us};
    const BoxOptions long_lived{.keep_done = 1000h};
    app->inbox("short", short_lived).on("*", "t", handler, {.backoff = quick_backoff()});
    app->inbox("long", long_lived).on("*", "t", handler, {.backoff = quick_backoff()});
    const std::vector<BoxDeclaration> boxes{{"short", short_lived}, {"long", long_lived}};
    app->start();
    {
        Background sweeper{[&](std::stop_token stop) {
            while (!stop.stop_requested()) app->upkeep().sweep(boxes, 5);
        }};
        for (int i = 0; i < kMessages; ++i) {
            const std::string body = std::to_string(i);
            const std::string lane = std::to_string(i % 10);
            app->append({{.box = "short", .type = "t", .body = body, .lane = lane},
                         {.box = "long", .type = "t", .body = body, .lane = lane}});
        }
        ASSERT_TRUE(app.log.wait_for(Kind::finished, kMessages * 2, long_patience));
        sweeper.stop();
    }
    while (app->upkeep().sweep(boxes, 100).more) {
    }

    const auto tally = handled.tally();
    EXPECT_EQ(tally.size(), kMessages * 2U);
    for (const auto& [body, times] : tally) EXPECT_EQ(times, 1) << body;
    EXPECT_EQ(app->catalogue().count({.box = "short"}), 0U);
    EXPECT_EQ(app->catalogue().count({.box = "long"}), static_cast<std::uint64_t>(kMessages));
}

TEST_P(Keeping, HealthTellsOfDepthLagAndDeadLettersTheWorstFirst) {
    Application app{place()};
    app->inbox("orders").on("dead", "t", [](const Message&) -> Outcome { return Dead{"no"}; });
    HealthLimits limits{.open_degraded = 3, .open_unhealthy = 100};
    limits.dead_degraded = 1;
    limits.dead_unhealthy = 2;

    app->append({{.type = "dead"}, {.type = "dead"}});
    Health health = app->health(limits);
    EXPECT_EQ(health.state, Health::State::degraded);
    EXPECT_THAT(health.reasons, ElementsAre(HasSubstr("not started")));

    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::finished, 2));
    ASSERT_TRUE(app->wait_idle());
    app->stop();
    app->append({{.type = "dead"}, {.type = "dead"}, {.type = "dead"}});
    place().advance(10min);

    health = app->health(limits);
    EXPECT_EQ(health.state, Health::State::unhealthy);
    EXPECT_THAT(health.reasons.at(0), HasSubstr("2 dead letters"));
    EXPECT_THAT(health.reasons, testing::Contains(HasSubstr("3 messages are open")));
    EXPECT_THAT(health.reasons, testing::Contains(HasSubstr("the oldest open message")));
    EXPECT_EQ(health.store.open, 3U);
    EXPECT_EQ(health.store.dead, 2U);
    EXPECT_GE(health.store.oldest_open, 10min);
}

TEST_P(Keeping, AScheduledMessageIsInvisibleUntilItsTimeAndHandledThen) {
    Application app{place()};
    Notes handled;
    app->inbox("orders").on("*", "t", [&](const Message& m) { handled.add(m.body); });
    app->append({.type = "t", .body = "tomorrow", .not_before = place().now() + 24h});
    app->append({.type = "t", .body = "now"});
    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::finished));
    ASSERT_TRUE(app->wait_idle());
    EXPECT_THAT(handled.all(), ElementsAre("now"));

    place().advance(24h);

    ASSERT_TRUE(app.log.wait_for(Kind::finished, 2));
    EXPECT_THAT(handled.all(), ElementsAre("now", "tomorrow"));
}

TEST_P(Keeping, AScheduledMessageOutlivesARestart) {
    {
        Application app{place()};
        app->inbox("orders").on("*", "t", [](const Message&) {});
        app->append({.type = "t", .body = "tomorrow", .not_before = place().now() + 24h});
        ASSERT_TRUE(app->run_until_idle());
        EXPECT_EQ(app.log.count(Kind::started), 0U);
    }
    Application app{place()};
    Notes handled;
    app->inbox("orders").on("*", "t", [&](const Message& m) { handled.add(m.body); });
    place().advance(24h);

    ASSERT_TRUE(app->run_until_idle());

    EXPECT_THAT(handled.all(), ElementsAre("tomorrow"));
}

TEST_P(Keeping, WorkForAnotherBoxIsWrittenInTheHandlersOwnTransaction) {
    Application app{place()};
    Notes handled;
    std::atomic<bool> broken{true};
    app->inbox("in", {.lanes = Lanes::none})
        .on_inline("*", "split",
                   [&](const Message& m, Context&, void* native) {
                       Message out{.box = "work", .type = "part", .body = m.body};
                       out.id = m.id;
                       out.id.bytes[15] ^= 0xFF;
                       place().append_inside(
                           native, {.message = std::make_shared<const Message>(std::move(out))});
                       if (broken) throw std::runtime_error{"after the write"};
                   },
                   {.backoff = in_an_hour()});
    app->inbox("work").on("*", "t", [&](const Message& m) { handled.add(m.body); });
    app->append({.box = "in", .type = "t", .body = "x"});
    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::failed));
    ASSERT_TRUE(app->wait_idle());
    EXPECT_EQ(app->catalogue().count({.box = "work"}), 0U);

    broken = false;
    place().advance(1h);

    ASSERT_TRUE(app.log.wait_for(Kind::finished, 2));
    EXPECT_THAT(handled.all(), ElementsAre("x"));
    EXPECT_EQ(app->catalogue().count({.box = "work"}), 1U);
}

}  // namespace waybill::test
