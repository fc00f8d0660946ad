#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(StoreConformance, ARequeuedDeliveryIsNewWorkForItsTargetOnly) {
    declare_box();
    const Sequence old = append(order(1)).sequence;
    Host host = owner();
    host.increment();
    host.die(only_row(host), "billing");
    const DeliveryRef delivery{id_of(1), "billing"};

    const auto answers = catalogue().requeue({&delivery, 1});

    ASSERT_EQ(answers.size(), 1U);
    EXPECT_TRUE(answers[0].carried_out);
    const auto fresh = host.increment();
    ASSERT_EQ(fresh.size(), 1U);
    EXPECT_GT(fresh[0].sequence, old);
    EXPECT_EQ(fresh[0].only, std::vector<std::string>{"billing"});
    EXPECT_EQ(fresh[0].requeues, 1U);
    EXPECT_EQ(fresh[0].message->id, id_of(1));
    EXPECT_THAT(fresh[0].progress, IsEmpty());
    EXPECT_LE(fresh[0].due, now());
}

TEST_P(StoreConformance, ARequeuedDeadLetterIsNoLongerDead) {
    declare_box();
    append(order(1));
    Host host = owner();
    host.die(only_row(host), "billing");
    const DeliveryRef delivery{id_of(1), "billing"};

    catalogue().requeue({&delivery, 1});

    EXPECT_THAT(letters(), IsEmpty());
    EXPECT_EQ(catalogue().get(id_of(1))->summary.state, Filter::State::open);
}

TEST_P(StoreConformance, WhatIsNotDeadIsNotRequeued) {
    declare_box();
    append_all({order(1), order(2)});
    Host host = owner();
    host.die(host.scan()[0], "billing");
    const std::vector<DeliveryRef> asked{
        {id_of(2), "billing"}, {id_of(1), "mail"}, {id_of(7), "billing"}};

    const auto answers = catalogue().requeue(asked);

    ASSERT_EQ(answers.size(), 3U);
    for (const OperationResult& answer : answers) {
        EXPECT_FALSE(answer.carried_out);
        EXPECT_FALSE(answer.text.empty());
    }
    EXPECT_EQ(host.scan().size(), 1U);
    EXPECT_EQ(letters().size(), 1U);
}

TEST_P(StoreConformance, ARequeueIsCarriedOutOnce) {
    declare_box();
    append(order(1));
    Host host = owner();
    host.die(only_row(host), "billing");
    const DeliveryRef delivery{id_of(1), "billing"};

    const auto first = catalogue().requeue({&delivery, 1});
    const auto second = catalogue().requeue({&delivery, 1});

    EXPECT_TRUE(first[0].carried_out);
    EXPECT_FALSE(second[0].carried_out);
    EXPECT_EQ(host.scan().size(), 1U);
}

TEST_P(StoreConformance, EveryRequeueIsANewGeneration) {
    declare_box();
    append(order(1));
    Host host = owner();
    const DeliveryRef delivery{id_of(1), "billing"};
    for (std::uint32_t generation = 0; generation < 3; ++generation) {
        const Entry row = only_row(host);
        EXPECT_EQ(row.requeues, generation);
        host.die(row, "billing");
        catalogue().requeue({&delivery, 1});
    }

    EXPECT_EQ(only_row(host).requeues, 3U);
}

TEST_P(StoreConformance, AttemptsOfDifferentGenerationsAreDifferent) {
    declare_box();
    append(order(1));
    Host host = owner();
    Entry row = only_row(host);
    Settlement item = finished(row);
    item.attempts = {attempt(row, "billing", 1)};
    item.dead = {dead_letter(row, "billing")};
    host.settle({item});
    const DeliveryRef delivery{id_of(1), "billing"};
    catalogue().requeue({&delivery, 1});
    row = only_row(host);
    item = finished(row);
    item.attempts = {attempt(row, "billing", 1)};

    host.settle({item});

    EXPECT_EQ(catalogue().get(id_of(1))->attempts.size(), 2U);
}

TEST_P(StoreConformance, ARequeueBesideAnOpenRowIsARowOfItsOwn) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = unchanged(row);
    item.progress = {{.target = "billing", .state = Progress::State::dead}};
    item.dead = {dead_letter(row, "billing")};
    host.settle({item});
    const DeliveryRef delivery{id_of(1), "billing"};

    catalogue().requeue({&delivery, 1});
    const auto rows = host.scan();
    ASSERT_EQ(rows.size(), 2U);
    host.finish(rows[1]);

    EXPECT_THAT(sequences(host.scan()), ElementsAre(row.sequence));
    EXPECT_EQ(catalogue().get(id_of(1))->summary.state, Filter::State::open);
}

TEST_P(StoreConformance, ADroppedRowDoesNotTakeTheMessageFromItsRequeue) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = unchanged(row);
    item.dead = {dead_letter(row, "billing")};
    host.settle({item});
    const DeliveryRef delivery{id_of(1), "billing"};
    catalogue().requeue({&delivery, 1});

    item = finished(row);
    item.drop_message = true;
    host.settle({item});

    ASSERT_EQ(host.scan().size(), 1U);
    EXPECT_EQ(only_row(host).message->body, "order 1");
    EXPECT_TRUE(catalogue().get(id_of(1)).has_value());
}

TEST_P(StoreConformance, ARequeuedHeadThatHaltedItsLaneLeavesACommandForItsOwner) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    const Entry head = only_row(host);
    host.halt(head, "billing");
    const DeliveryRef delivery{id_of(1), "billing"};

    const auto answers = catalogue().requeue({&delivery, 1});

    EXPECT_TRUE(answers.at(0).carried_out);
    EXPECT_THAT(sequences(host.scan()), ElementsAre(head.sequence));
    const auto commands = host.commands();
    ASSERT_EQ(commands.size(), 1U);
    EXPECT_EQ(commands[0].kind, Command::Kind::resume);
    EXPECT_EQ(commands[0].partition, host.partition());
    EXPECT_EQ(commands[0].sequence, head.sequence);
    EXPECT_EQ(commands[0].message, id_of(1));
    EXPECT_EQ(commands[0].target, "billing");
}

TEST_P(StoreConformance, TheOwnerWritesTheNextGenerationOfAHeadThatGoesOn) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    host.halt(only_row(host), "billing");
    Settlement resumed = unchanged(only_row(host));
    resumed.halted = false;
    resumed.requeues = 1;

    host.settle({resumed});

    EXPECT_EQ(only_row(host).requeues, 1U);
    EXPECT_FALSE(only_row(host).halted);
}

TEST_P(StoreConformance, RepeatingTheSettlementThatHaltedDoesNotUndoARequeue) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    const Entry head = only_row(host);
    host.halt(head, "billing");
    const DeliveryRef delivery{id_of(1), "billing"};
    catalogue().requeue({&delivery, 1});

    host.halt(head, "billing");

    EXPECT_EQ(letters().size(), 1U);
    EXPECT_EQ(host.commands().size(), 1U);
}

TEST_P(StoreConformance, RepeatingASettlementDoesNotBringARequeuedLetterBack) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = unchanged(row);
    item.progress = {{.target = "billing", .state = Progress::State::dead}};
    item.dead = {dead_letter(row, "billing")};
    host.settle({item});
    const DeliveryRef delivery{id_of(1), "billing"};
    catalogue().requeue({&delivery, 1});

    host.settle({item});

    EXPECT_THAT(letters(), IsEmpty());
    EXPECT_EQ(host.scan().size(), 2U);
}

TEST_P(StoreConformance, AHaltedHeadOutlivesItsOwner) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box({.on_dead = OnDead::halt});
    append_all({order(1, "a"), order(2, "a")});
    Host first = owner(1);
    first.halt(first.scan()[0], "billing");
    advance(5s);

    const auto rows = owner(2).scan();

    ASSERT_EQ(rows.size(), 2U);
    EXPECT_TRUE(rows[0].halted);
    EXPECT_FALSE(rows[1].halted);
}

DeadLetter died_with(const Entry& entry, const std::string& target, const std::string& cause) {
    DeadLetter letter = dead_letter(entry, target, "predecessor is dead");
    letter.because = cause;
    return letter;
}

TEST_P(StoreConformance, RequeueingAPredecessorRevivesWhatDiedBecauseOfIt) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = finished(row);
    item.dead = {dead_letter(row, "billing"), died_with(row, "archive", "mail"),
                 died_with(row, "mail", "billing"), dead_letter(row, "stock")};
    host.settle({item});
    const DeliveryRef delivery{id_of(1), "billing"};

    catalogue().requeue({&delivery, 1});

    ASSERT_EQ(letters().size(), 1U);
    EXPECT_EQ(letters()[0].letter.target, "stock");
    EXPECT_THAT(only_row(host).only, testing::UnorderedElementsAre("billing", "mail", "archive"));
}

TEST_P(StoreConformance, RequeueingASuccessorLeavesItsPredecessorDead) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = finished(row);
    item.dead = {dead_letter(row, "billing"), died_with(row, "mail", "billing")};
    host.settle({item});
    const DeliveryRef delivery{id_of(1), "mail"};

    catalogue().requeue({&delivery, 1});

    ASSERT_EQ(letters().size(), 1U);
    EXPECT_EQ(letters()[0].letter.target, "billing");
    EXPECT_THAT(only_row(host).only, ElementsAre("mail"));
}

TEST_P(StoreConformance, AMessageNobodyWantedIsRequeuedToWhoeverWantsItNow) {
    declare_box();
    append(order(1));
    Host host = owner();
    host.die(only_row(host), "");
    const DeliveryRef unmatched{id_of(1), ""};

    const auto answers = catalogue().requeue({&unmatched, 1});

    EXPECT_TRUE(answers.at(0).carried_out);
    EXPECT_THAT(letters(), IsEmpty());
    EXPECT_THAT(only_row(host).only, IsEmpty());
    EXPECT_EQ(only_row(host).requeues, 1U);
}

TEST_P(StoreConformance, RequeueingAPredecessorAndItsSuccessorTogetherRefusesNeither) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = finished(row);
    item.dead = {dead_letter(row, "billing"), died_with(row, "mail", "billing")};
    host.settle({item});
    const std::vector<DeliveryRef> both{{id_of(1), "billing"}, {id_of(1), "mail"}};

    const auto answers = catalogue().requeue(both);

    EXPECT_TRUE(answers.at(0).carried_out);
    EXPECT_TRUE(answers.at(1).carried_out);
    EXPECT_EQ(host.scan().size(), 1U);
}

TEST_P(StoreConformance, ResumingAHaltedHeadIsOneCommandForAllThatDiedWithIt) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = unchanged(row);
    item.halted = true;
    item.dead = {dead_letter(row, "billing"), died_with(row, "mail", "billing")};
    host.settle({item});
    const DeliveryRef delivery{id_of(1), "billing"};

    catalogue().requeue({&delivery, 1});

    EXPECT_EQ(letters().size(), 2U);
    ASSERT_EQ(host.commands().size(), 1U);
    EXPECT_EQ(host.commands()[0].target, "billing");
}

}  // namespace
}  // namespace waybill::test
