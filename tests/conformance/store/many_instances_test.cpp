#include <algorithm>
#include <atomic>
#include <set>

#include "harness.hpp"
#include "support/run_together.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ManyInstances : public StoreConformance {
protected:
    void SetUp() override { WAYBILL_NEEDS_MANY_INSTANCES(); }

    std::vector<std::string> names(const BeatReply& reply) {
        std::vector<std::string> all;
        for (const Peer& peer : reply.peers) all.push_back(peer.name);
        return all;
    }
};

TEST_P(ManyInstances, EveryoneAliveIsSeenByEveryone) {
    declare_box();
    Host first = host(1);
    Host second = host(2);
    first.beat();

    EXPECT_THAT(names(second.beat()), testing::UnorderedElementsAre("host-1", "host-2"));
    EXPECT_THAT(names(first.beat()), testing::UnorderedElementsAre("host-1", "host-2"));
}

TEST_P(ManyInstances, WhatAnInstanceSaysOfItselfIsToldToTheOthers) {
    declare_box();
    Host first = host(1);
    first.state.guest = true;
    first.state.hungry = 12;
    first.state.executes = {3, 5, 8};
    first.state.running = {{id_of(1), "billing", 90s}};
    first.state.waiting = 77;
    first.beat();

    const BeatReply reply = host(2).beat();

    const auto peer = std::ranges::find(reply.peers, first.incarnation(), &Peer::incarnation);
    ASSERT_NE(peer, reply.peers.end());
    EXPECT_EQ(peer->name, "host-1");
    EXPECT_TRUE(peer->guest);
    EXPECT_FALSE(peer->stopping);
    EXPECT_EQ(peer->hungry, 12U);
    EXPECT_EQ(peer->boxes, first.state.boxes);
    EXPECT_EQ(peer->executes, first.state.executes);
    EXPECT_EQ(peer->running, first.state.running);
    EXPECT_EQ(peer->waiting, 77U);
}

TEST_P(ManyInstances, TheSilentAreNotListed) {
    declare_box();
    host(1).beat();
    advance(5s);

    EXPECT_THAT(names(host(2).beat()), ElementsAre("host-2"));
}

TEST_P(ManyInstances, TheSilentAreNotListedEvenIfTheyStillOwn) {
    declare_box();
    Host first = owner(1);
    advance(5s);

    EXPECT_THAT(names(host(2).beat()), ElementsAre("host-2"));
}

TEST_P(ManyInstances, EachIsJudgedByItsOwnLease) {
    declare_box();
    Host patient = host(1);
    patient.state.lease = 60s;
    patient.beat();
    host(2).beat();
    advance(30s);

    EXPECT_THAT(names(host(3).beat()), testing::UnorderedElementsAre("host-1", "host-3"));
}

TEST_P(ManyInstances, AStoppingInstanceWithNothingLeftIsTakenOffTheList) {
    declare_box();
    Host first = owner(1);
    first.give(first.taken[0]);
    first.state.stopping = true;

    first.beat();

    EXPECT_THAT(names(host(2).beat()), ElementsAre("host-2"));
}

TEST_P(ManyInstances, AStoppingInstanceThatStillOwnsIsListedAsStopping) {
    declare_box();
    Host first = owner(1);
    first.state.stopping = true;

    first.beat();

    const BeatReply reply = host(2).beat();
    const auto peer = std::ranges::find(reply.peers, first.incarnation(), &Peer::incarnation);
    ASSERT_NE(peer, reply.peers.end());
    EXPECT_TRUE(peer->stopping);
    EXPECT_EQ(reply.partitions[0].state, PartitionState::Owner::alive);
}

TEST_P(ManyInstances, PartitionsMayHaveDifferentOwners) {
    declare_box({.partitions = 2});
    Host first = host(1);
    Host second = host(2);
    const auto seen = first.beat().partitions;
    second.beat();

    first.take(seen[0]);
    second.take(seen[1]);

    const auto now_seen = first.beat().partitions;
    EXPECT_EQ(now_seen[0].token.owner, first.incarnation());
    EXPECT_EQ(now_seen[1].token.owner, second.incarnation());
}

TEST_P(ManyInstances, OnlyTheDeadLoseTheirPartitions) {
    declare_box({.partitions = 2});
    Host first = host(1);
    Host second = host(2);
    const auto seen = first.beat().partitions;
    second.beat();
    first.take(seen[0]);
    second.take(seen[1]);
    advance(4s);
    second.beat();
    advance(1s);

    Host third = owner(3);

    ASSERT_EQ(third.taken.size(), 1U);
    EXPECT_EQ(third.taken[0].partition, seen[0].id);
    EXPECT_THAT(second.settle({}).lost, IsEmpty());
}

TEST_P(ManyInstances, AGivenPartitionIsReadWhollyByItsNextOwner) {
    declare_box();
    append_all({order(1), order(2)});
    Host first = owner(1);
    first.increment();
    first.finish(first.scan()[0]);
    append(order(3));
    first.give(first.taken[0]);

    Host second = owner(2);
    second.increment();
    const auto scanned = second.scan();
    append(order(4));

    EXPECT_THAT(bodies(scanned), ElementsAre("order 2", "order 3"));
    EXPECT_THAT(bodies(second.increment()), ElementsAre("order 4"));
}

TEST_P(ManyInstances, APartitionTakenLaterIsCoveredByItsScan) {
    declare_box({.partitions = 2});
    Host host = this->host(1);
    const auto seen = host.beat().partitions;
    host.take(seen[0]);
    host.increment();
    for (int number = 1; number <= 20; ++number) append(order(number));
    auto known = sequences(host.increment());

    host.take(seen[1]);
    const ReadPage scan = host.read({.kind = ReadRequest::Kind::scan, .partition = seen[1].id});
    for (const Sequence sequence : sequences(scan.entries)) known.push_back(sequence);
    append(order(21));
    for (const Sequence sequence : sequences(host.increment())) known.push_back(sequence);

    EXPECT_EQ(std::set(known.begin(), known.end()).size(), 21U);
}

TEST_P(ManyInstances, OfManyThatRaceForAPartitionOneGetsIt) {
    declare_box({.partitions = 8});
    std::atomic<int> taken = 0;

    run_together(4, [&](int number) {
        Host racer = host(number);
        taken += static_cast<int>(racer.take_all().size());
    });

    EXPECT_EQ(taken, 8);
}

TEST_P(ManyInstances, OfManyThatAppendOneKeyOneIsFresh) {
    declare_box();
    std::atomic<int> fresh = 0;
    std::atomic<int> duplicate = 0;

    run_together(4, [&](int number) {
        Host host = this->host(number);
        for (int key = 0; key < 50; ++key) {
            const std::vector batch{item(keyed(number * 1000 + key, std::to_string(key)))};
            const auto status = host.store().append(batch)[0].status;
            if (status == AppendResult::Status::fresh) ++fresh;
            if (status == AppendResult::Status::duplicate) ++duplicate;
        }
    });

    EXPECT_EQ(fresh, 50);
    EXPECT_EQ(duplicate, 150);
    EXPECT_EQ(owner(9).scan().size(), 50U);
}

TEST_P(ManyInstances, AReaderBesideManyWritersMissesNothing) {
    declare_box({.partitions = 4});
    Host reader = owner(9);
    reader.increment();
    std::vector<Sequence> seen;

    run_together(4, [&](int number) {
        if (number == 0) {
            for (int round = 0; round < 50; ++round) {
                for (const Sequence s : sequences(reader.increment())) seen.push_back(s);
            }
            return;
        }
        Host writer = host(number);
        for (int i = 0; i < 100; ++i) {
            const std::vector batch{item(order(number * 1000 + i)), item(order(number * 5000 + i))};
            writer.store().append(batch);
        }
    });
    for (const Sequence s : sequences(reader.increment())) seen.push_back(s);

    EXPECT_EQ(seen.size(), 600U);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 600U);
}

INSTANTIATE_TEST_SUITE_P(Stores, ManyInstances, testing::ValuesIn(stores_under_test()), store_name);

}  // namespace
}  // namespace waybill::test
