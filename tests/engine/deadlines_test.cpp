#include "core/engine/deadlines.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace waybill::engine {
namespace {

using namespace std::chrono_literals;

LocalTime at(Duration time) {
    return LocalTime{time};
}

std::vector<RunId> over(Deadlines& deadlines, LocalTime now) {
    std::vector<RunId> runs;
    deadlines.pass(now, [&](RunId run) { runs.push_back(run); });
    return runs;
}

TEST(Deadlines, EachIsToldOnceWhenItsTimeIsOverAndNoneBefore) {
    Deadlines deadlines;
    deadlines.add(30s, at(30s), 1);
    deadlines.add(1s, at(2s), 2);
    deadlines.add(30s, at(31s), 3);

    EXPECT_EQ(deadlines.first(), at(2s));
    EXPECT_EQ(over(deadlines, at(1s)), (std::vector<RunId>{}));
    EXPECT_EQ(over(deadlines, at(2s)), (std::vector<RunId>{2}));
    EXPECT_EQ(deadlines.first(), at(30s));
    EXPECT_EQ(over(deadlines, at(31s)), (std::vector<RunId>{1, 3}));
    EXPECT_EQ(deadlines.first(), local_never);
}

TEST(Deadlines, WhatBeginsWhileTheyAreToldIsToldInItsTime) {
    Deadlines deadlines;
    deadlines.add(2s, at(2s), 1);

    deadlines.pass(at(2s), [&](RunId) {
        deadlines.add(1s, at(3s), 2);
        deadlines.add(2s, at(4s), 3);
    });

    EXPECT_EQ(deadlines.first(), at(3s));
    EXPECT_EQ(over(deadlines, at(4s)), (std::vector<RunId>{2, 3}));
}

TEST(Deadlines, RunsThatEndedLongBeforeTheirTimeAreNotKeptUntilThen) {
    Deadlines deadlines;
    constexpr RunId kHangs = 1;
    deadlines.add(1h, at(1h), kHangs);

    for (RunId run = 2; run < 1'000'000; ++run) {
        deadlines.add(1h, at(1h), run);
        deadlines.tidy(2, [&](RunId one) { return one != kHangs && one != run; });
        ASSERT_LT(deadlines.size(), 5'000U);
    }

    EXPECT_EQ(over(deadlines, at(1h)).front(), kHangs);
}

}  // namespace
}  // namespace waybill::engine
