#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Owner = PartitionState::Owner;

TEST_P(StoreConformance, AnOwnerSilentForItsLeaseIsDead) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    Host first = owner(1);

    advance(first.state.lease);

    EXPECT_EQ(host(2).beat().partitions[0].state, Owner::dead);
}

TEST_P(StoreConformance, TheWorkOfADeadOwnerIsTakenOver) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    append(order(1));
    Host first = owner(1);
    advance(5s);

    Host second = owner(2);

    ASSERT_EQ(second.taken.size(), 1U);
    EXPECT_TRUE(second.taken[0].unclean);
    EXPECT_THAT(bodies(second.scan()), ElementsAre("order 1"));
}

TEST_P(StoreConformance, ATakerChecksTheDeadOwnerAgain) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    Host first = owner(1);
    advance(5s);
    Host second = host(2);
    const PartitionState seen_dead = second.beat().partitions[0];
    first.beat();

    EXPECT_THAT(second.take(seen_dead), IsEmpty());
    EXPECT_EQ(second.beat().partitions[0].state, Owner::alive);
}

TEST_P(StoreConformance, OnlyOneOfTwoTakersWins) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    Host dead = owner(1);
    advance(5s);
    Host second = host(2);
    Host third = host(3);
    const PartitionState seen_by_second = second.beat().partitions[0];
    const PartitionState seen_by_third = third.beat().partitions[0];

    const auto taken_by_second = second.take(seen_by_second);
    const auto taken_by_third = third.take(seen_by_third);

    EXPECT_EQ(taken_by_second.size(), 1U);
    EXPECT_THAT(taken_by_third, IsEmpty());
}

TEST_P(StoreConformance, ALeaseFromBeforeTheClockSteppedBackIsVoid) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    Host first = owner(1);

    advance(-1h);

    EXPECT_EQ(host(2).beat().partitions[0].state, Owner::dead);
    EXPECT_EQ(owner(3).taken.size(), 1U);
}

TEST_P(StoreConformance, AnOwnerThatBeatsAfterTheClockSteppedBackLives) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    Host first = owner(1);
    advance(-1h);

    first.beat();

    EXPECT_EQ(host(2).beat().partitions[0].state, Owner::alive);
}

TEST_P(StoreConformance, UncleanEndsInARowAreCounted) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    std::vector<std::uint32_t> counts;

    for (int number = 1; number <= 4; ++number) {
        counts.push_back(owner(number).taken.at(0).unclean_ends);
        advance(5s);
    }

    EXPECT_THAT(counts, ElementsAre(0U, 1U, 2U, 3U));
}

TEST_P(StoreConformance, FiveQuietMinutesForgetUncleanEnds) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    Host first = owner(1);
    advance(5s);
    Host second = owner(2);
    advance(crash_quiet);

    Host third = owner(3);

    EXPECT_EQ(second.taken[0].unclean_ends, 1U);
    EXPECT_TRUE(third.taken[0].unclean);
    EXPECT_EQ(third.taken[0].unclean_ends, 1U);
}

TEST_P(StoreConformance, AnOwnerThatWasStoppingDidNotEndUncleanly) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    Host first = owner(1);
    first.state.stopping = true;
    first.beat();
    advance(5s);

    Host second = owner(2);

    ASSERT_EQ(second.taken.size(), 1U);
    EXPECT_FALSE(second.taken[0].unclean);
    EXPECT_EQ(second.taken[0].unclean_ends, 0U);
}

TEST_P(StoreConformance, ACleanHandOverRemembersTheUncleanEndBeforeIt) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    Host first = owner(1);
    advance(5s);
    Host second = owner(2);
    advance(2s);
    second.give(second.taken[0]);

    Host third = owner(3);

    EXPECT_FALSE(third.taken[0].unclean);
    EXPECT_EQ(third.taken[0].unclean_ends, 1U);
    EXPECT_EQ(third.taken[0].quiet_for, 2s);
}

TEST_P(StoreConformance, ATakenOverPartitionIsScannedAsItsLastOwnerLeftIt) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    append_all({order(1), order(2)});
    Host first = owner(1);
    const auto rows = first.scan();
    Settlement failed = unchanged(rows[1]);
    failed.progress = {
        {.target = "billing", .failures = 2, .due = now() + 1min, .last_error = "x"}};
    failed.due = now() + 1min;
    failed.strikes = 1;
    failed.solo_epoch = 7;
    first.settle({finished(rows[0]), failed});
    advance(5s);

    const Entry row = only_row(owner(2));

    EXPECT_EQ(row.sequence, rows[1].sequence);
    EXPECT_EQ(row.progress, failed.progress);
    EXPECT_EQ(row.due, failed.due);
    EXPECT_EQ(row.strikes, 1U);
    EXPECT_EQ(row.solo_epoch, 7U);
}

}  // namespace
}  // namespace waybill::test
