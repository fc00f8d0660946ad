#include <gmock/gmock.h>

#include "engine/fixture.hpp"

namespace waybill::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Reads went well all the time, so that nothing but the log said it.
TEST_F(EngineTest, ResultsThatTheStoreRefusesAreToldUntilItTakesThem) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    int tries = 0;
    engine.before_settle = [&](const SettleBatch&) {
        ++tries;
        throw StoreError{Reaction::give_up, "permission denied"};
    };
    engine.append({message("a")});
    engine.run_for(2s);
    EXPECT_EQ(engine.engine().status().refused, "") << "that may be over in a moment";

    for (int i = 0; i < 60; ++i) {
        engine.append({message("more")});  // and is read
        engine.run_for(1s);
    }

    EXPECT_THAT(engine.engine().status().refused,
                AllOf(StartsWith("results for 62 s: "), HasSubstr("permission denied")));
    EXPECT_LE(tries, 100) << "once a second, also while reads succeed";
    EXPECT_EQ(engine.count(Event::Kind::accepted), 0U);

    engine.before_settle = {};
    engine.run_for(15s);  // some wait for their turn alone

    EXPECT_EQ(engine.engine().status().refused, "");
    EXPECT_EQ(engine.count(Event::Kind::accepted), 1U);
    EXPECT_EQ(open_messages(), 0U);
}

/// Somebody held one row, or a trigger refused it, and no result of the instance was stored meanwhile.
TEST_F(EngineTest, ARowThatTheStoreRefusesHoldsUpNoOther) {
    for (const Reaction reaction : {Reaction::retry, Reaction::give_up, Reaction::bad_data}) {
        Stepper& engine = run(a_box("orders", {}, {"a"}));
        Uuid culprit{};
        int tries_of_culprit = 0;
        engine.before_settle = [&](const SettleBatch& batch) {
            for (const Settlement& item : batch.items) {
                if (item.message != culprit) continue;
                ++tries_of_culprit;
                throw StoreError{reaction, "this row is refused"};
            }
        };
        hold_all = "a";
        engine.append({message("bad")});
        engine.run_for(10ms);
        culprit = engine.held().front().items.front().message->id;
        hold_all.clear();
        engine.finish_held(engine.held().front().id, Done{});
        for (int i = 0; i < 100; ++i) {
            engine.append({message("good")});
            engine.run_for(500ms);
        }

        EXPECT_EQ(open_messages(), 1U) << "all but one";
        EXPECT_THAT(engine.engine().status().refused, HasSubstr("this row is refused"));
        EXPECT_LE(tries_of_culprit, 60);
        culprit = {};
        engine.run_for(12s);
        EXPECT_EQ(open_messages(), 0U);
        EXPECT_EQ(engine.engine().status().refused, "");
        EXPECT_EQ(engine.count(Event::Kind::accepted), 1U);
        engine.stop();
        engine.run_for(1s);
    }
}

/// It had lost its only partition meanwhile, asked for nothing any more, and was unhealthy for ever.
TEST_F(EngineTest, WhatIsOthersNowIsNotRefused) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    engine.before_settle = [](const SettleBatch&) {
        throw StoreError{Reaction::back_off, "no route"};
    };
    engine.append({message("a")});
    engine.run_for(5s);
    ASSERT_NE(engine.engine().status().refused, "");

    InstanceState other{.name = "other", .lease = 1h, .boxes = {"orders"}};
    other.incarnation.bytes[0] = 1;
    clock.advance(1min);  // nobody has heard of the first one meanwhile
    std::vector<TakeRequest> all;
    for (const PartitionState& one : store->beat(other).partitions) {
        all.push_back({one.id, one.token});
    }
    ASSERT_EQ(store->take(other.incarnation, all).size(), all.size());
    engine.run_for(10s);

    EXPECT_EQ(engine.engine().status().partitions, 0U);
    EXPECT_EQ(engine.engine().status().refused, "");
}

}  // namespace
}  // namespace waybill::test
