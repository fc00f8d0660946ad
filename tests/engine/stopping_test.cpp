#include <gtest/gtest.h>

#include "engine/fixture.hpp"

namespace waybill::test {

class StoppingTest : public EngineTest {
protected:
    /// One message runs when it is told to stop.
    Stepper& stop_while_running(bool ends_by_itself, bool guest = false) {
        engine::Config with;
        with.options.shutdown_timeout = 30s;
        with.options.guest = guest;
        with.boxes.push_back(a_box("orders", {}, {"a"}));
        with.boxes[0].targets[0].options.ends_by_itself = ends_by_itself;
        with.boxes[0].targets[0].options.timeout = 5min;
        hold = {"a:1"};
        Stepper& engine = run(std::move(with));
        engine.append({message("1"), message("2")});
        engine.run_for(1s);
        EXPECT_EQ(engine.held().size(), 1U);
        engine.stop();
        return engine;
    }
};

TEST_F(StoppingTest, AHandlerIsToldAtOnceAndItsFailureIsNotCounted) {
    Stepper& engine = stop_while_running(false);
    EXPECT_EQ(engine.cancelled().size(), 1U);

    engine.finish_held(engine.held()[0].id, Fail{"stopped"});

    EXPECT_EQ(engine.count(Event::Kind::failed), 0U);
    EXPECT_TRUE(engine.engine().is_stopped());
}

TEST_F(StoppingTest, WhatEndsByItselfIsLeftAloneAndCountsAsItEnds) {
    Stepper& engine = stop_while_running(true);
    engine.run_for(29s);
    EXPECT_TRUE(engine.cancelled().empty());
    EXPECT_FALSE(engine.engine().is_stopped());

    engine.finish_held(engine.held()[0].id, Fail{"it went wrong"});

    EXPECT_EQ(engine.count(Event::Kind::failed), 1U);
    EXPECT_EQ(open_messages(), 1U);
    EXPECT_TRUE(engine.engine().is_stopped()) << "nothing else is waited for";
}

TEST_F(StoppingTest, WhatHasNotEndedByItselfInTimeIsToldAndGivenBackUncounted) {
    Stepper& engine = stop_while_running(true);
    engine.run_for(31s);
    EXPECT_EQ(engine.cancelled().size(), 1U);
    EXPECT_FALSE(engine.engine().is_stopped()) << "it has a moment to obey";

    engine.finish_held(engine.held()[0].id, Fail{"killed"});

    EXPECT_EQ(engine.count(Event::Kind::failed), 0U);
    EXPECT_EQ(open_messages(), 1U);
    EXPECT_TRUE(engine.engine().is_stopped());
}

TEST_F(StoppingTest, WhoDoesNotObeyIsNotWaitedForLonger) {
    Stepper& engine = stop_while_running(true);

    engine.run_for(30s + engine::last_moment);

    EXPECT_EQ(engine.cancelled().size(), 1U) << "told once";
    EXPECT_TRUE(engine.engine().is_stopped());
}

TEST_F(StoppingTest, AGuestTellsEverybodyAtOnceBecauseItsTimeIsOver) {
    Stepper& engine = stop_while_running(true, true);

    EXPECT_EQ(engine.cancelled().size(), 1U);
}

}  // namespace waybill::test
