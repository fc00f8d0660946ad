#include <atomic>

#include "postgres/fixture.hpp"
#include "support/app.hpp"
#include "support/gate.hpp"
#include "support/later.hpp"

/// Deadlocks, serialization failures and timeouts: tried again, not for ever, and never a handler's failure.
namespace waybill::test {
namespace {

using Kind = Event::Kind;

class PostgresCollisions : public Postgres {
protected:
    PostgresCollisions() {
        // Leases need a clock that moves.
        schema_.change(
            "create or replace function waybill.clock() returns bigint language sql "
            "stable as $$ select (extract(epoch from statement_timestamp()) * "
            "1000000)::bigint $$");
    }
    /// The first `times` of these statements do this first. A sequence counts them, which no rollback takes back.
    void upset(const std::string& statement_on_table, const std::string& by, int times) {
        schema_.change(
            "create sequence waybill.tries;"
            "create function waybill.upset() returns trigger language plpgsql as $$ begin "
            "if nextval('waybill.tries') <= " +
            std::to_string(times) + " then " + by +
            "; end if; return null; end $$;"
            "create trigger upset before " +
            statement_on_table + " for each statement execute function waybill.upset()");
    }
    void collide(const std::string& statement_on_table, const std::string& sqlstate, int times) {
        upset(statement_on_table, "raise exception 'as if' using errcode = '" + sqlstate + "'",
              times);
    }
    int number(const std::string& question) const {
        auto db = stranger();
        postgres::Rows rows = db->script(db->in_schema(question), "test");
        rows.next();
        return std::stoi(rows.string(0));
    }
    int tries() const { return number("select last_value from waybill.tries"); }
    int stored() const { return number("select count(*) from waybill.message"); }

    /// On a store of its own, with a patient lease: this is not about dying.
    std::unique_ptr<Waybill> app(Duration deadline = 5min) {
        postgres::Options options = schema_.options();
        options.deadline = deadline;
        Settings settings =
            quick_settings(postgres::open(PostgresServer::instance().conninfo(), options), "test");
        settings.lease = 60s;
        settings.sweep.interval = Duration{};
        auto made = std::make_unique<Waybill>(settings);
        made->observe(log_);
        return made;
    }
    /// By a caller that nothing is too late for.
    void append_work() {
        auto caller = app();
        caller->inbox("work");
        EXPECT_EQ(caller->append(work()).status, AppendResult::Status::fresh);
    }
    /// What is left when one message was handled after trouble that was not its own.
    void expect_done_without_a_failure(int calls) {
        EXPECT_TRUE(log_.wait_for(Kind::finished, 1, 60s));
        EXPECT_EQ(calls_, calls);
        EXPECT_EQ(log_.count(Kind::failed), 0U);
        EXPECT_EQ(number("select count(*) from waybill.attempt"), 0);
        EXPECT_EQ(number("select count(*) from waybill.dead"), 0);
    }
    static Message work() { return {.box = "work", .type = "t", .body = "1", .lane = "l"}; }

    std::atomic<int> calls_ = 0;
    std::atomic<int> attempt_ = 0;
    EventLog log_{};
};

class PostgresCollidesWith : public PostgresCollisions,
                             public testing::WithParamInterface<std::string> {};

TEST_P(PostgresCollidesWith, AnAppendThatCollidesIsRepeatedAndStoredOnce) {
    auto made = app();
    made->inbox("work");
    collide("insert on waybill.message", GetParam(), 4);

    EXPECT_EQ(made->append(work()).status, AppendResult::Status::fresh);

    EXPECT_EQ(tries(), 5);
    EXPECT_EQ(stored(), 1);
}

TEST_P(PostgresCollidesWith, ASettlementThatCollidesIsRepeatedAndItsHandlerIsNot) {
    auto made = app();
    made->inbox("work").on("*", "t", [&](const Message&) { ++calls_; });
    collide("delete on waybill.open", GetParam(), 3);
    made->start();
    append_work();

    expect_done_without_a_failure(1);
    EXPECT_EQ(log_.count(Kind::settle_failed), 3U);
    EXPECT_EQ(tries(), 4);
}

TEST_P(PostgresCollidesWith, AnInlineRunThatCollidesRunsAgainAndHasItsEffectOnce) {
    schema_.change("create table waybill.effect (id integer)");
    auto made = app();
    made->inbox("work").on_inline("*", "t", [&](const Message&, Context& context, void* native) {
        ++calls_;
        attempt_ = static_cast<int>(context.attempt());
        const std::string insert =
            postgres::in_schema("insert into waybill.effect values (1)", schema_.name());
        PQclear(PQexec(static_cast<PGconn*>(native), insert.c_str()));
        return Outcome{Done{}};
    });
    // When the success is recorded.
    collide("update on waybill.open", GetParam(), 2);
    made->start();
    append_work();

    expect_done_without_a_failure(3);
    EXPECT_EQ(attempt_, 1);
    EXPECT_EQ(number("select count(*) from waybill.effect"), 1);
}

TEST_P(PostgresCollidesWith, AnInlineHandlerWhoseOwnStatementCollidesIsNotBlamedForIt) {
    auto made = app();
    const std::string collides =
        "do $$ begin raise exception 'as if' using errcode = '" + GetParam() + "'; end $$";
    made->inbox("work").on_inline("*", "t", [&](const Message&, Context& context, void* native) {
        attempt_ = static_cast<int>(context.attempt());
        if (++calls_ > 2) return Outcome{Done{}};
        auto* const connection = static_cast<PGconn*>(native);
        PQclear(PQexec(connection, collides.c_str()));
        PQclear(PQexec(connection, "select 1"));  // in a failed transaction
        if (calls_ == 1) throw std::runtime_error{PQerrorMessage(connection)};
        return Outcome{Fail{.reason = PQerrorMessage(connection)}};
    });
    made->start();
    append_work();

    expect_done_without_a_failure(3);
    EXPECT_EQ(attempt_, 1);
}

INSTANTIATE_TEST_SUITE_P(Sqlstates, PostgresCollidesWith, testing::Values("40001", "40P01"),
                         [](const auto& state) { return state.param; });

TEST_F(PostgresCollisions, AnAppendThatCollidesEveryTimeIsGivenUpAfterSomeTries) {
    auto made = app();
    made->inbox("work");
    collide("insert on waybill.message", "40P01", 1'000'000);

    EXPECT_EQ(reaction_of([&] { made->append(work()); }), Reaction::retry);

    EXPECT_LE(tries(), 15);
    EXPECT_EQ(stored(), 0);
}

TEST_F(PostgresCollisions, ATransactionOfTheStoreThatCollidesIsBegunAgainAFewTimes) {
    const BoxDeclaration box{"another", {.partitions = 1}};
    collide("insert on waybill.box", "40001", 9);

    EXPECT_EQ(reaction_of([&] { store_->declare({&box, 1}, {}); }), Reaction::retry);
    EXPECT_EQ(tries(), 5);

    EXPECT_NO_THROW(store_->declare({&box, 1}, {}));
    EXPECT_EQ(tries(), 10);
}

/// A real one: the handler has the first row and wants the second, a stranger the other way round.
TEST_F(PostgresCollisions, AnInlineHandlerThatIsTheVictimOfADeadlockIsNotBlamedForIt) {
    schema_.change(
        "create table waybill.rows (id integer, n integer);"
        "insert into waybill.rows values (1, 0), (2, 0)");
    const auto update = [&](int id) {
        return postgres::in_schema("update waybill.rows set n = n + 1 where id = ",
                                   schema_.name()) +
               std::to_string(id);
    };
    Gate gate;
    auto made = app();
    made->inbox("work").on_inline("*", "t", [&](const Message&, Context& context, void* native) {
        ++calls_;
        attempt_ = static_cast<int>(context.attempt());
        auto* const connection = static_cast<PGconn*>(native);
        PQclear(PQexec(connection, ("set local deadlock_timeout = '1ms';" + update(1)).c_str()));
        gate.pass();
        PGresult* const second = PQexec(connection, update(2).c_str());
        const bool is_done = PQresultStatus(second) == PGRES_COMMAND_OK;
        PQclear(second);
        if (!is_done) throw std::runtime_error{PQerrorMessage(connection)};
        return Outcome{Done{}};
    });
    auto other = stranger();
    other->script("set deadlock_timeout = '1h'; set lock_timeout = 0", "test");
    postgres::Transaction theirs{*other};
    other->script(update(2), "test");
    made->start();
    append_work();
    ASSERT_TRUE(gate.wait_for_arrivals(1));

    auto crossing = later_answer([&] {
        other->script(update(1), "test");
        theirs.commit();
    });
    wait_for_a_waiter();
    gate.open();
    crossing.get();

    expect_done_without_a_failure(2);
    EXPECT_EQ(attempt_, 1);
    EXPECT_EQ(number("select min(n) from waybill.rows"), 2);
}

TEST_F(PostgresCollisions, ASettlementThatWaitsForALockForTooLongIsRepeatedAndItsHandlerIsNot) {
    auto made = app(500ms);
    Gate gate;
    made->inbox("work").on("*", "t", [&](const Message&) {
        ++calls_;
        gate.pass();
    });
    made->start();
    append_work();
    ASSERT_TRUE(gate.wait_for_arrivals(1));

    auto other = stranger();
    postgres::Transaction theirs{*other};
    other->script(other->in_schema("select from waybill.open for update"), "test");
    gate.open();
    EXPECT_TRUE(log_.wait_for(Kind::settle_failed, 2, 60s));
    theirs.commit();

    expect_done_without_a_failure(1);
}

TEST_F(PostgresCollisions, ASettlementThatTakesTooLongIsRepeatedAndItsHandlerIsNot) {
    auto made = app(500ms);
    made->inbox("work").on("*", "t", [&](const Message&) { ++calls_; });
    upset("delete on waybill.open", "perform pg_sleep(300)", 2);
    made->start();
    append_work();

    expect_done_without_a_failure(1);
    EXPECT_GE(log_.count(Kind::settle_failed), 2U);
}

TEST_F(PostgresCollisions, AnAppendThatTakesTooLongIsNotStoredAndItsCallerIsTold) {
    auto made = app(2s);
    made->inbox("work");
    upset("insert on waybill.message", "perform pg_sleep(300)", 1'000'000);

    EXPECT_EQ(reaction_of([&] { made->append(work()); }), Reaction::retry);

    EXPECT_LE(tries(), 3);
    EXPECT_EQ(stored(), 0);
}

}  // namespace
}  // namespace waybill::test
