#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

/// The head of a lane dies at these targets, and its lane stops there. Its letters stay until its
/// owner has put it back into its place.
void halt(const Host& host, const Entry& head, const std::vector<std::string>& targets) {
    Settlement item = unchanged(head);
    item.halted = true;
    for (const std::string& target : targets) {
        item.progress.push_back({.target = target, .state = Progress::State::dead});
        item.dead.push_back(dead_letter(head, target));
    }
    host.settle({item});
}

/// What its owner settles when these run again.
Settlement revival(const Entry& head, const std::vector<std::string>& targets) {
    Settlement item = unchanged(head);
    item.halted = false;
    item.requeues = head.requeues + 1;
    item.revived = targets;
    for (const std::string& target : targets) item.progress.push_back({.target = target});
    return item;
}

std::vector<std::string> targets_of(const std::vector<DeadLetterDetail>& letters) {
    std::vector<std::string> targets;
    for (const DeadLetterDetail& dead : letters) targets.push_back(dead.letter.target);
    return targets;
}

TEST_P(StoreConformance, ALetterOfAHaltedHeadSurvivesItsRequeueUntilItsOwnerRevivesIt) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    halt(host, only_row(host), {"billing"});
    const DeliveryRef delivery{id_of(1), "billing"};

    catalogue().requeue({&delivery, 1});
    EXPECT_THAT(targets_of(letters()), ElementsAre("billing"));
    host.settle({revival(only_row(host), {"billing"})});

    EXPECT_THAT(targets_of(letters()), IsEmpty());
    const Entry head = only_row(host);
    EXPECT_FALSE(head.halted);
    EXPECT_EQ(head.requeues, 1U);
    EXPECT_THAT(head.progress, ElementsAre(Progress{.target = "billing"}));
    EXPECT_THAT(head.only, IsEmpty());
}

TEST_P(StoreConformance, ASkipThatComesBeforeTheResumeLosesNoLetter) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    halt(host, only_row(host), {"billing"});
    const DeliveryRef delivery{id_of(1), "billing"};
    catalogue().requeue({&delivery, 1});

    host.finish(only_row(host));

    EXPECT_THAT(targets_of(letters()), ElementsAre("billing"));
    EXPECT_EQ(catalogue().get(id_of(1))->summary.state, Filter::State::dead);
}

TEST_P(StoreConformance, RevivedWithdrawsExactlyTheNamed) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    append(order(2, "b"));
    Host host = owner();
    const auto rows = host.scan();
    host.die(rows.at(1), "billing");
    halt(host, only_row(host), {"billing", "mail", "stock"});

    host.settle({revival(only_row(host), {"billing", "mail", "nobody"})});

    std::vector<std::pair<Uuid, std::string>> left;
    for (const auto& dead : letters()) left.emplace_back(dead.letter.message, dead.letter.target);
    EXPECT_THAT(left, UnorderedElementsAre(std::pair{id_of(1), std::string{"stock"}},
                                           std::pair{id_of(2), std::string{"billing"}}));
}

TEST_P(StoreConformance, RepeatingARevivalIsHarmless) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    halt(host, only_row(host), {"billing"});
    const Settlement item = revival(only_row(host), {"billing"});

    host.settle({item});
    const Entry once = only_row(host);
    host.settle({item});

    EXPECT_EQ(value_of(only_row(host)), value_of(once));
    EXPECT_THAT(targets_of(letters()), IsEmpty());
}

TEST_P(StoreConformance, WhatDiesAgainHasItsNewLetter) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    halt(host, only_row(host), {"billing"});
    host.settle({revival(only_row(host), {"billing"})});

    halt(host, only_row(host), {"billing"});

    ASSERT_EQ(letters().size(), 1U);
    EXPECT_EQ(letters()[0].letter.requeues, 1U);
}

TEST_P(StoreConformance, WhatWasRevivedAndDiedBeforeEitherWasStoredIsDead) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    halt(host, only_row(host), {"billing"});
    const Entry head = only_row(host);
    Settlement item = revival(head, {"billing"});
    item.halted = true;
    item.progress = {{.target = "billing", .state = Progress::State::dead}};
    item.dead = {dead_letter(head, "billing", "cancelled")};
    item.dead[0].requeues = 1;

    host.settle({item});
    EXPECT_THAT(targets_of(letters()), ElementsAre("billing"));
    host.settle({item});

    ASSERT_EQ(letters().size(), 1U);
    EXPECT_EQ(letters()[0].letter.reason, "cancelled");
}

TEST_P(StoreConformance, RepeatingARevivalThatDiedDoesNotBringARequeuedLetterBack) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    halt(host, only_row(host), {"billing"});
    const Entry head = only_row(host);
    Settlement item = revival(head, {"billing"});
    item.progress = {{.target = "billing", .state = Progress::State::dead}};
    item.dead = {dead_letter(head, "billing", "cancelled")};
    host.settle({item});
    const DeliveryRef delivery{id_of(1), "billing"};
    catalogue().requeue({&delivery, 1});

    host.settle({item});

    EXPECT_THAT(letters(), IsEmpty());
    EXPECT_EQ(host.scan().size(), 2U);
}

TEST_P(StoreConformance, WhatWasRevivedAndFinishedDeadKeepsItsLastLetter) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    halt(host, only_row(host), {"billing"});
    const Entry head = only_row(host);
    Settlement item = finished(head);
    item.revived = {"billing"};
    item.dead = {dead_letter(head, "billing", "cancelled")};

    host.settle({item});

    EXPECT_THAT(host.scan(), IsEmpty());
    ASSERT_EQ(letters().size(), 1U);
    EXPECT_EQ(letters()[0].letter.reason, "cancelled");
}

TEST_P(StoreConformance, AnOwnerThatLostItsPartitionRevivesNothing) {
    declare_box({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    halt(host, only_row(host), {"billing"});
    const Settlement item = revival(only_row(host), {"billing"});
    Host forger = host;
    ++forger.taken[0].token.epoch;

    EXPECT_EQ(forger.settle({item}).lost.size(), 1U);

    EXPECT_THAT(targets_of(letters()), ElementsAre("billing"));
    EXPECT_TRUE(only_row(host).halted);
}

}  // namespace
}  // namespace waybill::test
