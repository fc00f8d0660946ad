#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Owner = PartitionState::Owner;

TEST_P(StoreConformance, ANewPartitionHasNoOwner) {
    declare_box();

    const BeatReply reply = host(1).beat();

    ASSERT_EQ(reply.partitions.size(), 1U);
    EXPECT_EQ(reply.partitions[0].box, "orders");
    EXPECT_EQ(reply.partitions[0].state, Owner::none);
    EXPECT_TRUE(reply.partitions[0].token.owner.is_nil());
}

TEST_P(StoreConformance, ABeatTellsOnlyThePartitionsOfTheBoxesItAttends) {
    declare_box();
    declare_box({}, "mails");
    Host mailer = host(1);
    mailer.state.boxes = {"mails"};

    const BeatReply reply = mailer.beat();

    ASSERT_EQ(reply.partitions.size(), 1U);
    EXPECT_EQ(reply.partitions[0].box, "mails");
}

TEST_P(StoreConformance, ATakenPartitionIsSeenAsOwnedByItsTaker) {
    declare_box();
    Host first = owner(1);

    const PartitionState seen = host(2).beat().partitions[0];

    EXPECT_EQ(seen.state, Owner::alive);
    EXPECT_EQ(seen.token, first.taken[0].token);
    EXPECT_EQ(seen.token.owner, first.incarnation());
}

TEST_P(StoreConformance, APartitionOfALivingOwnerIsNotTaken) {
    declare_box();
    Host first = owner(1);
    Host second = host(2);
    const PartitionState seen = second.beat().partitions[0];

    const auto taken = second.take(seen);

    EXPECT_THAT(taken, IsEmpty());
    EXPECT_EQ(first.beat().partitions[0].token, first.taken[0].token);
}

TEST_P(StoreConformance, APartitionThatChangedHandsSinceItWasSeenIsNotTaken) {
    declare_box();
    Host second = host(2);
    const PartitionState seen_free = second.beat().partitions[0];
    Host first = owner(1);
    first.give(first.taken[0]);

    EXPECT_THAT(second.take(seen_free), IsEmpty());
}

TEST_P(StoreConformance, AnUnknownPartitionIsNotTaken) {
    declare_box();
    Host first = host(1);
    PartitionState seen = first.beat().partitions[0];
    seen.id += 1000;

    EXPECT_THAT(first.take(seen), IsEmpty());
}

TEST_P(StoreConformance, EveryTakeHasANewEpoch) {
    declare_box();
    Host first = owner(1);
    const auto epoch = first.taken[0].token.epoch;
    first.give(first.taken[0]);

    Host second = owner(2);

    EXPECT_GT(second.taken[0].token.epoch, epoch);
}

TEST_P(StoreConformance, OnesOwnPartitionMayBeTakenAgainWithoutBeingUnclean) {
    declare_box();
    Host first = owner(1);
    const PartitionState mine = first.beat().partitions[0];

    const auto again = first.take(mine);

    ASSERT_EQ(again.size(), 1U);
    EXPECT_GT(again[0].token.epoch, mine.token.epoch);
    EXPECT_FALSE(again[0].unclean);
    EXPECT_EQ(again[0].unclean_ends, 0U);
}

TEST_P(StoreConformance, AGivenPartitionIsFreeForAnyone) {
    declare_box();
    Host first = owner(1);

    first.give(first.taken[0]);

    const PartitionState seen = first.beat().partitions[0];
    EXPECT_EQ(seen.state, Owner::none);
    EXPECT_TRUE(seen.heir.is_nil());
    EXPECT_FALSE(owner(2).taken[0].unclean);
}

TEST_P(StoreConformance, AGivenPartitionNamesItsHeirUntilItIsTaken) {
    declare_box();
    Host first = owner(1);
    Host heir = host(2);

    first.give(first.taken[0], heir.incarnation());

    EXPECT_EQ(first.beat().partitions[0].heir, heir.incarnation());
    heir.take_all();
    EXPECT_TRUE(first.beat().partitions[0].heir.is_nil());
}

TEST_P(StoreConformance, ANonOwnerGivesNothingAway) {
    declare_box();
    Host first = owner(1);
    Taken forged = first.taken[0];
    ++forged.token.epoch;

    host(2).give(forged);

    EXPECT_EQ(first.beat().partitions[0].token, first.taken[0].token);
}

TEST_P(StoreConformance, ALeaseLivesUntilJustBeforeItsEnd) {
    declare_box();
    Host first = owner(1);
    advance(first.state.lease - 1us);

    EXPECT_EQ(host(2).beat().partitions[0].state, Owner::alive);
}

TEST_P(StoreConformance, ALateRenewalKeepsWhatNobodyTook) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    append(order(1));
    Host first = owner(1);
    advance(1h);

    const BeatReply reply = first.beat();

    EXPECT_EQ(reply.partitions[0].state, Owner::alive);
    EXPECT_EQ(reply.partitions[0].token, first.taken[0].token);
    EXPECT_THAT(first.finish(only_row(first)).lost, IsEmpty());
}

}  // namespace
}  // namespace waybill::test
