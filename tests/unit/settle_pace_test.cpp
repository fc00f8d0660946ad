#include "core/engine/settle_pace.hpp"

#include <gtest/gtest.h>

namespace waybill::engine {
namespace {

using namespace std::chrono_literals;

TEST(SettlePace, WhatNobodyWaitsForWaitsAsLongAsTheLastBatchTook) {
    SettlePace pace{3us};
    const LocalTime start{1h};
    EXPECT_TRUE(pace.is_time(start)) << "nothing was settled lately";

    pace.sent(start, 1, false);
    pace.answered(start + 2ms);

    EXPECT_FALSE(pace.is_time(start + 2ms));
    EXPECT_EQ(pace.next(), start + 4ms);
    EXPECT_TRUE(pace.is_time(start + 4ms));
}

TEST(SettlePace, AStoreThatTakesLongIsNotWaitedForAsLong) {
    SettlePace pace{3us};
    const LocalTime start{1h};

    pace.sent(start, 1, false);
    pace.answered(start + 3s);

    EXPECT_EQ(pace.next(), start + 3s + 5ms);
}

TEST(SettlePace, WhatSomebodyWaitsForGoesAtOnce) {
    SettlePace pace{3us};
    const LocalTime start{1h};
    pace.sent(start, 1, false);
    pace.answered(start + 2ms);

    pace.hurry();

    EXPECT_TRUE(pace.is_time(start + 2ms));
}

TEST(SettlePace, WhatFoundNoRoomInABatchGoesWithTheNext) {
    SettlePace pace{3us};
    const LocalTime start{1h};

    pace.sent(start, 1, true);
    pace.answered(start + 2ms);

    EXPECT_TRUE(pace.is_time(start + 2ms));
}

TEST(SettlePace, HalvesPayWhereTheStoreIsAsQuickAsTheEngine) {
    SettlePace pace{3us};
    const LocalTime start{1h};
    EXPECT_TRUE(pace.pays_halves()) << "nothing is known of the store";

    pace.sent(start, 1'000, false);
    pace.answered(start + 5ms);
    EXPECT_FALSE(pace.pays_halves());

    pace.sent(start + 5ms, 1'000, false);
    pace.answered(start + 6ms);
    EXPECT_TRUE(pace.pays_halves());

    pace.sent(start + 6ms, 1, false);
    pace.answered(start + 7ms);
    EXPECT_TRUE(pace.pays_halves()) << "one says nothing";
}

}  // namespace
}  // namespace waybill::engine
