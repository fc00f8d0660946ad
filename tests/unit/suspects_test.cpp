#include "core/engine/suspects.hpp"

#include <gtest/gtest.h>

namespace waybill::engine {
namespace {

using namespace std::chrono_literals;

class SuspectsTest : public ::testing::Test {
protected:
    Suspects suspects;

    /// A look a second that meets row 7 of partition 1.
    bool look() {
        now_ += 1s;
        suspects.look();
        return suspects.meet(1, 7, now_, ++reads_);
    }
    void end_increment() { suspects.increment_ended(++reads_); }
    void beat() { suspects.beat_succeeded(now_ += 1s); }
    void learn() {
        end_increment();
        beat();
    }
    LocalTime now() const { return now_; }
    std::uint64_t reads() const { return reads_; }

private:
    LocalTime now_{1s};
    std::uint64_t reads_ = 0;
};

TEST_F(SuspectsTest, WhatIsMetThreeTimesInARowWasLostTrackOf) {
    EXPECT_FALSE(look());
    learn();
    EXPECT_FALSE(look());
    learn();

    EXPECT_TRUE(look());
}

TEST_F(SuspectsTest, WhatWasNotMetInBetweenIsMetAnew) {
    look();
    learn();
    look();
    learn();
    suspects.look();

    EXPECT_FALSE(look());
}

TEST_F(SuspectsTest, WhatSomebodyElseMayHaveChangedIsNotLookedAtBeforeABeatSaysWhoseItIs) {
    look();
    end_increment();
    ASSERT_FALSE(suspects.may_look());

    suspects.beat_succeeded(now());  // it may have been answered before the row was met
    EXPECT_FALSE(suspects.may_look());

    beat();
    EXPECT_TRUE(suspects.has_news());
}

TEST_F(SuspectsTest, WhatAnIncrementMayBringIsNotLookedAtBeforeItHas) {
    look();
    beat();
    suspects.increment_ended(reads());  // it began before the row was met
    ASSERT_FALSE(suspects.may_look());

    end_increment();
    EXPECT_TRUE(suspects.has_news());
}

/// On a busy store it went on for ever: every look met what had been appended a moment ago.
TEST_F(SuspectsTest, WhoLooksAgainLooksOnlyForThoseThatWereMet) {
    look();
    learn();
    suspects.look();
    EXPECT_TRUE(suspects.looks_at(1));
    EXPECT_FALSE(suspects.looks_at(2));

    suspects.meet(1, 8, now(), reads());

    EXPECT_TRUE(suspects.may_look());
    EXPECT_FALSE(suspects.has_news());
}

TEST_F(SuspectsTest, WhatIsNotOursIsForgotten) {
    look();
    learn();
    look();
    suspects.forget(1);
    EXPECT_TRUE(suspects.may_look());
    EXPECT_FALSE(suspects.has_news());

    learn();
    EXPECT_FALSE(look());
}

}  // namespace
}  // namespace waybill::engine
