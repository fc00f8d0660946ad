#include "postgres/fixture.hpp"
#include "rows.hpp"
#include "support/later.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Progress done_by(const std::string& target) {
    return {.target = target, .state = Progress::State::done};
}

class PostgresSettling : public Postgres {
protected:
    PostgresSettling() {
        append({order(1)});
        taken_ = own(*store_);
        row_ = scan(taken_).entries.at(0);
    }
    SettleBatch batch(Settlement item) const {
        item.partition = row_.partition;
        item.sequence = row_.sequence;
        item.message = row_.message->id;
        return {.fences = {{taken_.partition, taken_.token}}, .items = {std::move(item)}};
    }
    DeadLetter letter() const {
        return {.message = row_.message->id, .sequence = row_.sequence, .target = "books"};
    }
    int count(const std::string& table) const {
        auto db = stranger();
        return db->script(db->in_schema("select from waybill." + table), "test").count();
    }
    void record(postgres::Database& db, const Progress& progress) const {
        const std::string literal = postgres::progress_literal({progress}).value();
        db.script(db.in_schema("update waybill.open set progress = '" + literal + "'"), "test");
    }

    Taken taken_{};
    Entry row_{};
};

TEST_F(PostgresSettling, ASettlementDoesNotEraseWhatAnInlineRunRecordedMeanwhile) {
    const SettleBatch failed = batch({.progress = {{.target = "mail", .failures = 1}}});
    auto db = stranger();
    postgres::Transaction inline_run{*db};
    record(*db, done_by("books"));

    auto reply = later_answer([&] { return reaction_of([&] { store_->settle(failed); }); });
    wait_for_a_waiter();
    inline_run.commit();
    EXPECT_EQ(reply.get(), Reaction::retry) << "it was built upon what is no longer there";
    store_->settle(failed);

    EXPECT_THAT(scan(taken_).entries.at(0).progress,
                ElementsAre(done_by("books"), Progress{.target = "mail", .failures = 1}));
}

TEST_F(PostgresSettling, ASettlementThatArrivesLateBringsNoDeadLetterBack) {
    auto db = stranger();
    postgres::Transaction repeat{*db};
    db->script(db->in_schema("select from waybill.message for update; delete from waybill.open"),
               "test");

    auto reply =
        later_answer([&] { return store_->settle(batch({.finish = true, .dead = {letter()}})); });
    wait_for_a_waiter();
    repeat.commit();

    EXPECT_THAT(reply.get().lost, IsEmpty());
    EXPECT_EQ(count("dead"), 0);
}

TEST_F(PostgresSettling, ASettlementThatArrivesLateWithdrawsNoDeadLetterOfALaterDeath) {
    store_->settle(batch({.dead = {letter()}}));
    ASSERT_EQ(count("dead"), 1);
    auto db = stranger();
    postgres::Transaction repeat{*db};
    db->script(db->in_schema("select from waybill.message for update; delete from waybill.open"),
               "test");

    auto reply =
        later_answer([&] { return store_->settle(batch({.requeues = 1, .revived = {"books"}})); });
    wait_for_a_waiter();
    repeat.commit();

    EXPECT_THAT(reply.get().lost, IsEmpty());
    EXPECT_EQ(count("dead"), 1);
}

TEST_F(PostgresSettling, ASettlementOfTwoRoundsWithAStaleRegistryAppliesNeither) {
    SettleBatch twice = batch({.progress = {done_by("books")}});
    twice.items.push_back(twice.items[0]);
    twice.items[1].progress = {done_by("mail")};
    // A trigger: the registry moves after the first round has looked.
    schema_.change(
        "create function waybill.register_one() returns trigger language plpgsql as $$ begin "
        "update waybill.store set registry_version = 1000; return new; end $$;"
        "create trigger registers after update on waybill.open for each statement "
        "execute function waybill.register_one()");

    EXPECT_TRUE(store_->settle(twice).registry_stale);

    EXPECT_THAT(scan(taken_).entries.at(0).progress, IsEmpty());
}

TEST_F(PostgresSettling, AFunctionOfAStrangerIsNotCalledInsteadOfTheDatabasesOwn) {
    auto db = stranger();
    db->script(
        "create function public.cardinality(integer[]) returns integer language plpgsql "
        "as $$ begin raise exception 'not the one that was meant'; end $$",
        "test");

    EXPECT_NO_THROW(store_->settle(finish(taken_, row_)));
    EXPECT_NO_THROW(append({order(2)}));

    db->script("drop function public.cardinality(integer[])", "test");
}

TEST_F(PostgresSettling, AConnectionWhoseStatementsAreGoneIsNotUsedAgain) {
    auto db = stranger();
    const auto ask = [&] { db->read(postgres::sql::store_row); };
    ask();
    db->script("deallocate all", "test");

    EXPECT_EQ(reaction_of(ask), Reaction::reconnect);
    EXPECT_FALSE(db->is_usable());
}

/// A box of `count` open messages, written as somebody would who knows no better way.
class PostgresStatistics : public Postgres {
protected:
    void fill(PartitionId partition, int count) {
        schema_.run("with m as (insert into waybill.message select nextval('waybill.sequence'), "
                    "gen_random_uuid(), " +
                    std::to_string(partition) +
                    ", 1, 0, 0, 't', '', '', '', '', '', '', '', '', 0, null, '' "
                    "from generate_series(1, " +
                    std::to_string(count) +
                    ") returning sequence, id) insert into waybill.open (partition, sequence, id, "
                    "due) select " +
                    std::to_string(partition) + ", sequence, id, 0 from m");
    }
    SettleBatch oldest(const Taken& taken, int count) {
        SettleBatch batch{.fences = {{taken.partition, taken.token}}};
        auto db = stranger();
        postgres::Rows rows =
            db->script(db->in_schema("select sequence, id from waybill.open order by sequence "
                                     "limit " +
                                     std::to_string(count)),
                       "test");
        while (rows.next()) {
            batch.items.push_back({.partition = taken.partition,
                                   .sequence = std::stoll(rows.string(0)),
                                   .message = *parse_uuid(rows.string(1)),
                                   .finish = true});
        }
        return batch;
    }
    Duration time_to_settle(const SettleBatch& batch) {
        const auto begin = std::chrono::steady_clock::now();
        store_->settle(batch);
        return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begin);
    }
};

/// An idle queue was vacuumed while it was empty; the burst after that was settled by walking through all that was open
/// once for each result, for longer than a statement may take, and so for ever.
TEST_F(PostgresStatistics, ABurstIntoAQueueThatWasAnalysedWhileEmptyIsSettledAtOnce) {
    constexpr int kOpen = 20'000;
    constexpr int kSettled = 5'000;
    const Taken taken = own(*store_);
    for (const std::string pages : {"false", "true"}) {
        fill(taken.partition, kOpen);
        schema_.run("delete from waybill.open");
        schema_.change("vacuum (truncate " + pages + ", analyze) " + schema_.name() + ".open");
        fill(taken.partition, 1);
        store_->settle(oldest(taken, 1));  // plans are made now

        fill(taken.partition, kOpen);
        EXPECT_LT(time_to_settle(oldest(taken, kSettled)), 1s) << "truncate " << pages;

        EXPECT_EQ(store_->count({.state = Filter::State::open}),
                  static_cast<std::uint64_t>(kOpen - kSettled));
        schema_.run("delete from waybill.open");
    }
}

}  // namespace
}  // namespace waybill::test
