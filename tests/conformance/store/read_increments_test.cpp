#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(StoreConformance, TheFirstIncrementOnlyAnswersAPosition) {
    declare_box();
    append(order(1));
    Host host = owner();

    const ReadPage page = host.read({.partitions = host.partitions()});

    EXPECT_THAT(page.entries, IsEmpty());
    EXPECT_FALSE(page.position.empty());
    EXPECT_FALSE(page.more);
}

TEST_P(StoreConformance, AnIncrementBringsWhatWasAppendedSinceTheLastOne) {
    declare_box();
    append(order(1));
    Host host = owner();
    host.increment();
    append_all({order(2), order(3)});

    EXPECT_THAT(bodies(host.increment()), ElementsAre("order 2", "order 3"));
    EXPECT_THAT(host.increment(), IsEmpty());
}

TEST_P(StoreConformance, AStoreThatSaysHowFarItIsCompleteNeverShowsMoreBelowThat) {
    declare_box();
    Host host = owner();
    const ReadPage first = host.read({.partitions = host.partitions()});
    if (!first.complete_through) GTEST_SKIP() << "its sequence is not its order of commit";
    const Sequence first_row = append(order(1)).sequence;
    const Sequence second_row = append(order(2)).sequence;
    EXPECT_LT(*first.complete_through, first_row);

    ReadRequest request{.partitions = host.partitions(), .position = first.position};
    request.rows_max = 1;
    const ReadPage page = host.read(request);
    EXPECT_EQ(page.complete_through, first_row);

    request.known_through = second_row;
    const ReadPage nothing_new = host.read(request);
    EXPECT_THAT(nothing_new.entries, IsEmpty());
    EXPECT_EQ(nothing_new.complete_through, second_row);
}

TEST_P(StoreConformance, AnIncrementLeavesOutTheTransactionsThatItsReaderKnowsAndNoOthers) {
    declare_box({.partitions = 4});
    Host host = owner();
    const Position position = host.read({.partitions = host.partitions()}).position;
    const std::vector<AppendResult> known = append_all({order(1), order(2), order(3)});
    if (known.front().transaction == 0) GTEST_SKIP() << "it cannot leave a transaction out";
    append(order(4));
    append(order(5));
    ReadRequest request{.partitions = host.partitions(), .position = position, .rows_max = 1};
    request.known = {known.front().transaction};

    const ReadPage first = host.read(request);
    request.position = first.position;
    const ReadPage second = host.read(request);

    EXPECT_EQ(known.back().transaction, known.front().transaction);
    EXPECT_THAT(bodies(first.entries), ElementsAre("order 4"));
    EXPECT_THAT(bodies(second.entries), ElementsAre("order 5"));
    EXPECT_THAT(bodies(host.scan()), testing::SizeIs(5)) << "only increments leave them out";
}

TEST_P(StoreConformance, NothingIsMissingBetweenAPositionAndALaterScan) {
    declare_box();
    append(order(1));
    Host host = owner();
    host.increment();
    append(order(2));

    const auto scanned = host.scan();
    append(order(3));
    const auto increment = host.increment();

    EXPECT_THAT(bodies(scanned), ElementsAre("order 1", "order 2"));
    EXPECT_THAT(bodies(increment), testing::Contains("order 3"));
}

TEST_P(StoreConformance, SettlingTheNewestDoesNotHideTheNext) {
    declare_box();
    append_all({order(1), order(2), order(3)});
    Host host = owner();
    host.increment();
    Settlement newest = finished(host.scan().back());
    newest.drop_message = true;
    host.settle({newest});

    const AppendResult next = append(order(4));

    EXPECT_GT(next.sequence, newest.sequence);
    EXPECT_THAT(bodies(host.increment()), ElementsAre("order 4"));
}

TEST_P(StoreConformance, SettlingEverythingDoesNotHideTheNext) {
    declare_box();
    append(order(1));
    Host host = owner();
    host.increment();
    Settlement last = finished(only_row(host));
    last.drop_message = true;
    host.settle({last});

    append(order(2));

    EXPECT_THAT(bodies(host.increment()), ElementsAre("order 2"));
}

TEST_P(StoreConformance, AnIncrementComesInPagesWithoutLossOrDouble) {
    declare_box({.partitions = 4});
    Host host = owner();
    Position position = host.read({.partitions = host.partitions()}).position;
    std::vector<Sequence> appended;
    for (int number = 1; number <= 50; ++number) appended.push_back(append(order(number)).sequence);

    std::vector<Sequence> seen;
    ReadPage page;
    do {
        page = host.read({.partitions = host.partitions(), .position = position, .rows_max = 7});
        EXPECT_LE(page.entries.size(), 7U);
        for (const Entry& row : page.entries) seen.push_back(row.sequence);
        position = page.position;
    } while (page.more);

    EXPECT_EQ(seen, appended);
}

TEST_P(StoreConformance, WhatIsAppendedBetweenTwoPagesIsNotLost) {
    declare_box();
    Host host = owner();
    const Position start = host.read({.partitions = host.partitions()}).position;
    append_all({order(1), order(2), order(3)});
    const ReadPage first =
        host.read({.partitions = host.partitions(), .position = start, .rows_max = 2});
    append(order(4));

    std::vector<std::string> seen = bodies(first.entries);
    Position position = first.position;
    for (int round = 0; round < 3; ++round) {
        const ReadPage page = host.read({.partitions = host.partitions(), .position = position});
        for (const std::string& body : bodies(page.entries)) seen.push_back(body);
        position = page.position;
    }

    EXPECT_TRUE(first.more);
    EXPECT_THAT(seen, ElementsAre("order 1", "order 2", "order 3", "order 4"));
}

TEST_P(StoreConformance, AnIncrementIsRestrictedToTheAskedPartitions) {
    declare_box();
    declare_box({}, "mails");
    Host host = owner();
    host.increment();
    Message mail = order(1);
    mail.box = "mails";
    append_all({mail, order(2)});

    EXPECT_THAT(bodies(host.increment()), ElementsAre("order 2"));
}

TEST_P(StoreConformance, AReadingTwiceFromOnePositionBringsTheSame) {
    declare_box();
    Host host = owner();
    const Position start = host.read({.partitions = host.partitions()}).position;
    append(order(1));

    const ReadPage once = host.read({.partitions = host.partitions(), .position = start});
    const ReadPage twice = host.read({.partitions = host.partitions(), .position = start});

    EXPECT_EQ(values_of(once.entries), values_of(twice.entries));
    EXPECT_EQ(once.entries.size(), 1U);
}

TEST_P(StoreConformance, EveryAnswerNamesTheSameTimelineAndTheStoresTime) {
    declare_box();
    Host host = owner();
    advance(3s);

    const BeatReply beat = host.beat();
    const ReadPage page = host.read({.partitions = host.partitions()});

    EXPECT_EQ(page.generation, beat.generation);
    EXPECT_EQ(page.generation, host.taken[0].token.generation);
    EXPECT_FALSE(page.generation.empty());
    EXPECT_GE(page.now, beat.now);
    EXPECT_FALSE(page.reconnected);
}

TEST_P(StoreConformance, TheStoresTimeMovesWithItsClock) {
    const StoreTime before = now();

    advance(1h);

    EXPECT_GE(now() - before, 1h);
    EXPECT_LT(now() - before, 2h);
}

}  // namespace
}  // namespace waybill::test
