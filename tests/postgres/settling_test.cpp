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

}  // namespace
}  // namespace waybill::test
