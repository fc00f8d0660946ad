#include "core/engine/roster.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace waybill::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Owner = PartitionState::Owner;

Uuid instance(std::uint8_t number) {
    Uuid id;
    id.bytes[15] = number;
    return id;
}

const Uuid self = instance(1);
const Uuid other = instance(2);
const Uuid third = instance(3);
const Uuid nobody{};

Peer peer(const Uuid& id) {
    return {.incarnation = id, .boxes = {"orders"}, .executes = {10, 20}};
}

/// Partitions are numbered from 1.
struct Roster {
    explicit Roster(std::vector<Uuid> live = {self, other}) {
        for (const Uuid& id : live) beat.peers.push_back(peer(id));
    }
    Roster& partition(Owner state, const Uuid& owner = nobody, const Uuid& heir = nobody,
                      const std::string& box = "orders") {
        beat.partitions.push_back({.id = static_cast<PartitionId>(beat.partitions.size() + 1),
                                   .box = box,
                                   .state = state,
                                   .token = {.owner = owner, .epoch = 7},
                                   .heir = heir});
        return *this;
    }
    Roster& free(int count = 1) {
        for (int i = 0; i < count; ++i) partition(Owner::none);
        return *this;
    }
    Roster& owned(const Uuid& owner, int count = 1) {
        for (int i = 0; i < count; ++i) partition(Owner::alive, owner);
        return *this;
    }
    Peer& peer_of(const Uuid& id) { return *std::ranges::find(beat.peers, id, &Peer::incarnation); }
    std::vector<PartitionId> takes(TakeRules rules = {}, std::vector<PartitionId> ours = {}) {
        rules.self = self;
        std::vector<PartitionId> ids;
        for (const TakeRequest& take : choose_takes(beat, rules, ours, seen)) {
            EXPECT_EQ(take.seen, beat.partitions[take.partition - 1].token);
            ids.push_back(take.partition);
        }
        return ids;
    }

    BeatReply beat;
    SeenFree seen;
};

// ---- Taking ------------------------------------------------------------------------------------

TEST(Roster, AloneTakesEverything) {
    EXPECT_THAT(Roster{{self}}.free(3).takes(), ElementsAre(1, 2, 3));
}

TEST(Roster, TakesItsFairShareRoundedUp) {
    EXPECT_THAT(Roster{}.free(5).takes(), ElementsAre(1, 2, 3));
}

TEST(Roster, WhatItOwnsCountsForItsShare) {
    EXPECT_THAT(Roster{}.owned(self, 2).free(2).takes({}, {1, 2}), IsEmpty());
    EXPECT_THAT(Roster{}.owned(self, 1).free(3).takes({}, {1}), ElementsAre(2));
}

TEST(Roster, TheShareIsCountedBoxByBox) {
    Roster roster;
    roster.owned(self, 2).owned(other, 2).partition(Owner::none, nobody, nobody, "mails");
    roster.peer_of(self).boxes = {"orders", "mails"};

    EXPECT_THAT(roster.takes({}, {1, 2}), ElementsAre(5));
}

TEST(Roster, GuestsAndLeaversDoNotCount) {
    Roster roster{{self, other, third}};
    roster.peer_of(other).guest = true;
    roster.peer_of(third).stopping = true;

    EXPECT_EQ(live_instances(roster.beat, "orders"), 1U);
    EXPECT_THAT(roster.free(3).takes(), ElementsAre(1, 2, 3));
}

TEST(Roster, InstancesThatDoNotAttendTheBoxDoNotCount) {
    Roster roster;
    roster.peer_of(other).boxes = {"mails"};

    EXPECT_EQ(live_instances(roster.beat, "orders"), 1U);
    EXPECT_EQ(live_instances(roster.beat, "nothing"), 1U) << "at least one, to divide by";
}

TEST(Roster, AGuestTakesWhatIsFreeWhateverItsShare) {
    EXPECT_THAT(Roster{}.free(4).takes({.guest = true}), ElementsAre(1, 2, 3, 4));
}

TEST(Roster, TakesMoreThanItsShareWhenNobodyElseDidForTwoBeats) {
    Roster roster;
    roster.free(2);
    const std::vector<PartitionId> ours{1};

    EXPECT_THAT(roster.takes({}, ours), IsEmpty());
    EXPECT_THAT(roster.takes({}, ours), IsEmpty());
    EXPECT_THAT(roster.takes({}, ours), ElementsAre(2));
}

TEST(Roster, APartitionSomebodyTookMeanwhileIsCountedAnew) {
    Roster roster;
    roster.free(2);
    const std::vector<PartitionId> ours{1};
    roster.takes({}, ours);
    roster.takes({}, ours);
    roster.beat.partitions[1].state = Owner::alive;
    roster.beat.partitions[1].token.owner = other;
    roster.takes({}, ours);
    roster.beat.partitions[1].state = Owner::none;

    EXPECT_THAT(roster.takes({}, ours), IsEmpty());
}

TEST(Roster, DeadOwnersAreBelievedOnlyWhenInTouch) {
    Roster roster{{self}};
    roster.partition(Owner::dead, other);

    EXPECT_THAT(roster.takes({.may_take_dead = false}), IsEmpty());
    EXPECT_THAT(roster.takes({.may_take_dead = true}), ElementsAre(1));
}

TEST(Roster, LiveOwnersKeepWhatTheyHave) {
    EXPECT_THAT(Roster{}.owned(other, 4).takes({.guest = true, .may_take_dead = true}), IsEmpty());
}

TEST(Roster, TheHeirTakesAtOnceAndBeyondItsShare) {
    Roster roster;
    roster.owned(self, 2).owned(other).partition(Owner::none, other, self);

    EXPECT_THAT(roster.takes({}, {1, 2}), ElementsAre(4));
}

TEST(Roster, WhatWasLeftToALivingOneIsNotOurs) {
    Roster roster;
    roster.partition(Owner::none, self, other);

    for (int beat = 0; beat < 5; ++beat) EXPECT_THAT(roster.takes(), IsEmpty());
}

TEST(Roster, AnHeirThatIsGoneOrGoingLeavesItFree) {
    EXPECT_THAT(Roster{{self}}.partition(Owner::none, self, other).takes(), ElementsAre(1));

    Roster leaving;
    leaving.peer_of(other).stopping = true;
    EXPECT_THAT(leaving.partition(Owner::none, self, other).takes(), ElementsAre(1));
}

TEST(Roster, AnAnswerThatWasLostIsSettledByTakingAgain) {
    Roster roster;
    roster.owned(self, 3).partition(Owner::dead, self);

    EXPECT_THAT(roster.takes({}, {1}), ElementsAre(2, 3, 4));
}

// ---- Giving ------------------------------------------------------------------------------------

const std::vector<std::uint64_t> kOurs{10, 20};
const std::vector<std::uint64_t> kForeign{30};

Holding holding(PartitionId id) {
    return {.id = id,
            .box = "orders",
            .token = {.owner = self, .epoch = id},
            .may_go = true,
            .executes = kOurs};
}

/// "partition to heir", or nothing.
std::string gift(const Roster& roster, const std::vector<Holding>& holdings) {
    const auto give = choose_give(roster.beat, self, holdings);
    if (!give) return "";
    EXPECT_EQ(give->token.epoch, give->partition);
    return std::to_string(give->partition) + " to " + std::to_string(give->heir.bytes[15]);
}

TEST(Roster, GivesToOneThatHasLessThanItsShare) {
    Roster roster;
    roster.owned(self, 4);

    EXPECT_EQ(gift(roster, {holding(1), holding(2), holding(3), holding(4)}), "1 to 2");
}

TEST(Roster, AnUnevenRestIsNotPassedBackAndForth) {
    Roster roster;
    roster.owned(self, 2).owned(other, 1);

    EXPECT_EQ(gift(roster, {holding(1), holding(2)}), "");
}

TEST(Roster, WhatIsBusyOrJustCameStays) {
    Roster roster;
    roster.owned(self, 4);
    Holding busy = holding(1);
    busy.busy = true;
    Holding sticky = holding(2);
    sticky.may_go = false;

    EXPECT_EQ(gift(roster, {busy, sticky}), "");
    EXPECT_EQ(gift(roster, {busy, sticky, holding(3)}), "3 to 2");
}

TEST(Roster, GivesNothingToGuestsLeaversStrangersOrThoseWithoutTheHandlers) {
    for (int reason = 0; reason < 4; ++reason) {
        Roster roster;
        roster.owned(self, 4);
        Peer& peer = roster.peer_of(other);
        peer.hungry = 5;
        if (reason == 0) peer.guest = true;
        if (reason == 1) peer.stopping = true;
        if (reason == 2) peer.boxes = {"mails"};
        if (reason == 3) peer.executes = {10};
        Holding waiting = holding(1);
        waiting.waiting = true;

        EXPECT_EQ(gift(roster, {waiting, holding(2)}), "") << "reason " << reason;
    }
}

TEST(Roster, WorkThatWaitsGoesToTheHungriest) {
    Roster roster{{self, other, third}};
    roster.owned(self, 1).owned(other, 1).owned(third, 1);
    roster.peer_of(other).hungry = 2;
    roster.peer_of(third).hungry = 9;
    Holding waiting = holding(1);
    waiting.waiting = true;

    EXPECT_EQ(gift(roster, {waiting}), "1 to 3");
    EXPECT_EQ(gift(roster, {holding(1)}), "") << "nothing waits: nobody is helped by it";
}

TEST(Roster, WorkThatWaitsIsNotGivenToBalanceNumbers) {
    Roster roster;
    roster.owned(self, 4);
    Holding waiting = holding(1);
    waiting.waiting = true;

    EXPECT_EQ(gift(roster, {waiting}), "");
}

TEST(Roster, AHandlerOnlyOthersHaveComesFirst) {
    Roster roster{{self, other, third}};
    roster.owned(self, 3);
    roster.peer_of(other).hungry = 9;
    roster.peer_of(third).executes = {30};
    Holding waiting = holding(1);
    waiting.waiting = true;
    Holding foreign = holding(2);
    foreign.foreign = kForeign;

    EXPECT_EQ(gift(roster, {waiting, foreign}), "2 to 3");
    foreign.busy = true;
    EXPECT_EQ(gift(roster, {waiting, foreign}), "1 to 2");
}

}  // namespace
}  // namespace waybill::engine
