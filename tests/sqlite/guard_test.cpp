#include "waybill/sqlite/guard.hpp"

#include <atomic>
#include <stdexcept>

#include "sqlite/fixture.hpp"
#include "sqlite/own_connection.hpp"
#include "support/background.hpp"
#include "support/gate.hpp"
#include "support/run_together.hpp"
#include "waybill/append.hpp"
#include "waybill/sqlite/publish.hpp"

namespace waybill::test {
namespace {

using sqlite::Guard;
using sqlite::Guarded;
using sqlite::WithoutKey;
using testing::HasSubstr;

/// A consumer that books orders in a table of its own.
class SqliteGuard : public testing::Test {
protected:
    SqliteGuard() { own.run("create table bookings (text)"); }

    static Message order(int number, const std::string& type = "order.placed") {
        Message message = *OpenedStore::order(number).message;
        message.type = type;
        message.correlation_id = "order-42";
        return message;
    }
    static void book(sqlite3* db) {
        ASSERT_EQ(sqlite3_exec(db, "insert into bookings values ('x')", nullptr, nullptr, nullptr),
                  SQLITE_OK);
    }
    static std::string by_order(const Message& message) { return message.correlation_id; }
    int bookings() { return own.count("bookings"); }
    int marks() { return own.count("waybill_dedup"); }

    TemporaryFolder folder;
    std::string path = folder.file("orders.db");
    OpenedStore opened{path};
    OwnConnection own{path};
    Guard guard{{.consumer = "billing"}};
};

TEST_F(SqliteGuard, AMessageDeliveredTwiceHasItsEffectOnce) {
    EXPECT_EQ(guard.run(own.handle(), order(1), book), Guarded::ran);
    EXPECT_EQ(guard.run(own.handle(), order(1), book), Guarded::duplicate);

    EXPECT_EQ(bookings(), 1);
    EXPECT_EQ(marks(), 1);
}

TEST_F(SqliteGuard, AConsumerThatThrowsLeavesNeitherItsWritesNorItsMark) {
    EXPECT_THROW(guard.run(own.handle(), order(1),
                           [](sqlite3* db) {
                               book(db);
                               throw std::runtime_error("no");
                           }),
                 std::runtime_error);
    EXPECT_EQ(bookings(), 0);
    EXPECT_EQ(marks(), 0);

    EXPECT_EQ(guard.run(own.handle(), order(1), book), Guarded::ran);
}

TEST_F(SqliteGuard, TwoConsumersOfOneMessageEachRun) {
    Guard mail{{.consumer = "mail"}};

    EXPECT_EQ(guard.run(own.handle(), order(1), book), Guarded::ran);
    EXPECT_EQ(mail.run(own.handle(), order(1), book), Guarded::ran);
}

TEST_F(SqliteGuard, TwoTypesWithOneKeyAreTwoMessages) {
    Guard by_key{{.consumer = "billing", .key = by_order}};

    EXPECT_EQ(by_key.run(own.handle(), order(1, "order.placed"), book), Guarded::ran);
    EXPECT_EQ(by_key.run(own.handle(), order(2, "order.shipped"), book), Guarded::ran);
}

TEST_F(SqliteGuard, ConsumerAndTypeDoNotRunIntoEachOther) {
    Guard first{{.consumer = "a", .key = by_order}};
    Guard second{{.consumer = "ab", .key = by_order}};

    EXPECT_EQ(first.run(own.handle(), order(1, "bc"), book), Guarded::ran);
    EXPECT_EQ(second.run(own.handle(), order(2, "c"), book), Guarded::ran);
}

TEST_F(SqliteGuard, AMarkIsNoDedupRecordOfABox) {
    Message keyed = order(1);
    keyed.dedup_key = "k";
    Guard by_key{{.consumer = "orders", .key = [](const Message&) { return "k"; }}};
    by_key.run(own.handle(), keyed, book);

    const auto result = sqlite::publish(own.handle(), keyed, {.outside_transaction = true});

    EXPECT_EQ(result.status, AppendResult::Status::fresh);
}

TEST_F(SqliteGuard, AKeyOfTheBusinessSeesThroughANewId) {
    Guard by_key{{.consumer = "billing", .key = by_order}};
    by_key.run(own.handle(), order(1), book);

    EXPECT_EQ(by_key.run(own.handle(), order(2), book), Guarded::duplicate);
}

TEST_F(SqliteGuard, ASelectorThatAnswersNothingFallsBackToTheId) {
    Guard empty{{.consumer = "billing", .key = [](const Message&) { return ""; }}};
    empty.run(own.handle(), order(1), book);

    EXPECT_EQ(empty.run(own.handle(), order(1), book), Guarded::duplicate);
    EXPECT_EQ(empty.run(own.handle(), order(2), book), Guarded::ran);
}

TEST_F(SqliteGuard, AMessageWithoutAnyKeyIsRejectedAndNothingIsTouched) {
    Message nameless = order(1);
    nameless.id = {};

    try {
        guard.run(own.handle(), nameless, book);
        ADD_FAILURE() << "it ran";
    } catch (const InvalidMessage& error) {
        EXPECT_THAT(error.what(), HasSubstr("the message is refused:\n  guard \"billing\""));
    }

    EXPECT_EQ(bookings(), 0);
    EXPECT_EQ(marks(), 0);
}

TEST_F(SqliteGuard, AMessageWithoutAnyKeyMayBeAllowedAndIsCounted) {
    Guard lenient{{.consumer = "billing", .without_key = WithoutKey::allow}};
    Message nameless = order(1);
    nameless.id = {};

    EXPECT_EQ(lenient.run(own.handle(), nameless, book), Guarded::unguarded);
    EXPECT_EQ(lenient.run(own.handle(), nameless, book), Guarded::unguarded);

    EXPECT_EQ(bookings(), 2);
    EXPECT_EQ(marks(), 0);
    EXPECT_EQ(lenient.missing_keys(), 2U);
}

TEST_F(SqliteGuard, OfManyDeliveriesAtOnceOneRuns) {
    std::atomic<int> ran = 0;
    std::atomic<int> calls = 0;

    run_together(6, [&](int) {
        OwnConnection connection{path};
        const Guarded result = guard.run(connection.handle(), order(1), [&](sqlite3* db) {
            ++calls;
            book(db);
        });
        ran += result == Guarded::ran ? 1 : 0;
    });

    EXPECT_EQ(ran, 1);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(bookings(), 1);
}

TEST_F(SqliteGuard, WhoeverWaitedForAConsumerThatFailedRunsItself) {
    Gate gate;
    Background first{[&](const std::stop_token&) {
        OwnConnection connection{path};
        EXPECT_THROW(guard.run(connection.handle(), order(1),
                               [&](sqlite3* db) {
                                   book(db);
                                   gate.pass();
                                   throw std::runtime_error("no");
                               }),
                     std::runtime_error);
    }};
    gate.wait_for_arrivals(1);
    sqlite3_busy_timeout(own.handle(), 0);
    gate.open();

    EXPECT_EQ(guard.run(own.handle(), order(1), book), Guarded::ran);
    first.join();
    EXPECT_EQ(bookings(), 1);
}

TEST_F(SqliteGuard, AWriteLockThatDoesNotComeIsGivenUpAndNothingRuns) {
    Guard hasty{{.consumer = "billing", .busy_timeout = 20ms}};
    OwnConnection other{path};
    other.run("begin immediate");
    sqlite3_busy_timeout(own.handle(), 0);
    bool was_called = false;

    const StoreError error =
        error_of([&] { hasty.run(own.handle(), order(1), [&](sqlite3*) { was_called = true; }); });
    other.run("commit");

    EXPECT_EQ(error.reaction(), Reaction::retry);
    EXPECT_FALSE(was_called);
    EXPECT_EQ(hasty.run(own.handle(), order(1), book), Guarded::ran);
}

TEST_F(SqliteGuard, InTheCallersTransactionMarkAndWritesShareItsFate) {
    own.run("begin immediate");
    EXPECT_EQ(guard.run(own.handle(), order(1), book), Guarded::ran);
    EXPECT_EQ(guard.run(own.handle(), order(1), book), Guarded::duplicate);
    own.run("rollback");
    EXPECT_EQ(bookings(), 0);

    own.run("begin immediate");
    EXPECT_EQ(guard.run(own.handle(), order(1), book), Guarded::ran);
    own.run("commit");
    EXPECT_EQ(bookings(), 1);
}

TEST_F(SqliteGuard, AConsumerThatThrowsInTheCallersTransactionUndoesOnlyItself) {
    own.run("begin immediate; insert into bookings values ('before')");
    EXPECT_THROW(guard.run(own.handle(), order(1),
                           [](sqlite3* db) {
                               book(db);
                               throw std::runtime_error("no");
                           }),
                 std::runtime_error);
    own.run("commit");

    EXPECT_EQ(bookings(), 1);
    EXPECT_EQ(marks(), 0);
}

TEST_F(SqliteGuard, AConflictInTheCallersTransactionSurfacesAndNothingIsCommitted) {
    OwnConnection other{path};
    own.run("begin");
    own.ask("select count(*) from bookings");
    EXPECT_EQ(guard.run(other.handle(), order(1), book), Guarded::ran);

    const StoreError error = error_of([&] { guard.run(own.handle(), order(1), book); });
    own.run("rollback");

    EXPECT_EQ(error.reaction(), Reaction::retry);
    EXPECT_EQ(bookings(), 1);
    EXPECT_EQ(guard.run(own.handle(), order(1), book), Guarded::duplicate);
}

TEST_F(SqliteGuard, AMarkThatHasEndedCountsAsNone) {
    Guard forgetful{{.consumer = "billing", .keep = 1ms}};
    forgetful.run(own.handle(), order(1), book);

    Guarded result = Guarded::duplicate;
    while (result == Guarded::duplicate) result = forgetful.run(own.handle(), order(1), book);

    EXPECT_EQ(result, Guarded::ran);
    EXPECT_EQ(marks(), 1);
}

TEST_F(SqliteGuard, MarksThatHaveEndedAreSweptInBatchesAndOthersAreNot) {
    Guard forgetful{{.consumer = "mail", .keep = 1us}};
    guard.run(own.handle(), order(1), book);
    for (int number = 1; number <= 5; ++number) forgetful.run(own.handle(), order(number), book);

    const Swept first = opened.store->sweep({}, 3);
    const Swept second = opened.store->sweep({}, 3);

    EXPECT_EQ(first.dedup_records, 3U);
    EXPECT_TRUE(first.more);
    EXPECT_EQ(second.dedup_records, 2U);
    EXPECT_EQ(marks(), 1);
    EXPECT_EQ(guard.run(own.handle(), order(1), book), Guarded::duplicate);
}

TEST_F(SqliteGuard, AConsumerThatEndsTheTransactionIsToldNotTo) {
    const StoreError error = error_of([&] {
        guard.run(own.handle(), order(1),
                  [](sqlite3* db) { sqlite3_exec(db, "commit", nullptr, nullptr, nullptr); });
    });

    EXPECT_THAT(error.what(), HasSubstr("COMMIT"));
}

TEST_F(SqliteGuard, AConnectionThatMayLoseItsCommitIsRefusedUnlessAskedFor) {
    own.run("pragma synchronous = off");
    Guard relaxed{{.consumer = "billing", .relaxed_durability = true}};

    EXPECT_THAT(error_of([&] { guard.run(own.handle(), order(1), book); }).what(),
                HasSubstr("synchronous"));
    EXPECT_EQ(relaxed.run(own.handle(), order(1), book), Guarded::ran);
}

TEST_F(SqliteGuard, OptionsOutOfBoundsAreRefusedAllAtOnce) {
    EXPECT_EQ(sqlite::check(sqlite::GuardOptions{.keep = Duration{}, .busy_timeout = 0ms}).size(),
              3U);
    EXPECT_THROW(Guard{{.consumer = ""}}, ConfigError);
}

}  // namespace
}  // namespace waybill::test
