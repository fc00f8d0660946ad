#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Status = AppendResult::Status;

TEST_P(StoreConformance, AFinishedMessageIsKeptForKeepDoneAndNotLonger) {
    declare_box({.keep_done = 1h});
    append(order(1));
    Host host = owner();
    host.finish(only_row(host));
    advance(1h - 1us);

    EXPECT_EQ(sweep().messages, 0U);
    advance(1us);
    EXPECT_EQ(sweep().messages, 1U);

    EXPECT_FALSE(catalogue().get(id_of(1)).has_value());
}

TEST_P(StoreConformance, AMessageIsKeptFromWhenItFinishedNotFromWhenItCame) {
    declare_box({.keep_done = 1h});
    append(order(1));
    advance(10h);
    Host host = owner();
    host.finish(only_row(host));

    EXPECT_EQ(sweep().messages, 0U);
    EXPECT_TRUE(catalogue().get(id_of(1)).has_value());
}

TEST_P(StoreConformance, OpenWorkIsNeverSwept) {
    declare_box({.keep_done = 0s, .keep_dead = 0s});
    append_all({order(1), order(2)});
    Host host = owner();
    host.park(host.scan()[0]);
    advance(10'000h);

    EXPECT_EQ(sweep(), Swept{});
    EXPECT_EQ(host.scan().size(), 1U);
    EXPECT_TRUE(catalogue().get(id_of(1)).has_value());
}

TEST_P(StoreConformance, ADeadLetterIsKeptForKeepDead) {
    declare_box({.keep_done = 0s, .keep_dead = 24h});
    append(order(1));
    Host host = owner();
    host.die(only_row(host), "billing");
    advance(24h - 1us);

    EXPECT_EQ(sweep().dead_letters, 0U);
    advance(1s);
    EXPECT_EQ(sweep().dead_letters, 1U);

    EXPECT_THAT(letters(), IsEmpty());
}

TEST_P(StoreConformance, DeadLettersAreKeptForEverUnlessToldOtherwise) {
    declare_box();
    append(order(1));
    Host host = owner();
    host.die(only_row(host), "billing");
    advance(24h * 3650);

    EXPECT_EQ(sweep().dead_letters, 0U);
    EXPECT_EQ(letters().size(), 1U);
}

TEST_P(StoreConformance, AMessageStaysAsLongAsItsDeadLetter) {
    declare_box({.keep_done = 0s});
    append(order(1));
    Host host = owner();
    host.die(only_row(host), "billing");
    advance(1h);

    EXPECT_EQ(sweep().messages, 0U);
    EXPECT_TRUE(catalogue().get(id_of(1)).has_value());
}

TEST_P(StoreConformance, AMessageGoesOnceItsDeadLetterIsDiscarded) {
    declare_box({.keep_done = 0s});
    append(order(1));
    Host host = owner();
    host.die(only_row(host), "billing");
    const DeliveryRef delivery{id_of(1), "billing"};
    catalogue().discard({&delivery, 1});
    advance(1h);

    EXPECT_EQ(sweep().messages, 1U);
    EXPECT_FALSE(catalogue().get(id_of(1)).has_value());
}

TEST_P(StoreConformance, ARequeuedMessageIsOpenWorkAgainAndIsNotSwept) {
    declare_box({.keep_done = 0s});
    append(order(1));
    Host host = owner();
    host.die(only_row(host), "billing");
    const DeliveryRef delivery{id_of(1), "billing"};
    catalogue().requeue({&delivery, 1});
    advance(1h);

    EXPECT_EQ(sweep().messages, 0U);
    EXPECT_EQ(only_row(host).message->body, "order 1");
}

TEST_P(StoreConformance, ADedupRecordIsSweptOnlyWhenItsWindowHasEnded) {
    declare_box({.dedup_window = 1h, .keep_done = 0s});
    append(keyed(1, "k"));
    Host host = owner();
    host.finish(only_row(host));
    advance(1h - 1us);

    const Swept early = sweep();
    const Status within = append(keyed(2, "k")).status;
    advance(1us);
    const Swept late = sweep();

    EXPECT_EQ(early.messages, 1U);
    EXPECT_EQ(early.dedup_records, 0U);
    EXPECT_EQ(within, Status::duplicate);
    EXPECT_EQ(late.dedup_records, 1U);
}

TEST_P(StoreConformance, ADedupRecordWithoutEndIsNeverSwept) {
    declare_box({.keep_done = 0s});
    append(keyed(1, "k"));
    Host host = owner();
    host.finish(only_row(host));
    advance(24h * 3650);

    EXPECT_EQ(sweep().dedup_records, 0U);
    EXPECT_EQ(append(keyed(2, "k")).status, Status::duplicate);
}

TEST_P(StoreConformance, AKeyThatWasRenewedIsNotSweptWithItsOldWindow) {
    declare_box({.dedup_window = 1h});
    append(keyed(1, "k"));
    advance(1h);
    append(keyed(2, "k"));

    EXPECT_EQ(sweep().dedup_records, 0U);
    EXPECT_EQ(append(keyed(3, "k")).status, Status::duplicate);
}

TEST_P(StoreConformance, ASweepIsBoundedAndSaysWhenThereIsMore) {
    declare_box({.keep_done = 0s});
    std::vector<Message> messages;
    for (int number = 1; number <= 5; ++number) messages.push_back(order(number));
    append_all(messages);
    Host host = owner();
    for (const Entry& row : host.scan()) host.finish(row);
    advance(1s);

    const Swept first = sweep(2);
    const Swept second = sweep(2);
    const Swept third = sweep(2);

    EXPECT_EQ(first.messages, 2U);
    EXPECT_TRUE(first.more);
    EXPECT_EQ(second.messages, 2U);
    EXPECT_EQ(third.messages, 1U);
    EXPECT_FALSE(third.more);
    EXPECT_EQ(catalogue().count({}), 0U);
}

TEST_P(StoreConformance, AttemptsGoWithTheirMessageAtTheLatest) {
    declare_box({.keep_done = 1h});
    append(order(1));
    Host host = owner();
    Settlement item = finished(only_row(host));
    item.attempts = {attempt(only_row(host), "billing", 1)};
    host.settle({item});
    advance(1h);

    EXPECT_EQ(sweep().attempts, 1U);
}

TEST_P(StoreConformance, EachBoxIsSweptByItsOwnPolicy) {
    declare_box({.keep_done = 1h});
    declare_box({.keep_done = 1min}, "mails");
    Message mail = order(2);
    mail.box = "mails";
    append_all({order(1), mail});
    Host host = this->host(1);
    host.state.boxes = {"orders", "mails"};
    host.take_all();
    for (const Entry& row : host.scan()) host.finish(row);
    advance(2min);

    EXPECT_EQ(sweep().messages, 1U);
    EXPECT_TRUE(catalogue().get(id_of(1)).has_value());
    EXPECT_FALSE(catalogue().get(id_of(2)).has_value());
}

TEST_P(StoreConformance, OnlyTheBoxesNamedAreSwept) {
    declare_box({.keep_done = 0s});
    append(order(1));
    Host host = owner();
    host.finish(only_row(host));
    advance(1h);

    EXPECT_EQ(upkeep().sweep({}, 1000).messages, 0U);
}

}  // namespace
}  // namespace waybill::test
