#include "core/engine/brought.hpp"

#include <numeric>

#include <gtest/gtest.h>

namespace waybill::engine {
namespace {

TEST(Brought, SaysWhatReadsBroughtSinceAnAppendWasSent) {
    Brought brought;
    const std::uint64_t sent = brought.reads();
    brought.count(true);
    brought.add({7, 5});

    ASSERT_TRUE(brought.knows_since(sent));
    EXPECT_TRUE(brought.has_since(sent, 5));
    EXPECT_TRUE(brought.has_since(sent, 7));
    EXPECT_FALSE(brought.has_since(sent, 6));
}

TEST(Brought, WhatCameBeforeAnAppendWasSentSaysNothingOfIt) {
    Brought brought;
    brought.count(true);
    brought.add({5});

    EXPECT_FALSE(brought.has_since(brought.reads(), 5));
}

TEST(Brought, AReadThatDoesNotSayWhatItBringsLeavesDoubt) {
    Brought brought;
    const std::uint64_t sent = brought.reads();
    brought.count(true);
    brought.count(false);

    EXPECT_FALSE(brought.knows_since(sent));
    EXPECT_TRUE(brought.knows_since(brought.reads()));
}

TEST(Brought, IsBoundedInReads) {
    Brought brought;
    const std::uint64_t sent = brought.reads();
    for (Sequence i = 1; i <= 64; ++i) {
        brought.count(true);
        brought.add({i});
    }
    EXPECT_TRUE(brought.has_since(sent, 1));

    brought.count(true);
    brought.add({65});

    EXPECT_FALSE(brought.knows_since(sent));
    EXPECT_TRUE(brought.has_since(sent + 1, 2));
}

TEST(Brought, IsBoundedInRows) {
    Brought brought;
    const std::uint64_t sent = brought.reads();
    for (int page = 0; page < 3; ++page) {
        std::vector<Sequence> rows(10'000);
        std::iota(rows.begin(), rows.end(), page * 10'000);
        brought.count(true);
        brought.add(std::move(rows));
    }

    EXPECT_FALSE(brought.knows_since(sent));
    EXPECT_TRUE(brought.has_since(sent + 1, 29'999));
}

}  // namespace
}  // namespace waybill::engine
