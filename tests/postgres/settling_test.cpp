#include "postgres/fixture.hpp"
#include "rows.hpp"
#include "support/later.hpp"
#include "support/pacing.hpp"
#include "support/postgres_pooler.hpp"
#include "support/postgres_proxy.hpp"

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

    /// Two changes of the same row: two rounds of one transaction.
    SettleBatch two_rounds() const {
        SettleBatch both = batch({.progress = {{.target = "mail", .failures = 1}}});
        both.items.push_back(both.items.front());
        return both;
    }
    bool is_taken_by(int number) {
        InstanceState state{.name = "heir", .boxes = {"orders"}};
        state.incarnation.bytes[0] = static_cast<std::uint8_t>(number);
        const PartitionState seen = store_->beat(state).partitions.at(0);
        const TakeRequest wanted{seen.id, seen.token};
        return !store_->take(state.incarnation, {&wanted, 1}).empty();
    }
    /// A client behind the proxy settles and freezes once `statement` is carried out, with its partition locked; then
    /// its lease ends.
    void expect_taken_over_soon(PostgresProxy& proxy, const std::string& statement,
                                const SettleBatch& settled) {
        const auto frozen = postgres::open(proxy.conninfo("postgres"), schema_.options());
        proxy.withhold(statement);
        auto reply = later_answer([&] { return reaction_of([&] { frozen->settle(settled); }); });
        ASSERT_TRUE(look_until([&] { return proxy.has_withheld(); }, 60s));
        schema_.advance(1h);
        const auto begin = steady_now();

        EXPECT_TRUE(look_until([&] { return is_taken_by(2); }, 5min));

        EXPECT_LT(steady_now() - begin, 10s);
        EXPECT_EQ(reply.get(), Reaction::reconnect);
    }

    Taken taken_{};
    Entry row_{};
};

TEST_F(PostgresSettling, AClientThatFreezesBetweenTwoRoundsHoldsItsPartitionForSecondsOnly) {
    PostgresProxy proxy{PostgresServer::instance().cluster().socket_folder()};

    expect_taken_over_soon(proxy, "waybill_settle", two_rounds());
}

TEST_F(PostgresSettling, AClientThatFreezesBehindAPoolerHoldsItsPartitionForSecondsOnly) {
    const PostgresPooler pooler{PostgresServer::instance().cluster()};
    PostgresProxy proxy{pooler.socket_folder(), PostgresPooler::port};

    expect_taken_over_soon(proxy, ".settle($1", batch({.finish = true}));
}

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

/// The row was looked for, then waited for, and was another version of it when the wait was over: it stayed open, and the
/// engine believed that it was gone.
TEST_F(PostgresSettling, AFinishThatWaitedForSomebodysChangeIsNotLost) {
    for (const bool drops : {false, true}) {
        append({order(drops ? 3 : 2)});
        const Entry row = scan(taken_).entries.back();
        SettleBatch batch = finish(taken_, row);
        batch.items[0].drop_message = drops;
        auto other = stranger();
        postgres::Transaction theirs{*other};
        other->script(other->in_schema("update waybill.open set strikes = 1 where sequence = " +
                                       std::to_string(row.sequence)),
                      "test");
        const auto rows_left = [&] {
            return count("open where sequence = " + std::to_string(row.sequence));
        };
        auto settling = later_answer([&] { store_->settle(batch); });
        wait_for_a_waiter();
        theirs.commit();

        try {
            settling.get();
            EXPECT_EQ(rows_left(), 0) << "it said that it was stored";
        } catch (const StoreError& error) {
            EXPECT_EQ(error.reaction(), Reaction::retry) << error.what();
            EXPECT_EQ(rows_left(), 1);
        }
        store_->settle(batch);
        EXPECT_EQ(rows_left(), 0);
    }
}

/// What the server believes of the sizes of tables is wrong.
class PostgresStatistics : public Postgres {
protected:
    /// Open messages, each in a lane of its own: "l1" and so on.
    void fill(PartitionId partition, int count) {
        const std::string home = std::to_string(partition);
        schema_.run(
            "with m as (insert into waybill.message select nextval('waybill.sequence'), "
            "gen_random_uuid(), " +
            home +
            ", 1, 0, 0, 't', '', '', '', '', '', 'l' || n, '', '', 0, null, '' "
            "from generate_series(1, " +
            std::to_string(count) +
            ") n returning sequence, id, lane) insert into waybill.open (partition, "
            "sequence, id, due, lane) select " +
            home + ", sequence, id, 0, waybill.lane_number(lane) from m");
    }
    /// The table has `pages` of what was there before, and is empty.
    void analyse_while_empty(PartitionId partition, int count, bool truncate) {
        fill(partition, count);
        schema_.run("delete from waybill.open");
        schema_.change("vacuum (truncate " + std::string{truncate ? "true" : "false"} +
                       ", analyze) " + schema_.name() + ".open");
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
    static Duration time_of(const std::function<void()>& call) {
        const SteadyTime begin = steady_now();
        call();
        return std::chrono::duration_cast<Duration>(steady_now() - begin);
    }
    /// All of the first lanes.
    std::size_t read_lanes(const Taken& taken, int count) {
        ReadRequest request{.kind = ReadRequest::Kind::lanes, .lane_rows = 10};
        for (int i = 1; i <= count; ++i) {
            request.lanes.push_back(
                {.partition = taken.partition, .lane = "l" + std::to_string(i)});
        }
        return store_->read(request).entries.size();
    }
};

/// An idle queue was vacuumed while it was empty; the burst after that was settled by walking through all that was open
/// once for each result, for longer than a statement may take, and so for ever.
TEST_F(PostgresStatistics, ABurstIntoAQueueThatWasAnalysedWhileEmptyIsSettledAtOnce) {
    constexpr int kOpen = 20'000;
    constexpr int kSettled = 5'000;
    const Taken taken = own(*store_);
    for (const bool truncate : {false, true}) {
        analyse_while_empty(taken.partition, kOpen, truncate);
        fill(taken.partition, 1);
        read_lanes(taken, 1);
        store_->settle(oldest(taken, 1));  // plans are made now

        fill(taken.partition, kOpen);
        std::size_t found = 0;
        EXPECT_LT(time_of([&] { found = read_lanes(taken, 1'000); }), 1s) << truncate;
        EXPECT_EQ(found, 1'000U);
        const SettleBatch batch = oldest(taken, kSettled);
        const Duration took = time_of([&] { store_->settle(batch); });
        EXPECT_LT(took, 1s) << truncate;
        RecordProperty("settled_in_us", std::to_string(took.count()));

        EXPECT_EQ(store_->count({.state = Filter::State::open}),
                  static_cast<std::uint64_t>(kOpen - kSettled));
        schema_.run("delete from waybill.open");
    }
}

}  // namespace
}  // namespace waybill::test
