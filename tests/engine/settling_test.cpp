#include <span>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "engine/fixture.hpp"

namespace waybill::test {
namespace {

using Starts = std::vector<std::string>;

class SettlingTogether : public EngineTest {
protected:
    std::vector<std::size_t> batches;

    Stepper& run_with_slow_settles(const BoxOptions& options) {
        Stepper& engine = run(a_box("orders", options, {"a"}));
        engine.before_settle = [this](const SettleBatch& batch) {
            batches.push_back(batch.items.size());
            clock.advance(2ms);
        };
        return engine;
    }
};

TEST_F(SettlingTogether, ResultsThatNobodyWaitsForWaitForCompany) {
    Stepper& engine = run_with_slow_settles({});
    engine.append({message("1")}, true);
    ASSERT_EQ(batches, (std::vector<std::size_t>{1})) << "alone it does not wait";

    engine.append({message("2")}, true);
    engine.append({message("3")}, true);
    ASSERT_EQ(engine.starts(), (Starts{"a:1", "a:2", "a:3"}));
    EXPECT_EQ(batches.size(), 1U);
    engine.run_for(2ms);

    EXPECT_EQ(batches, (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(SettlingTogether, AResultThatItsLaneWaitsForIsSettledAtOnce) {
    Stepper& engine = run_with_slow_settles({.lanes = Lanes::strict});
    engine.append({message("0", "other")}, true);
    ASSERT_EQ(batches.size(), 1U);

    engine.append({message("1", "lane"), message("2", "lane")}, true);

    EXPECT_EQ(engine.starts(), (Starts{"a:0", "a:1", "a:2"}));
    EXPECT_EQ(batches.size(), 2U) << "nobody waits for the last of them";
}

TEST_F(SettlingTogether, AResultInWhoseLaneNobodyWaitsWaitsForCompany) {
    Stepper& engine = run_with_slow_settles({.lanes = Lanes::strict});
    engine.append({message("0", "other")}, true);
    ASSERT_EQ(batches.size(), 1U);

    engine.append({message("1", "one")}, true);
    engine.append({message("2", "two")}, true);
    ASSERT_EQ(engine.starts(), (Starts{"a:0", "a:1", "a:2"}));
    EXPECT_EQ(batches.size(), 1U);
    engine.run_for(2ms);

    EXPECT_EQ(batches, (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(SettlingTogether, WhoComesIntoTheLaneOfAResultThatWaitsDoesNotWaitWithIt) {
    Stepper& engine = run_with_slow_settles({.lanes = Lanes::strict});
    engine.append({message("0", "other")}, true);
    engine.append({message("1", "lane")}, true);
    ASSERT_EQ(batches.size(), 1U) << "nobody waits for the second";

    engine.append({message("2", "lane")}, true);

    EXPECT_EQ(engine.starts(), (Starts{"a:0", "a:1", "a:2"}));
    EXPECT_EQ(batches.size(), 2U);
}

/// Two hundred lanes with three messages each; the first of each runs.
class SettlingRounds : public SettlingTogether {
protected:
    static constexpr std::size_t kLanes = 200;

    Stepper& run_first_round() {
        Stepper& engine = run_with_slow_settles({.lanes = Lanes::strict, .concurrency = 1'024});
        hold_all = "a";
        std::vector<Message> messages;
        for (std::size_t i = 0; i < 3 * kLanes; ++i) {
            messages.push_back(message("m", "lane " + std::to_string(i % kLanes)));
        }
        engine.append(std::move(messages));
        EXPECT_EQ(engine.held().size(), kLanes);
        return engine;
    }
    /// Of those that began, so many ended before.
    static void end_round(Stepper& engine, std::size_t ended = 0) {
        std::vector<engine::Completed> completed;
        for (const engine::Run& run : std::span{engine.held()}.subspan(ended)) {
            completed.push_back({run.id, engine::RunResults(1, engine::RunResult{})});
        }
        engine.engine().on_outcomes(engine.now(), completed);
    }
};

/// Handlers were idle while the store settled all at once, and the store while they ran.
TEST_F(SettlingRounds, HalfOfWhatEndedTogetherIsSettledFirst) {
    Stepper& engine = run_first_round();

    end_round(engine);
    engine.settle_down();

    EXPECT_EQ(batches, (std::vector<std::size_t>{kLanes / 2, kLanes / 2}));
    EXPECT_EQ(engine.starts().size(), 2 * kLanes);
}

/// PostgreSQL paid for twice as many settlements, and nobody gained by it.
TEST_F(SettlingRounds, AStoreThatTakesItsTimeGetsAllOfThemAtOnce) {
    Stepper& engine = run_first_round();
    end_round(engine);
    engine.settle_down();
    ASSERT_EQ(batches, (std::vector<std::size_t>{kLanes / 2, kLanes / 2})) << "2 ms each";

    end_round(engine, kLanes);
    engine.settle_down();

    EXPECT_EQ(batches, (std::vector<std::size_t>{kLanes / 2, kLanes / 2, kLanes}));
}

TEST_F(SettlingRounds, TheStoreGetsItsNextCallBeforeTheRestIsDecided) {
    end_round(run_first_round());
    engine::Engine& engine = stepper->engine();
    const engine::Commands first = engine.take_commands();

    engine.on_channel(clock.now(), store->settle(std::get<SettleBatch>(*first.channel)));
    EXPECT_FALSE(engine.is_idle());
    const engine::Commands second = engine.take_commands();
    const engine::Commands third = engine.take_commands();

    EXPECT_TRUE(second.channel.has_value());
    EXPECT_TRUE(second.runs.empty());
    EXPECT_FALSE(third.channel.has_value());
    EXPECT_EQ(third.runs.size(), kLanes / 2);
}

/// A read made room for itself by throwing out those that were about to start.
TEST_F(SettlingTogether, WhereMemoryIsShortWhatFollowsIsDecidedFirst) {
    engine::Config with;
    with.options.window_bytes = 64 << 10;
    with.options.settle_halves_from = 2;
    with.boxes.push_back(a_box("orders", {.lanes = Lanes::strict}, {"a"}));
    run(std::move(with));
    hold_all = "a";
    std::vector<Message> messages;
    for (int i = 0; i < 400; ++i) {
        messages.push_back(message("m", "lane " + std::to_string(i / 2)));
    }
    stepper->append(std::move(messages));
    engine::Engine& engine = stepper->engine();
    ASSERT_GE(engine.status().window_used, std::uint64_t{48} << 10);
    std::vector<engine::Completed> completed;
    for (const engine::Run& one : stepper->held()) {
        completed.push_back({one.id, engine::RunResults(1, engine::RunResult{})});
    }
    engine.on_outcomes(clock.now(), completed);
    const engine::Commands first = engine.take_commands();

    engine.on_channel(clock.now(), store->settle(std::get<SettleBatch>(*first.channel)));

    EXPECT_FALSE(engine.take_commands().runs.empty());
}

/// It looked for what it could settle a thousand times a second, for as long as the inline run took.
TEST_F(SettlingTogether, WhatWaitsForAnInlineRunLetsTheEngineSleep) {
    engine::LocalBox box = a_box("orders", {}, {"quick", "inline"});
    box.targets[1].options.calls = Calls::inline_single;
    hold = {"inline:1"};
    Stepper& engine = run(std::move(box));

    engine.append({message("1")}, true);

    ASSERT_EQ(engine.held().size(), 1U);
    engine.run_for(1s);
    EXPECT_GE(engine.engine().next_tick() - clock.now(), 10ms);
}

TEST_F(SettlingTogether, AStopWaitsForNoCompany) {
    Stepper& engine = run_with_slow_settles({});
    engine.append({message("1")}, true);
    engine.append({message("2")}, true);
    ASSERT_EQ(batches.size(), 1U);

    engine.stop();

    EXPECT_EQ(batches, (std::vector<std::size_t>{1, 1}));
    EXPECT_EQ(open_messages(), 0U);
}

}  // namespace
}  // namespace waybill::test
