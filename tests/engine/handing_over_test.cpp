#include <gmock/gmock.h>

#include "engine/fixture.hpp"

/// Hand-overs that reads have overtaken.
namespace waybill::test {
namespace {

using Starts = std::vector<std::string>;

/// As PostgreSQL: nothing is known of what others are committing.
class HandingOver : public EngineTest {
protected:
    HandingOver() { store_is_in_order = false; }

    /// In the store, and nobody has heard of it.
    engine::HandOver store_one(const std::string& body, std::uint64_t reads_before) {
        return store_one(message(body), reads_before);
    }
    engine::HandOver store_one(Message what, std::uint64_t reads_before) {
        auto made = std::make_shared<Message>(std::move(what));
        made->id = uuid7(clock.wall(), random_);
        const std::vector<Append> batch{{.message = made}};
        const AppendResult result = store->append(batch).front();
        return {made, result.sequence, result.partition, reads_before};
    }
    void hand_over(const engine::HandOver& handed) {
        stepper->engine().on_appended(clock.now(), std::vector<engine::HandOver>{handed});
        stepper->settle_down();
    }
    void read_increment() {
        stepper->engine().on_wake(clock.now());
        stepper->settle_down();
    }

private:
    SeededRandom random_{7};
};

TEST_F(HandingOver, WhatAnIncrementOvertookWithoutBringingItStartsAtOnce) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    const std::uint64_t sent = engine.engine().overtaking_reads();
    read_increment();
    ASSERT_GT(engine.engine().overtaking_reads(), sent);
    const engine::HandOver handed = store_one("1", sent);
    const std::uint64_t reads = engine.reads();

    hand_over(handed);

    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
    EXPECT_EQ(engine.reads(), reads) << "nothing had to be read for it";
    engine.run_for(1min);
    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(HandingOver, WhatAnIncrementBroughtAndIsFinishedDoesNotStartAgain) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    const engine::HandOver handed = store_one("1", engine.engine().overtaking_reads());
    read_increment();
    ASSERT_EQ(engine.starts(), (Starts{"a:1"}));
    ASSERT_EQ(open_messages(), 0U);

    hand_over(handed);
    engine.run_for(1min);

    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
}

TEST_F(HandingOver, WhatAScanMayHaveBroughtIsLeftToTheNextRead) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    const std::uint64_t sent = engine.engine().overtaking_reads();
    engine.run_for(10min);  // due rows are read, and what is open is looked through
    const engine::HandOver handed = store_one("1", sent);
    const std::uint64_t reads = engine.reads();

    hand_over(handed);

    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
    EXPECT_GT(engine.reads(), reads);
}

/// Three instances on PostgreSQL read further pages of nearly every increment, at three times the price of a first one.
TEST_F(HandingOver, TheFirstPageOfAnIncrementHasMoreRowsThanTheOthers) {
    std::vector<std::uint32_t> rows;
    run(a_box("orders", {}, {"a"})).after_read = [&](const ReadRequest& read, ReadPage& page) {
        if (read.kind != ReadRequest::Kind::increment) return;
        rows.push_back(read.rows_max);
        page.more = rows.size() == 1;
    };

    read_increment();

    const engine::Options usual{};
    EXPECT_GT(usual.increment_rows, usual.page_rows);
    EXPECT_THAT(rows, testing::ElementsAre(usual.increment_rows, usual.page_rows));
}

/// What the increments ask the store to leave out.
class LeavingOut : public HandingOver {
protected:
    std::vector<std::vector<std::uint64_t>> left_out;

    void note(const ReadRequest& request) {
        if (request.kind == ReadRequest::Kind::increment) left_out.push_back(request.known);
    }
    engine::HandOver written_by(std::uint64_t transaction, std::uint32_t rows, Message what) {
        engine::HandOver handed = store_one(std::move(what), stepper->engine().overtaking_reads());
        handed.transaction = transaction;
        handed.transaction_rows = rows;
        return handed;
    }
};

TEST_F(LeavingOut, ATransactionThatIsInMemoryIsLeftOutOfTheNextIncrementAndOfNoOther) {
    hold_all = "a";
    run(a_box("orders", {}, {"a"})).after_read = [this](const ReadRequest& read, ReadPage&) {
        note(read);
    };

    hand_over(written_by(7, 1, message("1")));
    read_increment();
    read_increment();

    EXPECT_THAT(left_out, testing::ElementsAre(testing::ElementsAre(7), testing::IsEmpty()));
}

/// Its row with a lane, or one that was not handed over, would never have come.
TEST_F(LeavingOut, ATransactionThatIsNotWhollyInMemoryIsRead) {
    run(a_box("orders", {.lanes = Lanes::strict}, {"a"})).after_read =
        [this](const ReadRequest& read, ReadPage&) { note(read); };

    hand_over(written_by(7, 2, message("1")));
    hand_over(written_by(7, 2, message("2", "lane")));
    read_increment();

    EXPECT_THAT(left_out, testing::Each(testing::IsEmpty()));
    EXPECT_EQ(stepper->starts(), (Starts{"a:1", "a:2"}));
}

/// Seed 45553: due rows had been read without it, and then the increment left it out.
TEST_F(LeavingOut, AScheduledOneThatIsHandedOverWhileDueRowsAreReadIsRead) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    bool is_handed_over = false;
    engine.after_read = [&](const ReadRequest& read, ReadPage&) {
        note(read);
        if (read.kind != ReadRequest::Kind::due || std::exchange(is_handed_over, true)) return;
        Message scheduled = message("1");
        scheduled.not_before = read.due_until - 1s;
        engine.engine().on_appended(
            clock.now(), std::vector<engine::HandOver>{written_by(7, 1, std::move(scheduled))});
    };

    engine.run_for(3min);

    ASSERT_TRUE(is_handed_over);
    EXPECT_THAT(left_out, testing::Each(testing::IsEmpty()));
    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
}

}  // namespace
}  // namespace waybill::test
