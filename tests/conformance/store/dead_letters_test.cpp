#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(StoreConformance, ADeadLetterTellsWhatHappenedAndHasItsOwnCopyOfTheMessage) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);

    host.die(row, "billing");

    const auto dead = letters();
    ASSERT_EQ(dead.size(), 1U);
    EXPECT_EQ(dead[0].letter, dead_letter(row, "billing"));
    EXPECT_EQ(dead[0].message->body, "order 1");
    EXPECT_EQ(dead[0].message->type, "order.placed");
}

TEST_P(StoreConformance, AMessageWhoseDeliveryDiedIsDead) {
    declare_box();
    append(order(1));
    Host host = owner();

    host.die(only_row(host), "billing");

    const auto detail = catalogue().get(id_of(1));
    ASSERT_TRUE(detail.has_value());
    EXPECT_EQ(detail->summary.state, Filter::State::dead);
    EXPECT_EQ(detail->dead.size(), 1U);
}

TEST_P(StoreConformance, AMessageWithADeadAndAnOpenDeliveryIsStillOpen) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = unchanged(row);
    item.progress = {{.target = "billing", .state = Progress::State::dead}};
    item.dead = {dead_letter(row, "billing")};

    host.settle({item});

    EXPECT_EQ(catalogue().get(id_of(1))->summary.state, Filter::State::open);
    EXPECT_EQ(letters().size(), 1U);
}

TEST_P(StoreConformance, SeveralDeliveriesOfOneMessageDieSeparately) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = finished(row);
    item.dead = {dead_letter(row, "billing"), dead_letter(row, "mail")};

    host.settle({item});

    EXPECT_EQ(letters().size(), 2U);
    EXPECT_EQ(letters({.target = "mail"}).size(), 1U);
}

TEST_P(StoreConformance, DeadLettersComeOldestFirstInPages) {
    declare_box();
    append_all({order(1), order(2), order(3)});
    Host host = owner();
    for (const Entry& row : host.scan()) host.die(row, "billing");

    const auto first = catalogue().dead_letters({}, "", 2);
    const auto second = catalogue().dead_letters({}, first.next, 2);

    ASSERT_EQ(first.items.size(), 2U);
    ASSERT_EQ(second.items.size(), 1U);
    EXPECT_EQ(first.items[0].message->body, "order 1");
    EXPECT_EQ(first.items[1].message->body, "order 2");
    EXPECT_EQ(second.items[0].message->body, "order 3");
    EXPECT_EQ(second.next, "");
}

/// An order over many ends at the letter that was the last when it began.
TEST_P(StoreConformance, CursorsOfDeadLettersAreNumbersThatGrow) {
    constexpr int kLetters = 12;  // from one digit to two
    declare_box();
    for (int i = 1; i <= kLetters; ++i) append(order(i));
    Host host = owner();
    for (const Entry& row : host.scan()) host.die(row, "billing");

    const auto page = catalogue().dead_letters({}, "", kLetters);

    ASSERT_EQ(page.items.size(), static_cast<std::size_t>(kLetters));
    std::uint64_t before = 0;
    for (const DeadLetterDetail& item : page.items) {
        const std::uint64_t number = std::stoull(item.cursor);
        EXPECT_EQ(std::to_string(number), item.cursor);
        EXPECT_GT(number, before);
        before = number;
    }
}

TEST_P(StoreConformance, DeadLettersAreFilteredByWhatPeopleKnow) {
    declare_box();
    Message github = order(2);
    github.source = "github";
    github.type = "push";
    github.tenant = "acme";
    append_all({order(1), github});
    Host host = owner();
    for (const Entry& row : host.scan()) host.die(row, "billing");

    EXPECT_EQ(letters({.source = "git*"}).size(), 1U);
    EXPECT_EQ(letters({.type = "order.*"}).size(), 1U);
    EXPECT_EQ(letters({.tenant = "acme"}).size(), 1U);
    EXPECT_EQ(letters({.box = "orders", .reason = "rok"}).size(), 2U);
    EXPECT_THAT(letters({.reason = "fine"}), IsEmpty());
    EXPECT_THAT(letters({.box = "mails"}), IsEmpty());
    EXPECT_EQ(catalogue().count({.state = Filter::State::dead, .source = "shop"}), 1U);
}

TEST_P(StoreConformance, ADiscardedDeadLetterIsGone) {
    declare_box();
    append(order(1));
    Host host = owner();
    host.die(only_row(host), "billing");
    const DeliveryRef delivery{id_of(1), "billing"};

    const auto answer = catalogue().discard({&delivery, 1});

    ASSERT_EQ(answer.size(), 1U);
    EXPECT_TRUE(answer[0].carried_out);
    EXPECT_THAT(letters(), IsEmpty());
    EXPECT_EQ(catalogue().get(id_of(1))->summary.state, Filter::State::done);
}

TEST_P(StoreConformance, DiscardAnswersEachDeliveryOnItsOwn) {
    declare_box();
    append_all({order(1), order(2)});
    Host host = owner();
    const auto rows = host.scan();
    host.die(rows[0], "billing");
    const std::vector<DeliveryRef> asked{
        {id_of(1), "mail"}, {id_of(2), "billing"}, {id_of(1), "billing"}, {id_of(9), "billing"}};

    const auto answers = catalogue().discard(asked);

    ASSERT_EQ(answers.size(), 4U);
    EXPECT_FALSE(answers[0].carried_out);
    EXPECT_FALSE(answers[0].text.empty());
    EXPECT_FALSE(answers[1].carried_out);
    EXPECT_TRUE(answers[2].carried_out);
    EXPECT_FALSE(answers[3].carried_out);
}

TEST_P(StoreConformance, ALetterThatIsDiscardedDoesNotMakeAHaltedLaneInvisible) {
    declare_box({.on_dead = OnDead::halt});
    append_all({order(1, "a"), order(2, "b")});
    Host host = owner();
    const auto rows = host.scan();
    host.halt(rows[0], "billing");
    host.die(rows[1], "billing");
    const std::vector<DeliveryRef> both{{id_of(1), "billing"}, {id_of(2), "billing"}};

    const auto answers = catalogue().discard(both);

    EXPECT_FALSE(answers.at(0).carried_out);
    EXPECT_THAT(answers.at(0).text, testing::HasSubstr("skip or resume"));
    EXPECT_TRUE(answers.at(1).carried_out);
    ASSERT_EQ(letters().size(), 1U);
    EXPECT_EQ(letters()[0].letter.message, id_of(1));

    Settlement skipped = unchanged(only_row(host));
    skipped.halted = false;
    host.settle({skipped});
    EXPECT_TRUE(catalogue().discard({both.data(), 1}).at(0).carried_out) << "it holds nothing now";
}

TEST_P(StoreConformance, MessagesAreBrowsedNewestFirstInPages) {
    declare_box();
    append_all({order(1), order(2), order(3)});

    const auto first = catalogue().browse({}, "", 2);
    const auto second = catalogue().browse({}, first.next, 2);

    ASSERT_EQ(first.items.size(), 2U);
    ASSERT_EQ(second.items.size(), 1U);
    EXPECT_EQ(first.items[0].message->body, "order 3");
    EXPECT_EQ(first.items[1].message->body, "order 2");
    EXPECT_EQ(second.items[0].message->body, "order 1");
    EXPECT_EQ(second.next, "");
}

TEST_P(StoreConformance, MessagesAreCountedByState) {
    declare_box();
    append_all({order(1), order(2), order(3), order(4), order(5)});
    Host host = owner();
    const auto rows = host.scan();
    host.finish(rows[0]);
    host.die(rows[1], "billing");
    host.park(rows[2]);

    using enum Filter::State;
    EXPECT_EQ(catalogue().count({.state = done}), 1U);
    EXPECT_EQ(catalogue().count({.state = dead}), 1U);
    EXPECT_EQ(catalogue().count({.state = parked}), 1U);
    EXPECT_EQ(catalogue().count({.state = open}), 2U);
    EXPECT_EQ(catalogue().count({}), 5U);
}

TEST_P(StoreConformance, MessagesAreBrowsedByTheTimeTheyWereAppended) {
    declare_box();
    append(order(1));
    advance(1h);
    const StoreTime between = now();
    append(order(2));

    const auto before = catalogue().browse({.until = between}, "", 10);
    const auto since = catalogue().browse({.since = between}, "", 10);

    ASSERT_EQ(before.items.size(), 1U);
    ASSERT_EQ(since.items.size(), 1U);
    EXPECT_EQ(before.items[0].message->body, "order 1");
    EXPECT_EQ(since.items[0].message->body, "order 2");
}

TEST_P(StoreConformance, AnUnknownMessageIsNotFound) {
    declare_box();

    EXPECT_FALSE(catalogue().get(id_of(1)).has_value());
}

TEST_P(StoreConformance, HealthCountsWhatIsOpenParkedAndDead) {
    declare_box();
    append_all({order(1), order(2), order(3)});
    advance(10s);
    append(order(4));
    Host host = owner();
    const auto rows = host.scan();
    host.die(rows[0], "billing");
    host.park(rows[1]);

    const StoreHealth health = upkeep().health();

    EXPECT_TRUE(health.reachable);
    EXPECT_EQ(health.open, 2U);
    EXPECT_EQ(health.parked, 1U);
    EXPECT_EQ(health.dead, 1U);
    EXPECT_GE(health.oldest_open, 10s);
    EXPECT_LT(health.oldest_open, 1min);
}

}  // namespace
}  // namespace waybill::test
