#include <algorithm>
#include <limits>

#include "postgres/fixture.hpp"

/// A sequence is drawn before its transaction commits. Nothing that commits is skipped for that.
namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Who asked for what is open walked over all that was done, and was cut off by the deadline.
class PostgresListing : public Postgres {
protected:
    static constexpr int kDone = 10'000;

    PostgresListing() {
        append({order(1), order(2)});
        db_->script(
            db_->in_schema(
                "insert into waybill.message select m.sequence + 100 + n, gen_random_uuid(), "
                "m.partition, "
                "m.appended_at, 0, 0, m.type, '', '', '', '', '', '', '', '', 0, null, m.body "
                "from (select * from waybill.message order by sequence limit 1) m, "
                "generate_series(1, " +
                std::to_string(kDone) +
                ") n;"
                "analyze waybill.message; analyze waybill.open; analyze waybill.dead;"
                "set plan_cache_mode = force_generic_plan"),
            "test");
    }
    /// How the first page of a listing is found.
    std::string plan_of(const postgres::sql::Query& query, std::int64_t from, Filter::State state) {
        db_->script("deallocate all", "test");
        db_->script("prepare listing as " + db_->in_schema(query.text), "test");
        postgres::Rows rows =
            db_->script("explain (analyze, timing off) execute listing(" + std::to_string(from) +
                            ", 0, 9000000000000000000, '', '%', '%', '%', " +
                            std::to_string(static_cast<int>(state)) + "::smallint, '', '', 20)",
                        "test");
        std::string plan;
        while (rows.next()) plan += rows.string(0) + "\n";
        return plan;
    }

    std::unique_ptr<postgres::Database> db_ = stranger();
};

TEST_F(PostgresListing, LooksAtAPageAndNotAtAllThatIsStored) {
    using enum Filter::State;
    constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();
    namespace sql = postgres::sql;
    const auto walks = testing::ContainsRegex("actual rows=[0-9]{3}");

    for (const std::string& plan :
         {plan_of(sql::browse, kNewest, any), plan_of(sql::browse, kNewest, done),
          plan_of(sql::browse_oldest, 0, any), plan_of(sql::browse_unfinished, kNewest, open),
          plan_of(sql::browse_unfinished, kNewest, dead),
          plan_of(sql::browse_unfinished_oldest, 0, parked)}) {
        EXPECT_THAT(plan, testing::Not(walks)) << plan;
    }
    EXPECT_EQ(store_->count({.state = open}), 2U);
    EXPECT_EQ(store_->count({}), kDone + 2U);
    EXPECT_EQ(store_->browse({.state = open}, "", 10).items.size(), 2U);
    EXPECT_EQ(store_->browse({}, "", 10).items.size(), 10U);
}

TEST_F(Postgres, AMessageWhoseTransactionCommitsLateIsNotSkipped) {
    const Taken taken = own(*store_);
    Position position = increment(taken, "").position;
    auto db = stranger();
    postgres::Transaction late{*db};
    append_on(*db, order(1));
    append({order(2)});

    const ReadPage before = increment(taken, position);
    const ReadPage nothing = increment(taken, before.position);
    late.commit();
    const ReadPage after = increment(taken, nothing.position);

    EXPECT_THAT(bodies(before), ElementsAre("order 2"));
    EXPECT_THAT(bodies(nothing), IsEmpty());
    EXPECT_THAT(bodies(after), ElementsAre("order 1"));
    EXPECT_THAT(bodies(increment(taken, after.position)), IsEmpty());
}

TEST_F(Postgres, AMessageThatCommitsBetweenTwoPagesIsNotSkipped) {
    const Taken taken = own(*store_);
    const Position start = increment(taken, "").position;
    auto db = stranger();
    postgres::Transaction late{*db};
    append_on(*db, order(1));
    append({order(2), order(3), order(4)});

    const ReadPage first = increment(taken, start, 2);
    late.commit();
    const ReadPage second = increment(taken, first.position, 2);
    const ReadPage third = increment(taken, second.position, 2);

    EXPECT_THAT(bodies(first), ElementsAre("order 2", "order 3"));
    EXPECT_TRUE(first.more);
    EXPECT_THAT(bodies(second), ElementsAre("order 4"));
    EXPECT_THAT(bodies(third), ElementsAre("order 1"));
}

/// Without it increments could leave nothing out, and nobody would notice but by the time it takes.
TEST_F(Postgres, AnAppendSaysWhichTransactionWroteItsRowsWithAndWithoutDedupKeys) {
    const std::vector<AppendResult> plain = append({order(1), order(2)});
    const std::vector<AppendResult> keyed = append({order(3, "a"), order(4, "b")});

    EXPECT_NE(plain[0].transaction, 0U);
    EXPECT_EQ(plain[1].transaction, plain[0].transaction);
    EXPECT_GT(keyed[0].transaction, plain[0].transaction);
    EXPECT_EQ(keyed[1].transaction, keyed[0].transaction);
}

TEST_F(Postgres, AMessageOfASavepointIsReadWithItsTransaction) {
    const Taken taken = own(*store_);
    const Position start = increment(taken, "").position;
    auto db = stranger();
    {
        postgres::Transaction transaction{*db};
        append_on(*db, order(1));
        db->script("savepoint a", "test");
        append_on(*db, order(2));
        db->script("release a; savepoint b", "test");
        append_on(*db, order(3));
        db->script("rollback to b", "test");
        transaction.commit();
    }

    EXPECT_THAT(bodies(increment(taken, start)), ElementsAre("order 1", "order 2"));
}

TEST_F(Postgres, ATransactionThatIsRolledBackLeavesNothing) {
    const Taken taken = own(*store_);
    const Position start = increment(taken, "").position;
    auto db = stranger();
    {
        const postgres::Transaction transaction{*db};
        append_on(*db, order(1, "k"));
    }

    EXPECT_THAT(bodies(increment(taken, start)), IsEmpty());
    EXPECT_EQ(append({order(2, "k")})[0].status, AppendResult::Status::fresh);
}

/// A dump that is restored elsewhere keeps stamps of transactions that are yet to come there.
TEST_F(Postgres, RowsStampedInTheFutureAreFoundByAScanAndNotByEveryIncrement) {
    append({order(1)});
    schema_.run("update waybill.open set xact = '9000000000000'");
    const Taken taken = own(*store_);
    const Position start = increment(taken, "").position;

    const ReadPage page = increment(taken, start);

    EXPECT_THAT(bodies(page), IsEmpty());
    EXPECT_THAT(bodies(scan(taken)), ElementsAre("order 1"));
}

TEST_F(Postgres, APositionThatTheDatabaseHasNotReachedYetMeansToReadAnew) {
    const Taken taken = own(*store_);

    EXPECT_TRUE(increment(taken, "9000000000000:9000000000000:").reconnected);
    EXPECT_FALSE(increment(taken, increment(taken, "").position).reconnected);
}

TEST_F(Postgres, AReaderWhoseConnectionWasLostSaysSo) {
    const Taken taken = own(*store_);
    const Position start = increment(taken, "").position;
    append({order(1)});
    schema_.run(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where pid <> pg_backend_pid() and backend_type = 'client backend'");

    ReadPage page;
    try {
        page = increment(taken, start);
    } catch (const StoreError& error) {
        EXPECT_EQ(error.reaction(), Reaction::reconnect);
        page = increment(taken, start);
    }

    EXPECT_TRUE(page.reconnected);
    EXPECT_THAT(bodies(page), ElementsAre("order 1"));
    EXPECT_FALSE(increment(taken, page.position).reconnected);
}

TEST_F(Postgres, AnIncrementOfManyPagesIsCompleteAndInOrderHoweverUnevenThePartitionsAre) {
    const BoxDeclaration box{"many", {.partitions = 4}};
    store_->declare({&box, 1}, {});
    InstanceState state{.name = "host", .boxes = {"many"}};
    state.incarnation.bytes[0] = 1;
    std::vector<TakeRequest> wanted;
    for (const PartitionState& seen : store_->beat(state).partitions) {
        wanted.push_back({seen.id, seen.token});
    }
    ReadRequest request{.rows_max = 5};
    for (const Taken& taken : store_->take(state.incarnation, wanted)) {
        request.partitions.push_back(taken.partition);
    }
    request.position = store_->read(request).position;
    std::vector<Append> batch;
    for (int i = 0; i < 200; ++i) {
        Message message = *order(i).message;
        message.box = "many";
        // Three quarters in one of them.
        message.lane = i % 4 != 0 ? "long" : std::to_string(i);
        batch.push_back({.message = std::make_shared<const Message>(std::move(message))});
    }
    append(batch);

    std::vector<Sequence> read;
    for (bool more = true; more;) {
        const ReadPage page = store_->read(request);
        for (const Entry& entry : page.entries) read.push_back(entry.sequence);
        request.position = page.position;
        more = page.more;
    }

    EXPECT_EQ(read.size(), 200U);
    EXPECT_TRUE(std::ranges::is_sorted(read));
}

}  // namespace
}  // namespace waybill::test
