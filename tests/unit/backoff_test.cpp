#include "waybill/backoff.hpp"

#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace waybill {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t many = std::numeric_limits<std::uint32_t>::max();
constexpr double almost_one = 1.0 - 0x1.0p-53;

Backoff exact(Duration base, double multiplier, Duration cap) {
    return {.base = base, .multiplier = multiplier, .cap = cap, .jitter = Jitter::none()};
}

std::vector<Duration> first_five(const Backoff& backoff) {
    std::vector<Duration> delays;
    for (std::uint32_t failures = 1; failures <= 5; ++failures) {
        delays.push_back(delay_after(backoff, failures, 0.5));
    }
    return delays;
}

// T31

TEST(Backoff, DoublesFromItsBase) {
    EXPECT_EQ(first_five(exact(5s, 2.0, 5min)), (std::vector<Duration>{5s, 10s, 20s, 40s, 80s}));
}

TEST(Backoff, StopsGrowingAtItsCap) {
    EXPECT_EQ(first_five(exact(5s, 2.0, 30s)), (std::vector<Duration>{5s, 10s, 20s, 30s, 30s}));
}

TEST(Backoff, SymmetricJitterStaysWithinItsShare) {
    Backoff backoff = exact(10s, 2.0, 5min);
    backoff.jitter = Jitter::symmetric(0.2);
    std::mt19937_64 random{31};
    std::uniform_real_distribution<double> unit{0.0, 1.0};

    for (int draw = 0; draw < 100; ++draw) {
        const Duration delay = delay_after(backoff, 1, unit(random));
        EXPECT_GE(delay, 8s);
        EXPECT_LE(delay, 12s);
    }
}

TEST(Backoff, SymmetricJitterReachesBothEndsAndTheMiddle) {
    Backoff backoff = exact(10s, 2.0, 5min);
    backoff.jitter = Jitter::symmetric(0.2);

    EXPECT_EQ(delay_after(backoff, 1, 0.0), 8s);
    EXPECT_EQ(delay_after(backoff, 1, 0.5), 10s);
    EXPECT_GE(delay_after(backoff, 1, almost_one), 12s - 1us);
}

// T32

TEST(Backoff, EqualJitterKeepsAtLeastHalf) {
    Backoff backoff = exact(2s, 2.0, 5min);
    backoff.jitter = Jitter::equal();

    EXPECT_EQ(delay_after(backoff, 1, 0.0), 1s);
    EXPECT_EQ(delay_after(backoff, 1, 0.5), 1500ms);
    EXPECT_GE(delay_after(backoff, 1, almost_one), 2s - 1us);
    EXPECT_EQ(delay_after(backoff, 2, 0.0), 2s);
    EXPECT_LE(delay_after(backoff, 2, almost_one), 4s);
    EXPECT_GE(delay_after(backoff, 2, almost_one), 4s - 1us);
}

TEST(Backoff, EqualJitterAfterTenErrorsIsWithinTheCap) {
    Backoff backoff = exact(2s, 2.0, 30s);
    backoff.jitter = Jitter::equal();

    EXPECT_EQ(delay_after(backoff, 10, 0.0), 15s);
    EXPECT_LE(delay_after(backoff, 10, almost_one), 30s);
    EXPECT_GE(delay_after(backoff, 10, almost_one), 30s - 1us);
}

// T48

TEST(Backoff, AScheduleRepeatsItsLastEntry) {
    const Backoff backoff{.jitter = Jitter::none(), .schedule = {1s, 7s, 3s}};

    EXPECT_EQ(first_five(backoff), (std::vector<Duration>{1s, 7s, 3s, 3s, 3s}));
    EXPECT_EQ(delay_after(backoff, many, 0.5), 3s);
}

TEST(Backoff, AScheduleReplacesBaseMultiplierAndCap) {
    const Backoff backoff{
        .base = 1h, .multiplier = 9.0, .cap = 2h, .jitter = Jitter::none(), .schedule = {4h}};

    EXPECT_EQ(delay_after(backoff, 1, 0.5), 4h);
}

TEST(Backoff, AScheduleHasJitterToo) {
    const Backoff backoff{.jitter = Jitter::symmetric(0.5), .schedule = {10s}};

    EXPECT_EQ(delay_after(backoff, 1, 0.0), 5s);
    EXPECT_EQ(delay_after(backoff, 3, 0.75), 12'500ms);
}

TEST(Backoff, NoIntervalAtAllIsTheFloorSoThatNothingSpins) {
    EXPECT_EQ(delay_after(exact(0s, 2.0, 5min), 1, 0.5), delay_floor);
    EXPECT_EQ(delay_after(exact(0s, 2.0, 5min), many, 0.5), delay_floor);
    EXPECT_EQ(delay_after({.jitter = Jitter::none(), .schedule = {0s}}, 4, 0.5), delay_floor);
}

// Bounds

TEST(Backoff, AtAMillionFailuresItIsStillTheCap) {
    EXPECT_EQ(delay_after(exact(5s, 2.0, 5min), 1'000'000, 0.5), 5min);
    EXPECT_EQ(delay_after(exact(1us, 1.0001, 5min), 1'000'000, 0.5), 5min);
}

TEST(Backoff, AtTheLargestCountItIsStillTheCap) {
    EXPECT_EQ(delay_after(exact(5s, 2.0, 5min), many, 0.5), 5min);
    EXPECT_EQ(delay_after(exact(5s, 100.0, 5min), many, 0.5), 5min);
}

TEST(Backoff, WithAMultiplierOfOneItNeverGrows) {
    EXPECT_EQ(delay_after(exact(5s, 1.0, 5min), many, 0.5), 5s);
}

TEST(Backoff, AnEndlessCapDoesNotOverflow) {
    EXPECT_EQ(delay_after(exact(5s, 2.0, forever), many, 0.5), forever);

    Backoff backoff = exact(5s, 2.0, forever);
    backoff.jitter = Jitter::symmetric(1.0);
    EXPECT_EQ(delay_after(backoff, many, almost_one), forever);
    EXPECT_EQ(delay_after(backoff, many, 0.0), delay_floor);
}

TEST(Backoff, ZeroFailuresIsTakenForOne) {
    EXPECT_EQ(delay_after(exact(5s, 2.0, 5min), 0, 0.5), 5s);
    EXPECT_EQ(delay_after({.jitter = Jitter::none(), .schedule = {7s, 8s}}, 0, 0.5), 7s);
}

TEST(Backoff, JitterNeverGoesBelowTheFloor) {
    Backoff backoff = exact(12ms, 1.0, 12ms);
    backoff.jitter = Jitter::symmetric(1.0);

    EXPECT_EQ(delay_after(backoff, 1, 0.0), delay_floor);
    EXPECT_EQ(delay_after(backoff, 1, 0.5), 12ms);
}

TEST(Backoff, OptionsThatNoCheckSawStillGiveADelay) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Backoff jitter_nan = exact(5s, 2.0, 5min);
    jitter_nan.jitter = Jitter::symmetric(nan);
    Backoff jitter_huge = exact(5s, 2.0, 5min);
    jitter_huge.jitter = Jitter::symmetric(1e300);

    EXPECT_EQ(delay_after(exact(5s, nan, 5min), 2, 0.5), 5min);
    EXPECT_EQ(delay_after(exact(-5s, 2.0, 5min), 2, 0.5), delay_floor);
    EXPECT_EQ(delay_after(exact(5s, 2.0, -5min), 2, 0.5), delay_floor);
    EXPECT_EQ(delay_after(jitter_nan, 1, 0.25), 5s);
    EXPECT_EQ(delay_after(jitter_huge, 1, 1.0), 10s);
    EXPECT_EQ(delay_after(jitter_huge, 1, 7.0), 10s);
    EXPECT_EQ(delay_after({.jitter = Jitter::none(), .schedule = {-1s}}, 1, 0.5), delay_floor);
}

rc::Gen<Backoff> backoffs() {
    constexpr std::int64_t month_us = 2'592'000'000'000;
    return rc::gen::exec([] {
        const auto base = *rc::gen::inRange<std::int64_t>(0, month_us);
        const auto cap = *rc::gen::inRange<std::int64_t>(base, month_us + 1);
        const auto multiplier = 1.0 + *rc::gen::inRange(0, 99'000) / 1000.0;
        const auto share = *rc::gen::inRange(0, 1001) / 1000.0;
        const auto jitter =
            *rc::gen::element(Jitter::none(), Jitter::equal(), Jitter::symmetric(share));
        return Backoff{.base = Duration{base},
                       .multiplier = multiplier,
                       .cap = Duration{cap},
                       .jitter = jitter};
    });
}

double any_unit() {
    return *rc::gen::inRange(0, 1'000'000) / 1e6;
}

RC_GTEST_PROP(Backoff, IsNeverBelowTheFloorNorAboveTheCapAndItsShare, (std::uint32_t failures)) {
    const Backoff backoff = *backoffs().as("backoff");

    const Duration delay = delay_after(backoff, failures, any_unit());

    const double most = static_cast<double>(backoff.cap.count()) * (1.0 + backoff.jitter.share);
    RC_ASSERT(delay >= delay_floor);
    RC_ASSERT(delay == delay_floor || static_cast<double>(delay.count()) <= most);
}

RC_GTEST_PROP(Backoff, NeverShrinksWithMoreFailures, (std::uint16_t failures)) {
    const Backoff backoff = *backoffs().as("backoff");
    const double random = any_unit();
    const std::uint32_t one = failures + 1U;

    RC_ASSERT(delay_after(backoff, one, random) <= delay_after(backoff, one + 1, random));
}

}  // namespace
}  // namespace waybill
