#include "core/runtime/company.hpp"

#include <gtest/gtest.h>

namespace waybill::runtime {
namespace {

using namespace std::chrono_literals;

constexpr LocalTime kNow{1h};

TEST(Company, ACallerAloneWaitsForNobody) {
    Company company;
    EXPECT_TRUE(company.is_complete(1));

    company.note(1, kNow, 1ms);

    EXPECT_TRUE(company.is_complete(1));
}

TEST(Company, ThoseWhoWereAnsweredTogetherAreWaitedForAsLongAsACommitTook) {
    Company company;
    company.note(64, kNow, 700us);

    EXPECT_FALSE(company.is_complete(63));
    EXPECT_TRUE(company.is_complete(64));
    EXPECT_EQ(company.until(), kNow + 700us);
}

TEST(Company, WhereTwoCommitsGoOnAtOnceEachWaitsForHalfOfThem) {
    Company company{2};
    company.note(64, kNow, 700us);

    EXPECT_FALSE(company.is_complete(31));
    EXPECT_TRUE(company.is_complete(32));
}

TEST(Company, ACommitThatCostsAlmostNothingIsNotWaitedFor) {
    Company company;
    company.note(64, kNow, 700us);
    company.note(64, kNow, 10us);

    EXPECT_TRUE(company.is_complete(1));
}

TEST(Company, ASlowDiskMakesNobodyWaitLong) {
    Company company;
    company.note(2, kNow, 10s);

    EXPECT_EQ(company.until(), kNow + 5ms);
}

TEST(Company, ThoseWhoDoNotComeBackAreWaitedForLessAndLessOften) {
    Company company;
    int waits = 0;
    for (int commit = 0; commit < 1'000; ++commit) {
        company.note(2, kNow, 1ms);
        const bool is_complete = company.is_complete(1);
        waits += is_complete ? 0 : 1;
        company.came(is_complete);
    }

    EXPECT_GT(waits, 10);
    EXPECT_LT(waits, 30);
}

TEST(Company, OnceTheyComeAgainTheyAreWaitedForEachTime) {
    Company company;
    company.note(2, kNow, 1ms);
    company.came(false);
    EXPECT_TRUE(company.is_complete(1));
    company.note(2, kNow, 1ms);

    company.came(true);
    company.note(2, kNow, 1ms);

    EXPECT_FALSE(company.is_complete(1));
}

TEST(Company, ThoseWhoAreGoneAreForgotten) {
    Company company;
    company.note(64, kNow, 1ms);

    for (int commit = 0; commit < 100; ++commit) company.note(1, kNow, 1ms);

    EXPECT_TRUE(company.is_complete(1));
}

}  // namespace
}  // namespace waybill::runtime
