#include <atomic>
#include <optional>

#include "postgres/publish_fixture.hpp"
#include "support/background.hpp"
#include "support/gate.hpp"
#include "support/run_together.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;
using Record = InlineResult::Record;

/// A handler that books orders in a table of its own.
class PostgresInline : public PostgresPublishing {
protected:
    PostgresInline() {
        ask("drop table if exists public.bookings");
        ask("create table public.bookings (text text)");
        append({order(1), order(2)});
        mine_ = own(*store_);
        rows_ = scan(mine_).entries;
    }

    InlineRequest request(const Taken& owner, std::size_t row = 0) const {
        return {
            {owner.partition, owner.token}, rows_[row].sequence, rows_[row].message->id, "bill"};
    }
    InlineResult run(const InlineRequest& request, const std::string& statements) {
        return store_->run_inline(request, [&](void* native) -> Outcome {
            on(native, statements);
            return Done{};
        });
    }
    /// In the handler's transaction: the last answer's first column.
    static std::string on(void* native, const std::string& statements) {
        PGresult* const result = PQexec(static_cast<PGconn*>(native), statements.c_str());
        std::string text = PQresultErrorMessage(result);
        if (PQntuples(result) > 0) text = PQgetvalue(result, 0, 0);
        PQclear(result);
        return text;
    }
    /// What the next handler finds.
    std::string seen_by_the_next(const std::string& question) {
        std::string answer;
        store_->run_inline(request(mine_, 1), [&](void* native) -> Outcome {
            answer = on(native, question);
            return Fail{.reason = "it only looked"};
        });
        return answer;
    }
    std::string bookings() { return ask("select count(*) from public.bookings"); }
    /// Somebody else after the owner's lease has ended.
    Taken taken_over(postgres::PostgresStore& store) {
        schema_.advance(1h);
        return own(store, 2);
    }

    static constexpr const char* kBook = "insert into public.bookings values ('x')";
    Taken mine_{};
    std::vector<Entry> rows_{};
};

TEST_F(PostgresInline, AnOwnerWhosePartitionMovedWhileItRanCommitsNothing) {
    Gate gate;
    InlineResult stale;
    Background first{[&](const std::stop_token&) {
        stale = store_->run_inline(request(mine_), [&](void* native) -> Outcome {
            on(native, kBook);
            gate.pass();
            return Done{};
        });
    }};
    gate.wait_for_arrivals(1);
    auto other = schema_.connect();
    const Taken theirs = taken_over(*other);
    const InlineResult heir = other->run_inline(request(theirs), [&](void* native) -> Outcome {
        on(native, kBook);
        return Done{};
    });
    gate.open();
    first.join();

    EXPECT_EQ(heir.record, Record::recorded);
    EXPECT_EQ(stale.record, Record::lost);
    EXPECT_EQ(bookings(), "1");
}

TEST_F(PostgresInline, AnOwnerThatIsCommittingIsWaitedForAndItsEffectIsTheOnlyOne) {
    // Its COMMIT takes as long as we want: a deferred trigger waits for our lock.
    ask("create or replace function public.stand() returns trigger language plpgsql as "
        "'begin perform pg_advisory_xact_lock(4711); return null; end'");
    ask("create constraint trigger stand after insert on public.bookings deferrable initially "
        "deferred for each row execute function public.stand()");
    ask("select pg_advisory_lock(4711)");
    InlineResult first_result;
    Background first{[&](const std::stop_token&) { first_result = run(request(mine_), kBook); }};
    wait_for_a_waiter();

    auto other = schema_.connect();
    std::optional<Taken> theirs;
    Background second{[&](const std::stop_token&) {
        // Refused or kept waiting while the record is locked.
        schema_.advance(1h);
        InstanceState state{.name = "host", .boxes = {"orders"}};
        state.incarnation.bytes[0] = 2;
        while (!theirs) {
            const PartitionState seen = other->beat(state).partitions.at(0);
            const TakeRequest wanted{seen.id, seen.token};
            const auto taken = other->take(state.incarnation, {&wanted, 1});
            if (!taken.empty()) theirs = taken[0];
        }
    }};
    ask("select pg_advisory_unlock(4711)");
    first.join();
    second.join();
    const InlineResult heir = other->run_inline(request(*theirs), [&](void* native) -> Outcome {
        on(native, kBook);
        return Done{};
    });

    EXPECT_EQ(first_result.record, Record::recorded);
    EXPECT_EQ(heir.record, Record::already);
    EXPECT_EQ(bookings(), "1");
}

TEST_F(PostgresInline, OfConcurrentRunsOfOneDeliveryOneHasItsEffect) {
    std::atomic<int> recorded = 0;

    run_together(
        4, [&](int) { recorded += run(request(mine_), kBook).record == Record::recorded ? 1 : 0; });

    EXPECT_EQ(recorded, 1);
    EXPECT_EQ(bookings(), "1");
}

TEST_F(PostgresInline, AHandlerThatEndsItsTransactionIsToldNotTo) {
    for (const char* ending :
         {"commit", "rollback", "commit; begin", "rollback; begin", "commit and chain"}) {
        try {
            run(request(mine_), ending);
            ADD_FAILURE() << ending;
        } catch (const StoreError& error) {
            EXPECT_EQ(error.reaction(), Reaction::bad_data);
            EXPECT_THAT(error.what(), HasSubstr("ended the transaction")) << ending;
        }
    }
    EXPECT_TRUE(scan(mine_).entries[0].progress.empty());
}

TEST_F(PostgresInline, SettingsOfAHandlerDoNotReachTheNext) {
    const std::string before = seen_by_the_next("show timezone");
    EXPECT_EQ(run(request(mine_),
                  "set timezone = 'Asia/Tokyo'; set app.tenant = 'acme';"
                  "set lock_timeout = '7ms'; set synchronous_commit = off")
                  .record,
              Record::recorded);

    EXPECT_EQ(seen_by_the_next("show timezone"), before);
    EXPECT_EQ(seen_by_the_next("select coalesce(current_setting('app.tenant', true), '')"), "");
    EXPECT_EQ(seen_by_the_next("show lock_timeout"), "0");
    EXPECT_EQ(seen_by_the_next("show synchronous_commit"), "on");
    EXPECT_EQ(seen_by_the_next("show client_encoding"), "UTF8");
}

TEST_F(PostgresInline, ARoleOfAHandlerNeitherReachesTheNextNorHindersTheRecord) {
    const std::string role = "tenant_" + schema_.name();
    schema_.change("create role " + role + "; grant insert on public.bookings to " + role);

    for (const std::string set : {"set role ", "set local role ", "set session authorization "}) {
        ask("update waybill.open set progress = null");
        EXPECT_EQ(run(request(mine_), set + role + ";" + kBook).record, Record::recorded) << set;
        EXPECT_EQ(seen_by_the_next("select current_user"), "waybill");
    }
    EXPECT_EQ(bookings(), "3");
    ask("drop table public.bookings");
    ask("drop role " + role);
}

TEST_F(PostgresInline, WhatAHandlerLeavesInItsSessionIsGone) {
    EXPECT_EQ(run(request(mine_),
                  "create temporary table scratch (a int);"
                  "prepare mine as select 1; listen gossip;"
                  "declare held cursor with hold for select 1;"
                  "select pg_advisory_lock(4712)")
                  .record,
              Record::recorded);

    EXPECT_EQ(seen_by_the_next("select count(*) from pg_class where relname = 'scratch'"), "0");
    EXPECT_EQ(seen_by_the_next("select count(*) from pg_prepared_statements"), "0");
    EXPECT_EQ(seen_by_the_next("select count(*) from pg_listening_channels()"), "0");
    EXPECT_EQ(seen_by_the_next("select count(*) from pg_cursors where is_holdable"), "0");
    EXPECT_EQ(ask("select pg_try_advisory_lock(4712)"), "t");
}

TEST_F(PostgresInline, AHandlerThatDropsPreparedStatementsHindersNobody) {
    EXPECT_EQ(run(request(mine_), "deallocate all").record, Record::recorded);
    EXPECT_EQ(run(request(mine_, 1), "discard plans").record, Record::recorded);
}

TEST_F(PostgresInline, AConnectionThatAHandlerRuinedIsReplaced) {
    EXPECT_THROW(store_->run_inline(request(mine_),
                                    [&](void* native) -> Outcome {
                                        PQsendQuery(static_cast<PGconn*>(native), "select 1");
                                        return Done{};
                                    }),
                 StoreError);

    EXPECT_EQ(run(request(mine_), kBook).record, Record::recorded);
    EXPECT_EQ(bookings(), "1");
}

}  // namespace
}  // namespace waybill::test
