#include "waybill/postgres/guard.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <stdexcept>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "postgres/publish_fixture.hpp"
#include "support/background.hpp"
#include "support/gate.hpp"
#include "support/run_together.hpp"
#include "waybill/postgres/guard_pqxx.hpp"
#include "waybill/postgres/guard_soci.hpp"

namespace waybill::test {
namespace {

using postgres::Guard;
using postgres::Guarded;
using postgres::WithoutKey;
using testing::HasSubstr;

/// A consumer that books orders in a table of its own.
class PostgresGuard : public PostgresPublishing {
protected:
    PostgresGuard() {
        ask("drop table if exists public.bookings");
        ask("create table public.bookings (text text)");
    }

    static Message order(int number, const std::string& type = "order.placed") {
        Message message = *Postgres::order(number).message;
        message.type = type;
        message.correlation_id = "order-42";
        return message;
    }
    static void book(PGconn* connection) {
        PGresult* const result = PQexec(connection, "insert into public.bookings values ('x')");
        ASSERT_EQ(PQresultStatus(result), PGRES_COMMAND_OK);
        PQclear(result);
    }
    static void book_and_throw(PGconn* connection) {
        book(connection);
        throw std::runtime_error("no");
    }
    static std::string by_order(const Message& message) { return message.correlation_id; }
    postgres::GuardOptions options() const {
        return {.consumer = "billing", .busy_timeout = 5min, .schema = schema_.name()};
    }
    postgres::GuardOptions options_of(const std::string& consumer) const {
        postgres::GuardOptions changed = options();
        changed.consumer = consumer;
        return changed;
    }
    std::string bookings() { return ask("select count(*) from public.bookings"); }
    std::string marks() { return ask("select count(*) from waybill.dedup"); }
    template <class Body>
    static StoreError error_of(Body body) {
        try {
            body();
        } catch (const StoreError& error) {
            return error;
        }
        ADD_FAILURE() << "nothing was thrown";
        return {Reaction::give_up, ""};
    }

    PGconn* handle_ = own_->handle();
    Guard guard_{options()};
};

TEST_F(PostgresGuard, AMessageDeliveredTwiceHasItsEffectOnce) {
    EXPECT_EQ(guard_.run(handle_, order(1), book), Guarded::ran);
    EXPECT_EQ(guard_.run(handle_, order(1), book), Guarded::duplicate);

    EXPECT_EQ(bookings(), "1");
    EXPECT_EQ(marks(), "1");
    EXPECT_EQ(PQtransactionStatus(handle_), PQTRANS_IDLE);
}

TEST_F(PostgresGuard, AConsumerThatThrowsLeavesNeitherItsWritesNorItsMark) {
    EXPECT_THROW(guard_.run(handle_, order(1), book_and_throw), std::runtime_error);
    EXPECT_EQ(bookings(), "0");
    EXPECT_EQ(marks(), "0");

    EXPECT_EQ(guard_.run(handle_, order(1), book), Guarded::ran);
}

TEST_F(PostgresGuard, ConsumersTypesAndKeysAreKnownApart) {
    postgres::GuardOptions by_key = options_of("a");
    by_key.key = by_order;
    Guard first{by_key};
    by_key.consumer = "ab";
    Guard second{by_key};

    EXPECT_EQ(first.run(handle_, order(1, "bc"), book), Guarded::ran);
    EXPECT_EQ(second.run(handle_, order(1, "c"), book), Guarded::ran);
    EXPECT_EQ(first.run(handle_, order(1, "c"), book), Guarded::ran);
    EXPECT_EQ(first.run(handle_, order(2, "c"), book), Guarded::duplicate);
}

TEST_F(PostgresGuard, AMarkIsNoDedupRecordOfABox) {
    postgres::GuardOptions by_key = options_of("orders");
    by_key.key = [](const Message&) { return "k"; };
    Guard{by_key}.run(handle_, order(1), book);
    Message keyed = placed("x");
    keyed.dedup_key = "k";
    options_.outside_transaction = true;

    EXPECT_EQ(publish(keyed).status, Status::fresh);
}

TEST_F(PostgresGuard, AMessageWithoutAnyKeyIsRejectedUnlessAllowedAndIsCounted) {
    Message nameless = order(1);
    nameless.id = {};
    EXPECT_THROW(guard_.run(handle_, nameless, book), InvalidMessage);
    EXPECT_EQ(bookings(), "0");

    postgres::GuardOptions lenient_options = options();
    lenient_options.without_key = WithoutKey::allow;
    Guard lenient{lenient_options};
    EXPECT_EQ(lenient.run(handle_, nameless, book), Guarded::unguarded);
    EXPECT_EQ(lenient.run(handle_, nameless, book), Guarded::unguarded);
    EXPECT_EQ(bookings(), "2");
    EXPECT_EQ(marks(), "0");
    EXPECT_EQ(lenient.missing_keys(), 2U);
}

TEST_F(PostgresGuard, OfManyDeliveriesAtOnceOneRuns) {
    std::atomic<int> ran = 0;
    std::atomic<int> calls = 0;

    run_together(6, [&](int) {
        auto connection = stranger();
        const Guarded result = guard_.run(connection->handle(), order(1), [&](PGconn* db) {
            ++calls;
            book(db);
        });
        ran += result == Guarded::ran ? 1 : 0;
    });

    EXPECT_EQ(ran, 1);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(bookings(), "1");
}

TEST_F(PostgresGuard, WhoeverWaitedForAConsumerThatFailedRunsItself) {
    Gate gate;
    Background first{[&](const std::stop_token&) {
        auto connection = stranger();
        EXPECT_THROW(guard_.run(connection->handle(), order(1),
                                [&](PGconn* db) {
                                    gate.pass();
                                    book_and_throw(db);
                                }),
                     std::runtime_error);
    }};
    gate.wait_for_arrivals(1);
    Guarded result = Guarded::duplicate;
    Background second{
        [&](const std::stop_token&) { result = guard_.run(handle_, order(1), book); }};
    wait_for_a_waiter();
    gate.open();

    first.join();
    second.join();
    EXPECT_EQ(result, Guarded::ran);
    EXPECT_EQ(bookings(), "1");
}

TEST_F(PostgresGuard, ADeliveryThatTakesTooLongIsGivenUpAndNothingRuns) {
    auto other = stranger();
    const postgres::Transaction theirs{*other};
    guard_.run(other->handle(), order(1), book);
    postgres::GuardOptions hasty = options();
    hasty.busy_timeout = 20ms;
    bool was_called = false;
    std::string waits;

    EXPECT_EQ(reaction_of([&] {
                  Guard{hasty}.run(handle_, order(1), [&](PGconn*) { was_called = true; });
              }),
              Reaction::retry);

    EXPECT_FALSE(was_called);
    // What the consumer waits for is its own affair.
    Guard{hasty}.run(handle_, order(2), [&](PGconn*) { waits = ask("show lock_timeout"); });
    EXPECT_EQ(waits, ask("show lock_timeout"));
}

TEST_F(PostgresGuard, InTheCallersTransactionMarkAndWritesShareItsFate) {
    ask("begin");
    EXPECT_EQ(guard_.run(handle_, order(1), book), Guarded::ran);
    EXPECT_EQ(guard_.run(handle_, order(1), book), Guarded::duplicate);
    EXPECT_THROW(guard_.run(handle_, order(2), book_and_throw), std::runtime_error);
    EXPECT_EQ(bookings(), "1");
    ask("rollback");
    EXPECT_EQ(bookings(), "0");

    ask("begin");
    EXPECT_EQ(guard_.run(handle_, order(1), book), Guarded::ran);
    ask("savepoint mine");
    EXPECT_EQ(guard_.run(handle_, order(2), book), Guarded::ran);
    ask("rollback to mine");
    ask("commit");
    EXPECT_EQ(bookings(), "1");
    EXPECT_EQ(marks(), "1");
}

TEST_F(PostgresGuard, AMarkThatHasEndedCountsAsNoneAndIsSwept) {
    postgres::GuardOptions forgetful_options = options_of("mail");
    forgetful_options.keep = 1h;
    Guard forgetful{forgetful_options};
    guard_.run(handle_, order(1), book);
    forgetful.run(handle_, order(1), book);
    EXPECT_EQ(forgetful.run(handle_, order(1), book), Guarded::duplicate);

    schema_.advance(1h);
    EXPECT_EQ(forgetful.run(handle_, order(1), book), Guarded::ran);
    schema_.advance(1h);
    EXPECT_EQ(store_->sweep({}, 10).dedup_records, 1U);

    EXPECT_EQ(marks(), "1");
    EXPECT_EQ(guard_.run(handle_, order(1), book), Guarded::duplicate);
}

TEST_F(PostgresGuard, AConsumerThatEndsTheTransactionIsToldNotTo) {
    for (const char* ending : {"commit", "rollback", "commit; begin", "rollback; begin"}) {
        const StoreError error =
            error_of([&] { guard_.run(handle_, order(1), [&](PGconn*) { ask(ending); }); });
        EXPECT_THAT(error.what(), HasSubstr("remove its COMMIT")) << ending;
        EXPECT_EQ(PQtransactionStatus(handle_), PQTRANS_IDLE);
        ask("delete from waybill.dedup");
    }
}

TEST_F(PostgresGuard, AConsumerThatHidesAFailedStatementIsToldNotTo) {
    const StoreError error = error_of([&] {
        guard_.run(handle_, order(1), [](PGconn* db) { PQclear(PQexec(db, "select nonsense")); });
    });

    EXPECT_THAT(error.what(), HasSubstr("has failed"));
    EXPECT_EQ(marks(), "0");
}

TEST_F(PostgresGuard, ASessionThatMayLoseItsCommitIsRefusedUnlessMeant) {
    ask("set synchronous_commit = off");
    postgres::GuardOptions relaxed = options();
    relaxed.relaxed_durability = true;

    EXPECT_THAT(error_of([&] { guard_.run(handle_, order(1), book); }).what(),
                HasSubstr("synchronous_commit"));
    EXPECT_EQ(Guard{relaxed}.run(handle_, order(1), book), Guarded::ran);
}

TEST_F(PostgresGuard, OptionsOutOfBoundsAreRefusedAllAtOnce) {
    EXPECT_EQ(postgres::check(
                  postgres::GuardOptions{.keep = Duration{}, .busy_timeout = 0ms, .schema = "x y"})
                  .size(),
              4U);
    EXPECT_THROW(Guard{{.consumer = ""}}, ConfigError);
}

TEST_F(PostgresGuard, AroundPqxxItIsASavepointOfItsTransaction) {
    pqxx::connection connection{PostgresServer::instance().conninfo()};
    const auto book_by_pqxx = [](pqxx::transaction_base& tx) {
        tx.exec("insert into public.bookings values ('x')");
    };
    {
        pqxx::work tx{connection};
        EXPECT_EQ(postgres::run(guard_, tx, order(1), book_by_pqxx), Guarded::ran);
        EXPECT_EQ(postgres::run(guard_, tx, order(1), book_by_pqxx), Guarded::duplicate);
        EXPECT_THROW(postgres::run(guard_, tx, order(2),
                                   [&](pqxx::transaction_base& inner) {
                                       book_by_pqxx(inner);
                                       throw std::runtime_error("no");
                                   }),
                     std::runtime_error);
        tx.commit();
    }
    EXPECT_EQ(bookings(), "1");
    EXPECT_EQ(guard_.run(handle_, order(1), book), Guarded::duplicate);
    pqxx::nontransaction none{connection};
    EXPECT_THROW(postgres::run(guard_, none, order(3), book_by_pqxx), StoreError);
}

TEST_F(PostgresGuard, AroundSociItMakesATransactionOrJoinsOne) {
    soci::session session{soci::postgresql, PostgresServer::instance().conninfo()};
    const auto book_by_soci = [](soci::session& inner) {
        inner << "insert into public.bookings values ('x')";
    };

    EXPECT_EQ(postgres::run(guard_, session, order(1), book_by_soci), Guarded::ran);
    EXPECT_EQ(bookings(), "1");
    {
        soci::transaction rolled_back{session};
        EXPECT_EQ(postgres::run(guard_, session, order(1), book_by_soci), Guarded::duplicate);
        EXPECT_EQ(postgres::run(guard_, session, order(2), book_by_soci), Guarded::ran);
    }
    EXPECT_EQ(bookings(), "1");
}

TEST_F(PostgresGuard, BySqlARoleThatMayDoNothingElseIsGuardedToo) {
    const std::string role = "consumer_" + schema_.name();
    schema_.change("create role " + role + "; grant usage on schema " + schema_.name() + " to " +
                   role + "; grant execute on function waybill.guard to " + role);
    const std::string call =
        "select waybill.guard('billing', 'order.placed', 'k', keep => '1 day')";
    ask("set role " + role);

    EXPECT_EQ(ask(call), "t");
    EXPECT_EQ(ask(call), "f");
    EXPECT_THROW(ask("delete from waybill.dedup"), StoreError);
    ask("reset role");
    postgres::GuardOptions same = options();
    same.key = [](const Message&) { return "k"; };
    EXPECT_EQ(Guard{same}.run(handle_, order(1), book), Guarded::duplicate);
}

/// guard_child.cpp in a process of its own.
class Consumer {
public:
    Consumer(const std::string& schema, const std::string& key) {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
            throw std::runtime_error{"no pipe"};
        }
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
        const std::string conninfo = PostgresServer::instance().conninfo();
        std::array<const char*, 5> arguments{WAYBILL_GUARD_CHILD, conninfo.c_str(), schema.c_str(),
                                             key.c_str(), nullptr};
        const int failed = ::posix_spawn(&process_, arguments[0], &actions, nullptr,
                                         const_cast<char**>(arguments.data()), ::environ);
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(in[0]);
        ::close(out[1]);
        to_it_ = in[1];
        from_it_ = ::fdopen(out[0], "r");
        if (failed != 0) throw std::runtime_error{"no child"};
    }
    ~Consumer() {
        kill();
        ::close(to_it_);
        std::fclose(from_it_);
    }
    Consumer(const Consumer&) = delete;
    Consumer& operator=(const Consumer&) = delete;

    std::string next_line() {
        std::array<char, 100> line{};
        if (std::fgets(line.data(), line.size(), from_it_) == nullptr) return "";
        std::string text{line.data()};
        text.pop_back();
        return text;
    }
    void tell(const std::string& order) {
        const std::string line = order + "\n";
        EXPECT_EQ(::write(to_it_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    }
    void kill() {
        if (process_ < 0) return;
        ::kill(process_, SIGKILL);
        while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
        }
        process_ = -1;
    }

private:
    pid_t process_ = -1;
    int to_it_ = -1;
    std::FILE* from_it_ = nullptr;
};

TEST_F(PostgresGuard, OfTwoProcessesTheSecondWaitsAndIsTheDuplicate) {
    Consumer first{schema_.name(), "k"};
    ASSERT_EQ(first.next_line(), "running");
    Consumer second{schema_.name(), "k"};
    wait_for_a_waiter();
    first.tell("commit");

    EXPECT_EQ(first.next_line(), "ran");
    EXPECT_EQ(second.next_line(), "duplicate");
    EXPECT_EQ(bookings(), "1");
}

TEST_F(PostgresGuard, OfTwoProcessesTheSecondRunsWhenTheFirstIsKilledInItsBody) {
    Consumer first{schema_.name(), "k"};
    ASSERT_EQ(first.next_line(), "running");
    Consumer second{schema_.name(), "k"};
    wait_for_a_waiter();
    first.kill();

    ASSERT_EQ(second.next_line(), "running");
    second.tell("commit");
    EXPECT_EQ(second.next_line(), "ran");
    EXPECT_EQ(bookings(), "1");
    EXPECT_EQ(marks(), "1");
}

TEST_F(PostgresGuard, InTheCallersTransactionTheConflictWithAnotherProcessSurfaces) {
    postgres::GuardOptions same = options();
    same.key = [](const Message&) { return "k"; };
    // The caller sees the world from before the other one's commit.
    ask("begin isolation level repeatable read");
    EXPECT_EQ(bookings(), "0");
    Consumer other{schema_.name(), "k"};
    ASSERT_EQ(other.next_line(), "running");
    other.tell("commit");
    ASSERT_EQ(other.next_line(), "ran");

    const Reaction reaction =
        reaction_of([&] { Guard{same}.run(handle_, order(1), book_and_throw); });
    ask("rollback");

    EXPECT_EQ(reaction, Reaction::retry);
    EXPECT_EQ(bookings(), "1");
    EXPECT_EQ(marks(), "1");
    EXPECT_EQ(Guard{same}.run(handle_, order(1), book), Guarded::duplicate);
}

TEST_F(PostgresGuard, OfTwoProcessesTheSecondRunsWhenTheFirstRollsBack) {
    Consumer first{schema_.name(), "k"};
    ASSERT_EQ(first.next_line(), "running");
    Consumer second{schema_.name(), "k"};
    wait_for_a_waiter();
    first.tell("throw");

    EXPECT_EQ(first.next_line(), "threw");
    ASSERT_EQ(second.next_line(), "running");
    second.tell("commit");
    EXPECT_EQ(second.next_line(), "ran");
    EXPECT_EQ(bookings(), "1");
}

}  // namespace
}  // namespace waybill::test
