#include "low_water.hpp"
#include "postgres/fixture.hpp"
#include "support/later.hpp"
#include "support/manual_clock.hpp"
#include "support/pacing.hpp"
#include "support/postgres_proxy.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kDay = 24h;

/// A box that keeps what is done for two days, and dead letters for ever.
class PostgresDays : public Postgres {
protected:
    PostgresDays() {
        // The tables that this makes are nobody else's.
        schema_.change("select 1");
        sweep();
        taken_ = own(*store_);
    }

    Swept sweep() { return sweep_on(*store_); }
    Swept sweep_on(postgres::PostgresStore& store) const {
        Swept all;
        for (bool more = true; more;) {
            const Swept swept = store.sweep({&box_, 1}, 100);
            all.messages += swept.messages;
            all.attempts += swept.attempts;
            more = swept.more;
        }
        return all;
    }
    void advance(Duration by) {
        schema_.advance(by);
        now_ += by;
    }
    /// Its id is of this moment.
    Append order_now(int number) const {
        Message message = *order(number).message;
        const auto ms = static_cast<std::uint64_t>(now_.time_since_epoch() / 1ms);
        for (int i = 0; i < 6; ++i) {
            message.id.bytes[static_cast<std::size_t>(i)] =
                static_cast<std::uint8_t>(ms >> (40 - 8 * i));
        }
        return {.message = std::make_shared<const Message>(std::move(message))};
    }
    void finish_all() {
        for (const Entry& entry : scan(taken_).entries) store_->settle(finish(taken_, entry));
    }
    std::string ask(const std::string& statement) const {
        auto db = stranger();
        postgres::Rows rows = db->script(db->in_schema(statement), "test");
        return rows.next() ? rows.string(0) : "";
    }
    /// "message_20261116", of the moment now.
    std::string table_of_today() const {
        const auto day = now_.time_since_epoch() / 24h;
        return ask("select 'message_' || waybill.day_name(" + std::to_string(day) + ")");
    }
    /// So many messages of today that nobody ever sweeps, as if they had been handled.
    void put_messages_to_keep(int count) {
        const BoxDeclaration kept{"mails", {.partitions = 1}};
        store_->declare({&kept, 1}, {});
        const std::string now = std::to_string(now_.time_since_epoch().count());
        schema_.run(
            "with mails as (select b.id as box, p.id as partition from waybill.box b "
            "join waybill.partition p on p.box = b.id where b.name = 'mails'), fresh as ("
            "insert into waybill.message (sequence, id, partition, appended_at, occurred_at, "
            "not_before, type, source, content_type, tenant, user_id, correlation_id, lane, "
            "dedup_key, collapse_key, body) "
            "select nextval('waybill.sequence'), waybill.first_id(" +
            now + " + i * 1000), partition, " + now + ", " + now +
            ", 0, 'sent', '', '', '', '', '', '', '', '', convert_to(repeat('x', 400), 'UTF8') "
            "from mails, generate_series(1, " +
            std::to_string(count) +
            ") i returning id) "
            "insert into waybill.finished (id, at, box, held) "
            "select fresh.id, 1, box, false from fresh, mails");
    }
    bool has_table(const std::string& name) const {
        return ask("select to_regclass('waybill." + name + "') is not null") == "t";
    }
    std::string table_of(int number) const {
        return ask(
            "select c.relname from waybill.message m join pg_class c on c.oid = m.tableoid "
            "where m.body = 'order " +
            std::to_string(number) + "'");
    }

    const BoxDeclaration box_{"orders", {.keep_done = 2 * kDay}};
    StoreTime now_ = ManualClock{}.wall();
    Taken taken_{};
};

TEST_F(PostgresDays, TablesAreMadeAheadAndTheyAreMadeOnce) {
    const std::string count =
        "select count(*) from pg_inherits "
        "where inhparent = 'waybill.message'::regclass";
    const std::string today = table_of_today();
    const std::string before = ask(count);
    EXPECT_TRUE(has_table(today));

    sweep();
    EXPECT_EQ(ask(count), before);

    now_ += 14 * kDay;
    EXPECT_TRUE(has_table(table_of_today()));
    now_ += kDay;
    EXPECT_FALSE(has_table(table_of_today()));
    schema_.advance(kDay);
    sweep();
    EXPECT_TRUE(has_table(table_of_today()));
}

TEST_F(PostgresDays, AMessageIsInTheTableOfItsDayAndOthersInTheTableForTheRest) {
    append({order_now(1), order(2)});
    now_ += 100 * kDay;
    append({order_now(3)});

    EXPECT_EQ(table_of(2), "message_other") << "not a UUIDv7";
    EXPECT_EQ(table_of(3), "message_other") << "nobody has made this day";
    now_ -= 100 * kDay;
    EXPECT_EQ(table_of(1), table_of_today());
    EXPECT_THAT(bodies(scan(taken_)), ElementsAre("order 1", "order 2", "order 3"));
}

TEST_F(PostgresDays, AnIdIsUniqueInAllTables) {
    const Append item = order_now(1);
    append({item, order(2)});

    using enum AppendResult::Status;
    EXPECT_EQ(append({item}).at(0).status, duplicate);
    EXPECT_EQ(append({order(2)}).at(0).status, duplicate);
}

TEST_F(PostgresDays, ADayIsDroppedWhenNothingInItIsKeptAnyMore) {
    const std::string today = table_of_today();
    append({order_now(1), order_now(2), order_now(3)});
    finish_all();

    advance(2 * kDay - 1h);
    EXPECT_EQ(sweep().messages, 0U);
    EXPECT_TRUE(has_table(today));
    advance(kDay + 1h);
    EXPECT_EQ(sweep().messages, 3U);

    EXPECT_FALSE(has_table(today));
    EXPECT_EQ(ask("select count(*) from waybill.message"), "0");
    EXPECT_EQ(ask("select count(*) from waybill.finished"), "0");
}

TEST_F(PostgresDays, WhatIsOpenOrDeadOrFinishedLatelySurvivesTheDropOfItsDay) {
    const std::string today = table_of_today();
    append({order_now(1), order_now(2), order_now(3), order_now(4)});
    const std::vector<Entry> rows = scan(taken_).entries;
    store_->settle(finish(taken_, rows.at(0)));
    SettleBatch died = finish(taken_, rows.at(1));
    died.items[0].dead = {{.message = rows[1].message->id,
                           .sequence = rows[1].sequence,
                           .target = "books",
                           .at = now_}};
    store_->settle(died);
    advance(2 * kDay);
    store_->settle(finish(taken_, rows.at(2)));

    advance(kDay);
    EXPECT_EQ(sweep().messages, 1U) << "the first one";
    EXPECT_FALSE(has_table(today));
    EXPECT_EQ(table_of(2), "message_other");
    EXPECT_THAT(bodies(scan(taken_)), ElementsAre("order 4"));
    EXPECT_EQ(store_->dead_letters({}, "", 10).items.at(0).message->body, "order 2");
    EXPECT_TRUE(store_->get(rows[2].message->id).has_value()) << "finished a day ago";

    finish_all();
    advance(4 * kDay);
    EXPECT_EQ(sweep().messages, 2U) << "now from the table for the rest, row by row";
    EXPECT_EQ(ask("select count(*) from waybill.message"), "1") << "the dead one";
}

TEST_F(PostgresDays, ADayOfABoxThatKeepsForEverStays) {
    const BoxDeclaration other{"mails", {.partitions = 1}};
    store_->declare({&other, 1}, {});
    // More than are moved.
    schema_.run("insert into waybill.finished (id, at, box, held) select waybill.first_id(" +
                std::to_string(now_.time_since_epoch().count()) +
                " + i * 1000), 1, b.id, false from waybill.box b, generate_series(1, 10001) i "
                "where b.name = 'mails'");
    append({order_now(1)});
    finish_all();

    const std::string today = table_of_today();
    advance(4 * kDay);
    EXPECT_EQ(sweep().messages, 1U) << "row by row";

    EXPECT_TRUE(has_table(today));
    EXPECT_EQ(ask("select count(*) from waybill.finished"), "10001");
}

TEST_F(PostgresDays, ADropGivesWayToATransactionThatHasPublishedAndAppendsGoOn) {
    const std::string today = table_of_today();
    append({order_now(1)});
    finish_all();
    advance(4 * kDay);
    auto publisher = stranger();
    {
        postgres::Transaction transaction{*publisher};
        append_on(*publisher, order_now(2));

        EXPECT_EQ(sweep().messages, 0U);
        append({order_now(3)});
        EXPECT_TRUE(has_table(today));
        transaction.commit();
    }

    EXPECT_EQ(sweep().messages, 1U);
    EXPECT_FALSE(has_table(today));
}

TEST_F(PostgresDays, ADropGivesWayToAReaderAndNoAppendIsHeldUpBehindTheTwo) {
    const std::string today = table_of_today();
    append({order_now(1)});
    finish_all();
    advance(4 * kDay);
    auto reader = stranger();
    postgres::Transaction reading{*reader};
    reader->script(reader->in_schema("select count(*) from waybill.message"), "test");
    // Whoever waited for a lock longer than two fifths of this would not be stored.
    postgres::Options options = schema_.options();
    options.deadline = 2s;
    const auto hasty = postgres::open(PostgresServer::instance().conninfo(), options);
    constexpr int kSweeps = 5;
    auto sweeps = later_answer([&] {
        std::uint64_t swept = 0;
        for (int i = 0; i < kSweeps; ++i) swept += sweep().messages;
        return swept;
    });
    int appended = 1;
    do {
        hasty->append(std::vector{order_now(++appended % 250)});
    } while (sweeps.wait_for(0s) != std::future_status::ready);

    EXPECT_EQ(sweeps.get(), 0U);
    EXPECT_TRUE(has_table(today));
    reading.commit();
    EXPECT_EQ(sweep().messages, 1U);
    EXPECT_FALSE(has_table(today));
}

TEST_F(PostgresDays, ADropThatWouldKeepOthersWaitingIsGivenUpAndItsDayIsSweptRowByRow) {
    const std::string today = table_of_today();
    append({order_now(1), order_now(2)});
    finish_all();
    advance(4 * kDay);
    // Slow only where others wait for it.
    schema_.change(
        "alter function waybill.survivors rename to quick_survivors;"
        "create function waybill.survivors(day text, boxes integer[], cuts bigint[], rows_max "
        "bigint) returns uuid[] language plpgsql as $$ begin "
        "perform pg_sleep(300) from pg_locks where pid = pg_backend_pid() and "
        "mode = 'AccessExclusiveLock' and relation = 'waybill.message'::regclass;"
        "return waybill.quick_survivors(day, boxes, cuts, rows_max); end $$");
    postgres::Options options = schema_.options();
    options.deadline = 1s;
    const auto hasty = postgres::open(PostgresServer::instance().conninfo(), options);

    EXPECT_EQ(sweep_on(*hasty).messages, 2U);

    EXPECT_TRUE(has_table(today));
    EXPECT_EQ(ask("select count(*) from waybill.message"), "0");
    // The next one that is quick enough.
    schema_.change(
        "drop function waybill.survivors;"
        "alter function waybill.quick_survivors rename to survivors");
    sweep();
    EXPECT_FALSE(has_table(today));
}

/// The lock that everybody waits for is held by a transaction whose COMMIT never comes.
TEST_F(PostgresDays, ADropWhoseSweeperFreezesBeforeItsCommitLetsAppendsGoOnWithinSeconds) {
    const std::string today = table_of_today();
    append({order_now(1)});
    finish_all();
    advance(4 * kDay);
    PostgresProxy proxy{PostgresServer::instance().cluster().socket_folder()};
    const auto frozen = postgres::open(proxy.conninfo("postgres"), schema_.options());
    proxy.withhold("waybill_drop_day");
    auto sweeping = later_answer([&] {
        return reaction_of([&] { frozen->sweep({&box_, 1}, 100); });
    });
    ASSERT_TRUE(look_until([&] { return proxy.has_withheld(); }, 60s));

    const auto begin = steady_now();
    append({order_now(2)});

    EXPECT_LT(steady_now() - begin, 10s);
    EXPECT_EQ(sweeping.get(), Reaction::reconnect);
    EXPECT_TRUE(has_table(today)) << "as if it had never begun";
    EXPECT_EQ(sweep().messages, 1U);
    EXPECT_FALSE(has_table(today));
}

TEST_F(PostgresDays, ADropWithAsManySurvivorsAsMayBeKeepsAppendsWaitingForAMomentOnly) {
    constexpr int kSurvivorsMax = 10'000;
    const std::string today = table_of_today();
    put_messages_to_keep(kSurvivorsMax);
    append({order_now(1)});
    finish_all();
    advance(4 * kDay);

    auto swept = later_answer([&] { return sweep().messages; });
    std::chrono::duration<double> longest{};
    int appended = 1;
    do {
        const auto begin = steady_now();
        append({order_now(++appended % 250)});
        longest = std::max<std::chrono::duration<double>>(longest, steady_now() - begin);
    } while (swept.wait_for(0s) != std::future_status::ready);

    EXPECT_EQ(swept.get(), 1U);
    EXPECT_FALSE(has_table(today));
    EXPECT_EQ(ask("select count(*) from waybill.message_other where type = 'sent'"),
              std::to_string(kSurvivorsMax));
    // On a quiet machine it is 0.07 s: see ADR 0011.
    EXPECT_LT(longest, 5s);
    RecordProperty("longest_ms", static_cast<int>(longest.count() * 1000));
}

TEST_F(PostgresDays, AppendsAndSettlementsGoOnWhileDaysAreDroppedByTwo) {
    constexpr int kDays = 6;
    for (int day = 0; day < kDays; ++day) {
        append({order_now(day)});
        advance(kDay);
    }
    finish_all();
    advance(3 * kDay);
    const auto other = schema_.connect();
    auto one = later_answer([&] { return sweep().messages; });
    auto two = later_answer([&] { return sweep_on(*other).messages; });
    int appended = 0;
    do {
        append({order_now(++appended % 250)});
        finish_all();
    } while (one.wait_for(0s) != std::future_status::ready ||
             two.wait_for(0s) != std::future_status::ready);

    std::uint64_t swept = one.get() + two.get();
    swept += sweep().messages;
    EXPECT_EQ(swept, static_cast<std::uint64_t>(kDays)) << "those of today are kept";
    EXPECT_THAT(bodies(scan(taken_)), IsEmpty());
}

class PostgresLowWater : public Postgres {
protected:
    PostgresLowWater() { taken_ = own(*store_); }
    ~PostgresLowWater() override { schema_.change("select 1"); }

    void set_mark(Sequence through, int rows_max = 1000) {
        postgres::Ints partitions;
        partitions.add(taken_.partition);
        stranger()->write(postgres::sql::move_low_water, partitions, through, rows_max);
    }
    Sequence mark() const {
        auto db = stranger();
        postgres::Rows rows = db->script(
            db->in_schema("select coalesce(max(through), 0) from waybill.low_water"), "test");
        rows.next();
        return std::stoll(rows.string(0));
    }
    /// As an engine that reads every few seconds.
    void look(postgres::Database& db) {
        for (int i = 0; i < 4; ++i) low_water_.move(db, {taken_.partition}, 1, now_ += 10s);
    }

    Taken taken_{};
    postgres::LowWater low_water_{};
    LocalTime now_{};
};

TEST_F(PostgresLowWater, AScanFindsWhatIsStillOpenBelowTheMarkAndAllAboveIt) {
    append({order(1), order(2), order(3)});
    std::vector<Entry> rows = scan(taken_).entries;
    store_->settle(finish(taken_, rows.at(1)));
    set_mark(rows.at(2).sequence);
    append({order(4)});

    EXPECT_THAT(bodies(scan(taken_)), ElementsAre("order 1", "order 3", "order 4"));
    store_->settle(finish(taken_, rows.at(2)));
    EXPECT_THAT(bodies(scan(taken_)), ElementsAre("order 1", "order 4"));
    const ReadPage rest = store_->read({.kind = ReadRequest::Kind::scan,
                                        .partition = taken_.partition,
                                        .after = rows.at(0).sequence});
    EXPECT_THAT(bodies(rest), ElementsAre("order 4"));
}

TEST_F(PostgresLowWater, AParkedRowBelowTheMarkIsFoundWhenItIsReadyAgain) {
    append({order(1), order(2)});
    const Entry row = scan(taken_).entries.at(0);
    SettleBatch park{.fences = {{taken_.partition, taken_.token}},
                     .items = {{.partition = row.partition,
                                .sequence = row.sequence,
                                .message = row.message->id,
                                .parked = true}}};
    store_->settle(park);
    set_mark(row.sequence + 1);

    EXPECT_THAT(
        bodies(store_->read({.kind = ReadRequest::Kind::parked, .partition = taken_.partition})),
        ElementsAre("order 1"));
    park.items[0].parked = false;
    store_->settle(park);
    EXPECT_THAT(bodies(scan(taken_)), ElementsAre("order 1", "order 2"));
}

TEST_F(PostgresLowWater, TheMarkStopsWhereTooManyAreOpen) {
    append({order(1), order(2), order(3)});
    const std::vector<Entry> rows = scan(taken_).entries;

    set_mark(rows.at(2).sequence, 2);
    EXPECT_EQ(mark(), rows.at(1).sequence);
    store_->settle(finish(taken_, rows.at(0)));
    set_mark(rows.at(2).sequence, 2);
    EXPECT_EQ(mark(), rows.at(2).sequence);

    EXPECT_THAT(bodies(scan(taken_)), ElementsAre("order 2", "order 3"));
}

TEST_F(PostgresLowWater, ItNeverPassesATransactionThatHasDrawnASequence) {
    auto db = stranger();
    auto slow = stranger();
    append({order(1)});
    postgres::Transaction transaction{*slow};
    append_on(*slow, order(2));
    schema_.run("select setval('waybill.sequence', nextval('waybill.sequence') + 20000)");
    append({order(3)});

    look(*db);
    EXPECT_EQ(mark(), 0) << "the second one may still appear";
    transaction.commit();
    look(*db);
    EXPECT_GT(mark(), 20'000);

    EXPECT_THAT(bodies(scan(taken_)), ElementsAre("order 1", "order 2", "order 3"));
}

/// Nobody who began after it has ended: then no snapshot names it.
TEST_F(PostgresLowWater, ItDoesNotPassTheNewestOfAllTransactionsEither) {
    auto db = stranger();
    auto slow = stranger();
    schema_.run("select setval('waybill.sequence', nextval('waybill.sequence') + 20000)");
    postgres::Transaction transaction{*slow};
    append_on(*slow, order(1));

    look(*db);
    EXPECT_EQ(mark(), 0) << "it may still appear";
    transaction.commit();
    look(*db);
    EXPECT_GT(mark(), 20'000);

    EXPECT_THAT(bodies(scan(taken_)), ElementsAre("order 1"));
}

TEST_F(PostgresLowWater, AfterAReconnectNothingIsKnown) {
    auto db = stranger();
    schema_.run("select setval('waybill.sequence', nextval('waybill.sequence') + 20000)");
    low_water_.move(*db, {taken_.partition}, 1, now_ += 10s);
    low_water_.move(*db, {taken_.partition}, 1, now_ += 10s);

    // Another server, whose sequence is far behind.
    low_water_.move(*db, {taken_.partition}, 2, now_ += 10s);

    EXPECT_EQ(mark(), 0);
}

}  // namespace
}  // namespace waybill::test
