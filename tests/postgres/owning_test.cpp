#include "postgres/fixture.hpp"
#include "support/later.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

TEST_F(Postgres, ASettlementThatWaitedForATakeoverAppliesNothing) {
    append({order(1)});
    const Taken taken = own(*store_);
    const Entry row = scan(taken).entries.at(0);
    auto db = stranger();
    postgres::Transaction takeover{*db};
    db->script(db->in_schema("update waybill.partition set epoch = epoch + 1"), "test");

    auto reply = later_answer([&] { return store_->settle(finish(taken, row)); });
    wait_for_a_waiter();
    takeover.commit();

    EXPECT_THAT(reply.get().lost, ElementsAre(taken.partition));
    EXPECT_EQ(scan(taken).entries.size(), 1U);
}

TEST_F(Postgres, ASettlementThatWaitedForATakeoverThatFailedIsApplied) {
    append({order(1)});
    const Taken taken = own(*store_);
    const Entry row = scan(taken).entries.at(0);
    auto db = stranger();
    auto takeover = std::make_unique<postgres::Transaction>(*db);
    db->script(db->in_schema("update waybill.partition set epoch = epoch + 1"), "test");

    auto reply = later_answer([&] { return store_->settle(finish(taken, row)); });
    wait_for_a_waiter();
    takeover.reset();

    EXPECT_THAT(reply.get().lost, IsEmpty());
    EXPECT_THAT(scan(taken).entries, IsEmpty());
}

TEST_F(Postgres, ALockedPartitionKeepsNoneOfTheOthersFromBeingTaken) {
    const BoxDeclaration box{"pair", {.partitions = 2}};
    store_->declare({&box, 1}, {});
    InstanceState state{.name = "host", .boxes = {"pair"}};
    state.incarnation.bytes[0] = 1;
    std::vector<TakeRequest> wanted;
    for (const PartitionState& seen : store_->beat(state).partitions) {
        wanted.push_back({seen.id, seen.token});
    }
    ASSERT_EQ(wanted.size(), 2U);
    auto db = stranger();
    auto settlement = std::make_unique<postgres::Transaction>(*db);
    db->script(db->in_schema("select from waybill.partition where id = ") +
                   std::to_string(wanted[0].partition) + " for share",
               "test");

    const auto some = store_->take(state.incarnation, wanted);
    settlement.reset();
    const auto rest = store_->take(state.incarnation, wanted);

    EXPECT_THAT(some, ElementsAre(Field(&Taken::partition, wanted[1].partition)));
    EXPECT_THAT(rest, ElementsAre(Field(&Taken::partition, wanted[0].partition)));
}

TEST_F(Postgres, AHeartbeatDoesNotWaitForSettlementsOrTakeovers) {
    own(*store_);
    auto db = stranger();
    const postgres::Transaction somebody{*db};
    db->script(db->in_schema("select from waybill.partition for update"), "test");
    InstanceState state{.name = "another", .boxes = {"orders"}};
    state.incarnation.bytes[0] = 2;

    EXPECT_EQ(store_->beat(state).peers.size(), 2U);
}

TEST_F(Postgres, AnotherTimelineIsAnotherGeneration) {
    const Taken taken = own(*store_);
    append({order(1)});
    const Entry row = scan(taken).entries.at(0);
    schema_.change(
        "create or replace function waybill.generation() returns text "
        "language sql stable as $$ select 'promoted' $$");

    EXPECT_THAT(store_->settle(finish(taken, row)).lost, ElementsAre(taken.partition));
    EXPECT_EQ(increment(taken, "").generation, "promoted");
    EXPECT_EQ(own(*store_).token.generation, "promoted");
}

}  // namespace
}  // namespace waybill::test
