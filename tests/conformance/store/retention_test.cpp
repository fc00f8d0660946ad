#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Status = AppendResult::Status;

/// The target "billing" has failed so often, and waits.
Settlement failures(const Entry& row, std::uint32_t count) {
    Settlement item = unchanged(row);
    item.progress = {{.target = "billing", .failures = count}};
    return item;
}

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

TEST_P(StoreConformance, AttemptsAreKeptForKeepAttemptsWhateverBecameOfTheirMessage) {
    declare_box({.keep_attempts = 1h});
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement first = failures(row, 1);
    first.attempts = {attempt(row, "billing", 1)};
    first.attempts[0].at = now();
    host.settle({first});
    advance(30min);
    Settlement second = failures(row, 2);
    second.attempts = {attempt(row, "billing", 2)};
    second.attempts[0].at = now();
    host.settle({second});
    advance(30min - 1us);

    const Swept early = sweep();
    advance(1us);
    const Swept late = sweep();

    EXPECT_EQ(early.attempts, 0U);
    EXPECT_EQ(late.attempts, 1U);
    EXPECT_EQ(late.messages, 0U);
    ASSERT_EQ(catalogue().get(id_of(1))->attempts.size(), 1U);
    EXPECT_EQ(catalogue().get(id_of(1))->attempts[0].number, 2U);
    EXPECT_EQ(only_row(host).progress.front().failures, 2U) << "the log is not what counts";
}

TEST_P(StoreConformance, ASweepOfAttemptsIsBoundedToo) {
    declare_box({.keep_attempts = 1h});
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = failures(row, 3);
    for (std::uint32_t number = 1; number <= 3; ++number) {
        item.attempts.push_back(attempt(row, "billing", number));
        item.attempts.back().at = now();
    }
    host.settle({item});
    advance(2h);

    const Swept first = sweep(2);
    const Swept second = sweep(2);

    EXPECT_EQ(first.attempts, 2U);
    EXPECT_TRUE(first.more);
    EXPECT_EQ(second.attempts, 1U);
    EXPECT_FALSE(second.more);
}

TEST_P(StoreConformance, TheLetterAHaltedLaneStandsAtIsNeverSwept) {
    declare_box({.on_dead = OnDead::halt, .keep_dead = 1h});
    append_all({order(1, "a"), order(2, "b")});
    Host host = owner();
    const std::vector<Entry> rows = host.scan();
    host.halt(rows[0], "billing");
    host.die(rows[1], "billing");
    advance(2h);

    EXPECT_EQ(sweep().dead_letters, 1U);

    ASSERT_EQ(letters().size(), 1U);
    EXPECT_EQ(letters()[0].letter.message, id_of(1));
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
