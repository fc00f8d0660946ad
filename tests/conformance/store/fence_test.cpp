#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(StoreConformance, AnOwnerThatLostItsPartitionSettlesNothing) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    append(order(1));
    Host first = owner(1);
    const Entry row = only_row(first);
    advance(5s);
    Host second = owner(2);

    const SettleReply reply = first.die(row, "billing");

    EXPECT_THAT(reply.lost, ElementsAre(first.partition()));
    EXPECT_EQ(value_of(only_row(second)), value_of(row));
    EXPECT_THAT(letters(), IsEmpty());
}

TEST_P(StoreConformance, AnOwnerThatGaveItsPartitionAwaySettlesNothing) {
    declare_box();
    append(order(1));
    Host first = owner(1);
    const Entry row = only_row(first);
    first.give(first.taken[0]);

    EXPECT_THAT(first.finish(row).lost, ElementsAre(first.partition()));
    EXPECT_EQ(owner(2).scan().size(), 1U);
}

TEST_P(StoreConformance, ATokenWithAnotherEpochSettlesNothing) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Host forger = host;
    ++forger.taken[0].token.epoch;

    EXPECT_THAT(forger.finish(row).lost, ElementsAre(host.partition()));
    EXPECT_EQ(host.scan().size(), 1U);
}

TEST_P(StoreConformance, ATokenWithAnotherOwnerSettlesNothing) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Host forger = host;
    forger.taken[0].token.owner = id_of(99);

    EXPECT_THAT(forger.finish(row).lost, ElementsAre(host.partition()));
    EXPECT_EQ(host.scan().size(), 1U);
}

TEST_P(StoreConformance, ATokenOfAnotherTimelineSettlesNothing) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Host forger = host;
    forger.taken[0].token.generation += "-before";

    EXPECT_THAT(forger.finish(row).lost, ElementsAre(host.partition()));
    EXPECT_EQ(host.scan().size(), 1U);
}

TEST_P(StoreConformance, AnOldTokenOfTheSameOwnerSettlesNothing) {
    declare_box();
    append(order(1));
    Host before = owner();
    const Entry row = only_row(before);
    Host after = before;
    after.taken.clear();
    after.take(after.beat().partitions[0]);

    EXPECT_THAT(before.finish(row).lost, ElementsAre(before.partition()));
    EXPECT_THAT(after.finish(row).lost, IsEmpty());
}

TEST_P(StoreConformance, ALostPartitionDoesNotHoldBackTheOthersOfItsBatch) {
    declare_box({.partitions = 2});
    for (int number = 1; number <= 20; ++number) append(order(number));
    Host host = owner();
    const auto rows = host.scan();
    ASSERT_EQ(host.taken.size(), 2U);
    const PartitionId kept = host.taken[0].partition;
    const PartitionId lost = host.taken[1].partition;
    host.give(host.taken[1]);
    std::vector<Settlement> all;
    for (const Entry& row : rows) all.push_back(finished(row));

    const SettleReply reply = host.settle(all);

    EXPECT_THAT(reply.lost, ElementsAre(lost));
    const auto left = host.scan();
    EXPECT_FALSE(left.empty());
    for (const Entry& row : left) EXPECT_NE(row.partition, kept);
}

TEST_P(StoreConformance, AnItemWithoutAFenceIsLost) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);

    const SettleReply reply = host.store().settle({.items = {finished(row)}});

    EXPECT_THAT(reply.lost, ElementsAre(host.partition()));
    EXPECT_EQ(host.scan().size(), 1U);
}

TEST_P(StoreConformance, ALateButUnchangedOwnerStillSettles) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    advance(1h);

    EXPECT_THAT(host.finish(row).lost, IsEmpty());
    EXPECT_THAT(host.scan(), IsEmpty());
}

}  // namespace
}  // namespace waybill::test
