#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Status = AppendResult::Status;

TEST_P(StoreConformance, AnAppendedMessageIsReadBackByteForByte) {
    declare_box();
    Message message = order(1, "lane-1");
    message.body = std::string("\0\xFF\xC3 bytes", 9);
    message.content_type = "application/octet-stream";
    message.attributes = {{"traceparent", "00-abc"}, {"empty", ""}};
    message.tenant = "acme";
    message.user = "eve";
    message.correlation_id = "c-1";
    message.occurred_at = now() - 5h;
    message.not_before = now() + 1h;
    message.dedup_key = "k-1";
    message.collapse_key = "c";

    append(message);

    EXPECT_EQ(*only_row(owner()).message, message);
}

TEST_P(StoreConformance, AFreshAppendTellsItsIdItsSequenceAndItsPartition) {
    declare_box();

    const AppendResult result = append(order(1));

    const Entry row = only_row(owner());
    EXPECT_EQ(result.status, Status::fresh);
    EXPECT_EQ(result.id, id_of(1));
    EXPECT_EQ(result.sequence, row.sequence);
    EXPECT_EQ(result.partition, row.partition);
}

TEST_P(StoreConformance, ABatchKeepsItsOrder) {
    declare_box();

    const auto results = append_all({order(3), order(1), order(2)});

    EXPECT_LT(results[0].sequence, results[1].sequence);
    EXPECT_LT(results[1].sequence, results[2].sequence);
    EXPECT_THAT(bodies(owner().scan()), ElementsAre("order 3", "order 1", "order 2"));
}

TEST_P(StoreConformance, ALaterAppendHasALargerSequence) {
    declare_box();

    const Sequence first = append(order(1)).sequence;
    const Sequence second = append(order(2)).sequence;

    EXPECT_GT(first, 0);
    EXPECT_GT(second, first);
}

TEST_P(StoreConformance, ANewRowIsUntouched) {
    declare_box();

    append(order(1));

    const Entry row = only_row(owner());
    EXPECT_THAT(row.progress, IsEmpty());
    EXPECT_THAT(row.only, IsEmpty());
    EXPECT_EQ(row.requeues, 0U);
    EXPECT_EQ(row.strikes, 0U);
    EXPECT_EQ(row.solo_epoch, 0U);
    EXPECT_FALSE(row.halted);
    EXPECT_FALSE(row.parked);
}

TEST_P(StoreConformance, ANewRowIsDueAtItsNotBefore) {
    declare_box();
    Message message = order(1);
    message.not_before = now() + 10min;

    append(message);

    EXPECT_EQ(only_row(owner()).due, message.not_before);
}

TEST_P(StoreConformance, AnAppendToAnUndeclaredBoxIsRefusedAndItsBatchWithIt) {
    declare_box();
    Message stray = order(2);
    stray.box = "nowhere";

    Reaction reaction{};
    try {
        append_all({order(1), stray});
        ADD_FAILURE() << "it was accepted";
    } catch (const StoreError& error) {
        reaction = error.reaction();
    }

    EXPECT_EQ(reaction, Reaction::bad_data);
    EXPECT_THAT(owner().scan(), IsEmpty());
}

TEST_P(StoreConformance, AnEmptyBatchIsAnsweredWithNothing) {
    declare_box();

    EXPECT_THAT(append_all({}), IsEmpty());
}

TEST_P(StoreConformance, AClosedConnectionIsNotWoken) {
    declare_box();
    int woken = 0;
    {
        Host gone = host(1);
        gone.store().on_wake([&] { ++woken; });
    }

    append(order(1));

    EXPECT_EQ(woken, 0);
}

}  // namespace
}  // namespace waybill::test
