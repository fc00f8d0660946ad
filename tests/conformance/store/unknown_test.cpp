#include "harness.hpp"
#include "support/faulty_store.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Call = FaultyStore::Call;
using Fault = FaultyStore::Fault;
using Status = AppendResult::Status;

template <class Body>
Reaction reaction_of(Body body) {
    try {
        body();
    } catch (const StoreError& error) {
        return error.reaction();
    }
    ADD_FAILURE() << "nothing was thrown";
    return Reaction::give_up;
}

TEST_P(StoreConformance, AnAppendWithALostAnswerIsResolvedByAppendingAgain) {
    declare_box();
    FaultyStore faulty{borrowed(store())};
    const std::vector batch{item(keyed(1, "k"))};
    faulty.fail_next(Call::append, Fault::after);

    const Reaction reaction = reaction_of([&] { faulty.append(batch); });
    const auto again = faulty.append(batch);

    EXPECT_EQ(reaction, Reaction::find_out);
    EXPECT_EQ(again[0].status, Status::duplicate);
    EXPECT_EQ(again[0].id, id_of(1));
    EXPECT_EQ(owner().scan().size(), 1U);
}

TEST_P(StoreConformance, AnAppendWithALostAnswerIsResolvedByLookingItsIdUp) {
    declare_box();
    FaultyStore faulty{borrowed(store())};
    const std::vector batch{item(order(1))};
    faulty.fail_next(Call::append, Fault::after);

    reaction_of([&] { faulty.append(batch); });

    EXPECT_TRUE(catalogue().get(id_of(1)).has_value());
}

TEST_P(StoreConformance, AnAppendThatBrokeBeforeItsCommitLeftNothing) {
    declare_box();
    FaultyStore faulty{borrowed(store())};
    const std::vector batch{item(keyed(1, "k"))};
    faulty.fail_next(Call::append, Fault::before);

    const Reaction reaction = reaction_of([&] { faulty.append(batch); });

    EXPECT_EQ(reaction, Reaction::reconnect);
    EXPECT_FALSE(catalogue().get(id_of(1)).has_value());
    EXPECT_EQ(faulty.append(batch)[0].status, Status::fresh);
}

TEST_P(StoreConformance, ASettleWithALostAnswerIsRepeatedWithoutHarm) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    FaultyStore faulty{borrowed(host.store())};
    Settlement item = finished(row);
    item.dead = {dead_letter(row, "billing")};
    item.attempts = {attempt(row, "billing", 5)};
    const SettleBatch batch{.fences = {host.fence(row.partition)}, .items = {item}};
    faulty.fail_next(Call::settle, Fault::after);

    reaction_of([&] { faulty.settle(batch); });
    const SettleReply again = faulty.settle(batch);

    EXPECT_THAT(again.lost, IsEmpty());
    EXPECT_EQ(letters().size(), 1U);
    EXPECT_EQ(catalogue().get(id_of(1))->attempts.size(), 1U);
}

TEST_P(StoreConformance, ATakeWithALostAnswerIsResolvedByTakingAgain) {
    declare_box();
    Host host = this->host(1);
    FaultyStore faulty{borrowed(host.store())};
    const PartitionState seen = host.beat().partitions[0];
    const TakeRequest wanted{seen.id, seen.token};
    faulty.fail_next(Call::take, Fault::after);

    reaction_of([&] { faulty.take(host.incarnation(), {&wanted, 1}); });
    const PartitionState found = host.beat().partitions[0];
    const auto again = host.take(found);

    EXPECT_EQ(found.token.owner, host.incarnation());
    ASSERT_EQ(again.size(), 1U);
    EXPECT_FALSE(again[0].unclean);
}

TEST_P(StoreConformance, AGiveWithALostAnswerMayBeRepeated) {
    declare_box();
    Host first = owner(1);
    FaultyStore faulty{borrowed(first.store())};
    const GiveRequest request{first.partition(), first.taken[0].token, {}};
    faulty.fail_next(Call::give, Fault::after);

    reaction_of([&] { faulty.give({&request, 1}); });
    Host second = owner(2);
    faulty.give({&request, 1});

    EXPECT_EQ(second.beat().partitions[0].token, second.taken[0].token);
}

TEST_P(StoreConformance, AReadWhoseAnswerWasLostIsReadAgainFromTheSamePosition) {
    declare_box();
    Host host = owner();
    FaultyStore faulty{borrowed(host.store())};
    const Position start = host.read({.partitions = host.partitions()}).position;
    append(order(1));
    faulty.fail_next(Call::read, Fault::after);
    const ReadRequest request{.partitions = host.partitions(), .position = start};

    reaction_of([&] { faulty.read(request); });

    EXPECT_THAT(bodies(faulty.read(request).entries), ElementsAre("order 1"));
    EXPECT_TRUE(faulty.is_calm());
}

}  // namespace
}  // namespace waybill::test
