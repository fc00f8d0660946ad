#include "core/assert.hpp"

#include <gtest/gtest.h>

namespace {

TEST(AssertDeathTest, AFalseConditionSaysWhereItIsAndAborts) {
    EXPECT_DEATH(WAYBILL_ASSERT(2 + 2 == 5),
                 "assert_test\\.cpp:[0-9]+: waybill: assertion failed: 2 \\+ 2 == 5");
}

TEST(Assert, ATrueConditionIsEvaluatedOnceAndCostsNothingElse) {
    int evaluations = 0;

    WAYBILL_ASSERT(++evaluations == 1);

    EXPECT_EQ(evaluations, 1);
}

}  // namespace
