#include "core/engine/rests.hpp"

#include <gtest/gtest.h>

namespace waybill::engine {
namespace {

using namespace std::chrono_literals;

LocalTime rested_at(Duration time) {
    return LocalTime{time};
}

TEST(Rests, EachIsToldWhenItsTimeIsOverAndNoneBefore) {
    Rests rests;
    rests.add(rested_at(2s), {0, 1});
    rests.add(rested_at(1s), {0, 2});

    EXPECT_EQ(rests.first(), rested_at(1s));
    EXPECT_EQ(rests.pop(rested_at(500ms)), std::nullopt);
    EXPECT_EQ(rests.pop(rested_at(3s)), (TargetPlace{0, 2}));
    EXPECT_EQ(rests.pop(rested_at(3s)), (TargetPlace{0, 1}));
    EXPECT_EQ(rests.pop(rested_at(3s)), std::nullopt);
}

/// Whoever asked again and was told to rest again was kept once for each time.
TEST(Rests, OneThatIsToldToRestOverAndOverIsKeptOnce) {
    Rests rests;
    for (int i = 1; i <= 1'000; ++i) rests.add(rested_at(1h + i * 1s), {3, 4});

    EXPECT_EQ(rests.size(), 1U);
    EXPECT_EQ(rests.pop(rested_at(1h + 999s)), std::nullopt);
    EXPECT_EQ(rests.pop(rested_at(1h + 1'000s)), (TargetPlace{3, 4}));
    rests.add(rested_at(2h), {3, 4});
    EXPECT_EQ(rests.first(), rested_at(2h));
}

}  // namespace
}  // namespace waybill::engine
