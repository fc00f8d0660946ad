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
    engine.run_for(2s);

    EXPECT_EQ(engine.engine().status().refused, "");
    EXPECT_EQ(engine.count(Event::Kind::accepted), 1U);
    EXPECT_EQ(open_messages(), 0U);
}

}  // namespace
}  // namespace waybill::test
