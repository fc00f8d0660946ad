#include "deliver/circuit.hpp"

#include <gtest/gtest.h>

namespace waybill::deliver {
namespace {

using namespace std::chrono_literals;

constexpr LocalTime kStart{1h};

/// Fails until it opens.
Circuit opened() {
    Circuit circuit;
    for (std::uint32_t i = 0; i < Circuit::failures_to_open; ++i) circuit.failed(kStart);
    return circuit;
}

TEST(Circuit, StaysClosedWhileSomeSucceed) {
    Circuit circuit;
    for (int round = 0; round < 10; ++round) {
        for (std::uint32_t i = 1; i < Circuit::failures_to_open; ++i) circuit.failed(kStart);
        circuit.succeeded();
    }
    EXPECT_EQ(circuit.wait(kStart), std::nullopt);
}

TEST(Circuit, OpensAfterFailuresInARowAndRests) {
    Circuit circuit = opened();
    EXPECT_EQ(circuit.wait(kStart), Circuit::rest_first);
    EXPECT_EQ(circuit.wait(kStart + 4s), Circuit::rest_first - 4s);
}

TEST(Circuit, LetsOneThroughAfterItsRest) {
    Circuit circuit = opened();
    EXPECT_EQ(circuit.wait(kStart + 10s), std::nullopt);
    EXPECT_EQ(circuit.wait(kStart + 10s), Circuit::probe_pause);
}

TEST(Circuit, RestsTwiceAsLongEachTimeUpToItsMost) {
    Circuit circuit = opened();
    LocalTime now = kStart;
    Duration rest = Circuit::rest_first;
    for (int i = 0; i < 20; ++i) {
        now += rest;
        ASSERT_EQ(circuit.wait(now), std::nullopt);
        circuit.failed(now);
        rest = std::min(rest * 2, Circuit::rest_most);
        ASSERT_EQ(circuit.wait(now), rest) << i;
    }
}

TEST(Circuit, ClosesWhenItsProbeSucceeds) {
    Circuit circuit = opened();
    EXPECT_EQ(circuit.wait(kStart + 10s), std::nullopt);
    circuit.succeeded();
    EXPECT_FALSE(circuit.is_open());
    EXPECT_EQ(circuit.wait(kStart + 10s), std::nullopt);
    EXPECT_EQ(circuit.wait(kStart + 10s), std::nullopt);
}

TEST(Circuit, FailuresThatWereUnderWayWhenItOpenedDoNotMakeItRestLonger) {
    Circuit circuit = opened();
    for (int i = 0; i < 8; ++i) circuit.failed(kStart + 1s);
    EXPECT_EQ(circuit.wait(kStart + 1s), Circuit::rest_first - 1s);
}

TEST(Circuit, AProbeThatWasReleasedLeavesRoomForAnother) {
    Circuit circuit = opened();
    EXPECT_EQ(circuit.wait(kStart + 10s), std::nullopt);
    circuit.released();
    EXPECT_EQ(circuit.wait(kStart + 10s), std::nullopt);
}

TEST(Circuit, RestsAsLongAsItsEndpointAsksButNoLongerThanAnHour) {
    Circuit circuit;
    circuit.rest(kStart, 30s);
    EXPECT_EQ(circuit.wait(kStart), 30s);
    circuit.rest(kStart, 24h);
    EXPECT_EQ(circuit.wait(kStart), 1h);
}

}  // namespace
}  // namespace waybill::deliver
