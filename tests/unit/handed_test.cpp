#include "core/engine/handed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace waybill::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Handed, ATransactionIsKnownOnceAllItsRowsAre) {
    Handed handed;
    handed.take(7, 2);
    EXPECT_THAT(handed.known(), IsEmpty());

    handed.take(7, 2);

    EXPECT_THAT(handed.known(), ElementsAre(7));
}

TEST(Handed, OneOfWhichARowIsMissingIsNeverKnown) {
    Handed handed;
    handed.take(7, 3);
    handed.take(7, 3);
    handed.take(8, 1);
    handed.take(7, 3);

    EXPECT_THAT(handed.known(), ElementsAre(8));
}

TEST(Handed, AStoreWithoutTransactionsHasNoneToLeaveOut) {
    Handed handed;
    handed.take(0, 1);

    EXPECT_THAT(handed.known(), IsEmpty());
}

TEST(Handed, WhatAnIncrementHasPassedIsForgottenAndWhatCameMeanwhileIsNot) {
    Handed handed;
    handed.take(7, 1);
    handed.increment_begins();
    handed.take(8, 1);
    EXPECT_THAT(handed.known(), ElementsAre(7, 8)) << "a further page leaves out both";

    handed.increment_ends();

    EXPECT_THAT(handed.known(), ElementsAre(8));
}

TEST(Handed, AnIncrementThatBeginsAgainPassesWhatIsKnownThen) {
    Handed handed;
    handed.take(7, 1);
    handed.increment_begins();
    handed.take(8, 1);

    handed.increment_begins();
    handed.increment_ends();

    EXPECT_THAT(handed.known(), IsEmpty());
}

TEST(Handed, OnlySoManyAreKnownAndTheNewestStay) {
    Handed handed;
    for (std::uint64_t i = 1; i <= 200; ++i) handed.take(i, 1);
    handed.increment_begins();
    for (std::uint64_t i = 201; i <= 300; ++i) handed.take(i, 1);
    EXPECT_EQ(handed.known().size(), 256U);

    handed.increment_ends();

    EXPECT_EQ(handed.known().size(), 100U);
    EXPECT_EQ(handed.known().front(), 201U);
}

}  // namespace
}  // namespace waybill::engine
