#include "engine/fixture.hpp"

/// Hand-overs that reads have overtaken, and results that nobody waits for.
namespace waybill::test {
namespace {

using Starts = std::vector<std::string>;

/// As PostgreSQL: nothing is known of what others are committing.
class HandingOver : public EngineTest {
protected:
    HandingOver() { store_is_in_order = false; }

    /// In the store, and nobody has heard of it.
    engine::HandOver store_one(const std::string& body, std::uint64_t reads_before) {
        auto made = std::make_shared<Message>(message(body));
        made->id = uuid7(clock.wall(), random_);
        const std::vector<Append> batch{{.message = made}};
        const AppendResult result = store->append(batch).front();
        return {made, result.sequence, result.partition, reads_before};
    }
    void hand_over(const engine::HandOver& handed) {
        stepper->engine().on_appended(clock.now(), std::vector<engine::HandOver>{handed});
        stepper->settle_down();
    }
    void read_increment() {
        stepper->engine().on_wake(clock.now());
        stepper->settle_down();
    }

private:
    SeededRandom random_{7};
};

TEST_F(HandingOver, WhatAnIncrementOvertookWithoutBringingItStartsAtOnce) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    const std::uint64_t sent = engine.engine().overtaking_reads();
    read_increment();
    ASSERT_GT(engine.engine().overtaking_reads(), sent);
    const engine::HandOver handed = store_one("1", sent);
    const std::uint64_t reads = engine.reads();

    hand_over(handed);

    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
    EXPECT_EQ(engine.reads(), reads) << "nothing had to be read for it";
    engine.run_for(1min);
    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(HandingOver, WhatAnIncrementBroughtAndIsFinishedDoesNotStartAgain) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    const engine::HandOver handed = store_one("1", engine.engine().overtaking_reads());
    read_increment();
    ASSERT_EQ(engine.starts(), (Starts{"a:1"}));
    ASSERT_EQ(open_messages(), 0U);

    hand_over(handed);
    engine.run_for(1min);

    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
}

TEST_F(HandingOver, WhatAScanMayHaveBroughtIsLeftToTheNextRead) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    const std::uint64_t sent = engine.engine().overtaking_reads();
    engine.run_for(10min);  // due rows are read, and what is open is looked through
    const engine::HandOver handed = store_one("1", sent);
    const std::uint64_t reads = engine.reads();

    hand_over(handed);

    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
    EXPECT_GT(engine.reads(), reads);
}

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
    EXPECT_EQ(batches, (std::vector<std::size_t>{1, 1, 1}));
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
