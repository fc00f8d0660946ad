#include "harness.hpp"
#include "waybill/executor.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Progress failed(const std::string& target, std::uint32_t failures, StoreTime due = {}) {
    return {.target = target, .failures = failures, .due = due, .last_error = "broken"};
}

TEST_P(StoreConformance, AFinishedMessageCanStillBeLookedUp) {
    declare_box();
    append(order(1));
    Host host = owner();

    host.finish(only_row(host));

    const auto detail = catalogue().get(id_of(1));
    ASSERT_TRUE(detail.has_value());
    EXPECT_EQ(detail->summary.state, Filter::State::done);
    EXPECT_EQ(detail->summary.message->body, "order 1");
    EXPECT_THAT(detail->open, IsEmpty());
}

TEST_P(StoreConformance, ADroppedMessageIsGone) {
    declare_box();
    append(order(1));
    Host host = owner();
    Settlement item = finished(only_row(host));
    item.drop_message = true;

    host.settle({item});

    EXPECT_FALSE(catalogue().get(id_of(1)).has_value());
}

TEST_P(StoreConformance, AMessageWithADeadLetterIsNotDropped) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = finished(row);
    item.drop_message = true;
    item.dead = {dead_letter(row, "billing")};

    host.settle({item});

    EXPECT_TRUE(catalogue().get(id_of(1)).has_value());
    EXPECT_EQ(letters().size(), 1U);
}

TEST_P(StoreConformance, ProgressIsMergedByTarget) {
    declare_box();
    append(order(1));
    Host host = owner();
    Settlement first = unchanged(only_row(host));
    first.progress = {failed("billing", 1), failed("mail", 1)};
    Settlement second = unchanged(only_row(host));
    second.progress = {{.target = "mail", .state = Progress::State::done, .failures = 1},
                       failed("stock", 2)};

    host.settle({first});
    host.settle({second});

    EXPECT_THAT(only_row(host).progress,
                testing::UnorderedElementsAre(failed("billing", 1), second.progress[0],
                                              failed("stock", 2)));
}

TEST_P(StoreConformance, ThatADeadDeliveryWasSkippedIsKept) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    host.halt(only_row(host), "billing");
    Settlement skipped = unchanged(only_row(host));
    skipped.halted = false;
    skipped.progress = only_row(host).progress;
    skipped.progress.at(0).skipped = true;

    host.settle({skipped});

    const Entry row = only_row(host);
    EXPECT_FALSE(row.halted);
    EXPECT_EQ(row.progress, skipped.progress);
}

TEST_P(StoreConformance, WhatASettlementSaysOfItsRowReplacesWhatItHad) {
    declare_box();
    append(order(1));
    Host host = owner();
    Settlement marked = unchanged(only_row(host));
    marked.due = now() + 1h;
    marked.halted = true;
    marked.strikes = 2;
    marked.solo_epoch = 9;
    host.settle({marked});
    Settlement cleared = marked;
    cleared.due = {};
    cleared.halted = false;
    cleared.strikes = 0;
    cleared.solo_epoch = 0;

    const Entry before = only_row(host);
    host.settle({cleared});
    const Entry after = only_row(host);

    EXPECT_TRUE(before.halted);
    EXPECT_EQ(before.due, marked.due);
    EXPECT_EQ(before.strikes, 2U);
    EXPECT_EQ(before.solo_epoch, 9U);
    EXPECT_FALSE(after.halted);
    EXPECT_EQ(after.due, StoreTime{});
    EXPECT_EQ(after.strikes, 0U);
    EXPECT_EQ(after.solo_epoch, 0U);
}

TEST_P(StoreConformance, RepeatingASettlementChangesNothing) {
    declare_box();
    append_all({order(1), order(2)});
    Host host = owner();
    const auto rows = host.scan();
    Settlement done = finished(rows[0]);
    done.dead = {dead_letter(rows[0], "billing")};
    done.attempts = {attempt(rows[0], "billing", 1)};
    Settlement retried = unchanged(rows[1]);
    retried.progress = {failed("billing", 3, now() + 1min)};
    retried.due = now() + 1min;
    retried.attempts = {attempt(rows[1], "billing", 3)};

    host.settle({done, retried});
    const auto open_once = host.scan();
    const auto dead_once = catalogue().get(id_of(1));
    host.settle({done, retried});
    host.settle({done, retried});

    EXPECT_EQ(values_of(host.scan()), values_of(open_once));
    EXPECT_EQ(letters().size(), 1U);
    EXPECT_EQ(catalogue().get(id_of(1))->attempts, dead_once->attempts);
    EXPECT_EQ(catalogue().get(id_of(2))->attempts.size(), 1U);
}

TEST_P(StoreConformance, RepeatingASettlementDoesNotBringBackWhatWasRequeuedMeanwhile) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    host.die(row, "billing");
    const DeliveryRef delivery{id_of(1), "billing"};
    catalogue().requeue({&delivery, 1});

    host.die(row, "billing");

    EXPECT_THAT(letters(), IsEmpty());
    EXPECT_EQ(only_row(host).only, std::vector<std::string>{"billing"});
}

TEST_P(StoreConformance, ASettlementOfARowThatIsGoneChangesNothing) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    host.finish(row);
    Settlement late = unchanged(row);
    late.progress = {failed("billing", 1)};

    const SettleReply reply = host.settle({late});

    EXPECT_THAT(reply.lost, IsEmpty());
    EXPECT_THAT(host.scan(), IsEmpty());
}

TEST_P(StoreConformance, ASettlementOfAnotherMessageChangesNothing) {
    declare_box();
    append(order(1));
    Host host = owner();
    Settlement mistaken = finished(only_row(host));
    mistaken.message = id_of(2);

    host.settle({mistaken});

    EXPECT_EQ(host.scan().size(), 1U);
}

TEST_P(StoreConformance, AttemptsAreKeptByTheirIdentity) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = unchanged(row);
    item.attempts = {attempt(row, "billing", 1), attempt(row, "billing", 2),
                     attempt(row, "mail", 1)};

    host.settle({item});
    host.settle({item});

    EXPECT_THAT(catalogue().get(id_of(1))->attempts,
                testing::UnorderedElementsAreArray(item.attempts));
}

TEST_P(StoreConformance, WhatAnExecutorSaysOfAnAttemptIsReadAsItWasWritten) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = unchanged(row);
    item.attempts = {attempt(row, "billing", 1), attempt(row, "billing", 2),
                     attempt(row, "billing", 3)};
    item.attempts[0].detail = R"({"body":"{\"a\":[1,\\\\ 'null' \u0000 é 漢 ,NULL}"})";
    item.attempts[1].detail = "{\"body\":\"" + std::string(detail_bytes_max - 11, '\\') + "\"}";

    host.settle({item});
    Settlement last = finished(row);
    last.attempts = {attempt(row, "billing", 4)};
    last.attempts[0].detail = R"({"status":200})";
    host.settle({last});

    item.attempts.push_back(last.attempts[0]);
    EXPECT_THAT(catalogue().get(id_of(1))->attempts,
                testing::UnorderedElementsAreArray(item.attempts));
}

TEST_P(StoreConformance, AnEmptySettleOnlyAsksWhetherThePartitionsAreStillOurs) {
    declare_box();
    Host host = owner();

    EXPECT_THAT(host.settle({}).lost, IsEmpty());

    host.give(host.taken[0]);
    EXPECT_THAT(host.settle({}).lost, ElementsAre(host.partition()));
}

/// A store may refuse texts it cannot hold, but then with bad_data and as a whole.
TEST_P(StoreConformance, OneHostileTextAmongFiveHundredNeverAppliesAPart) {
    declare_box();
    std::vector<Message> messages;
    for (int number = 1; number <= 500; ++number) messages.push_back(order(number));
    append_all(messages);
    Host host = owner();
    std::vector<Settlement> items;
    for (const Entry& row : host.scan()) {
        Settlement item = finished(row);
        if (items.size() == 250) {
            item.finish = false;
            item.progress = {failed("billing", 1)};
            item.progress[0].last_error = std::string("nul \0 and \xC3\x28 and \xFF", 19);
            item.attempts = {attempt(row, "billing", 1, item.progress[0].last_error)};
            item.attempts[0].detail = item.progress[0].last_error;
        }
        items.push_back(item);
    }

    bool refused = false;
    try {
        host.settle(items);
    } catch (const StoreError& error) {
        EXPECT_EQ(error.reaction(), Reaction::bad_data);
        refused = true;
    }

    EXPECT_EQ(host.scan().size(), refused ? 500U : 1U);
    if (!refused) {
        EXPECT_EQ(only_row(host).progress, items[250].progress);
    }
}

TEST_P(StoreConformance, OneHostileBodyOrTextAmongAppendsNeverAppliesAPart) {
    declare_box();
    Message hostile = order(2);
    hostile.type = std::string("nul \0 type", 10);
    hostile.tenant = "\xFF\xFE";

    bool refused = false;
    try {
        append_all({order(1), hostile, order(3)});
    } catch (const StoreError& error) {
        EXPECT_EQ(error.reaction(), Reaction::bad_data);
        refused = true;
    }

    EXPECT_EQ(owner().scan().size(), refused ? 0U : 3U);
}

}  // namespace
}  // namespace waybill::test
