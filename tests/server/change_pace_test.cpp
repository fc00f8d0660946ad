#include "server/change_pace.hpp"

#include <gtest/gtest.h>

#include "support/manual_clock.hpp"

namespace waybill::test {
namespace {

using namespace std::chrono_literals;

class ChangePaceTest : public ::testing::Test {
protected:
    ManualClock clock;
    server::ChangePace pace{clock};
    int looks = 0;

    void change(Duration takes) {
        pace.look([&] {
            ++looks;
            clock.advance(takes);
        });
    }
};

TEST_F(ChangePaceTest, WhileItIsCheapEveryChangeCountsAtOnce) {
    for (int i = 0; i < 100; ++i) change(10ms);

    EXPECT_EQ(looks, 100);
}

TEST_F(ChangePaceTest, OneThatIsDearIsFollowedByAnotherAfterTwentyTimesItsTime) {
    change(100ms);
    change(100ms);
    clock.advance(1'999ms);
    change(100ms);
    ASSERT_EQ(looks, 1);

    clock.advance(1ms);
    change(100ms);

    EXPECT_EQ(looks, 2);
}

}  // namespace
}  // namespace waybill::test
