#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>

#include "sqlite/fixture.hpp"
#include "sqlite/own_connection.hpp"
#include "support/background.hpp"
#include "support/gate.hpp"
#include "support/run_together.hpp"
#include "waybill/sqlite/publish.hpp"
#include "waybill/system.hpp"
#include "write_queue.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The queue alone, in front of a table with one column.
class SqliteWriteQueue : public testing::Test {
protected:
    SqliteWriteQueue() {
        session.db.script("create table t (x integer primary key)", "create");
        queue.on_commit([this](sqlite::Session&) { ++commits; });
    }

    void insert(int value) {
        queue.write([&](sqlite::Session& s) {
            s.db.script("insert into t values (" + std::to_string(value) + ")", "insert");
        });
    }
    /// Something that holds the writer, and others that queue up behind it meanwhile.
    void while_it_is_busy(const std::vector<std::function<void()>>& others) {
        Gate gate;
        Background holder{[&](const std::stop_token&) {
            queue.exclusive([&](sqlite::Session&) { gate.pass(); });
        }};
        gate.wait_for_arrivals(1);
        std::vector<std::unique_ptr<Background>> waiting;
        for (const auto& other : others) {
            const std::size_t before = queue.waiting();
            waiting.push_back(
                std::make_unique<Background>([&other](const std::stop_token&) { other(); }));
            while (queue.waiting() == before) std::this_thread::yield();
        }
        gate.open();
    }
    std::vector<int> rows() {
        std::vector<int> all;
        OwnConnection own{path};
        for (int i = 0; i < 100; ++i) {
            if (!own.ask("select x from t where x = " + std::to_string(i)).empty()) {
                all.push_back(i);
            }
        }
        return all;
    }

    TemporaryFolder folder;
    std::string path = folder.file("queue.db");
    sqlite::Session session{path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
    sqlite::WriteQueue queue{session, {.patience = 20s}};
    std::atomic<int> commits = 0;
};

TEST_F(SqliteWriteQueue, WhatWaitsMeanwhileSharesOneCommit) {
    while_it_is_busy({[&] { insert(1); }, [&] { insert(2); }, [&] { insert(3); }});

    EXPECT_THAT(rows(), ElementsAre(1, 2, 3));
    EXPECT_EQ(commits, 1);
}

TEST_F(SqliteWriteQueue, OneThatFailsIsRolledBackAloneAndToldAlone) {
    std::string told;
    while_it_is_busy({[&] { insert(1); },
                      [&] {
                          try {
                              queue.write([](sqlite::Session& s) {
                                  s.db.script("insert into t values (2)", "insert");
                                  throw StoreError{Reaction::bad_data, "no such box"};
                              });
                          } catch (const StoreError& error) {
                              told = error.what();
                          }
                      },
                      [&] { insert(3); }});

    EXPECT_THAT(rows(), ElementsAre(1, 3));
    EXPECT_EQ(told, "no such box");
    EXPECT_EQ(commits, 1);
}

TEST_F(SqliteWriteQueue, OneThatCostsTheTransactionCostsNobodyElse) {
    int attempts = 0;
    while_it_is_busy({[&] { insert(1); },
                      [&] {
                          EXPECT_THROW(queue.write([&](sqlite::Session& s) {
                              ++attempts;
                              s.db.script("insert into t values (2); rollback", "rollback");
                              throw StoreError{Reaction::back_off, "gone"};
                          }),
                                       StoreError);
                      },
                      [&] { insert(3); }});

    EXPECT_THAT(rows(), ElementsAre(1, 3));
    EXPECT_EQ(attempts, 2) << "once beside the others, once alone";
}

TEST_F(SqliteWriteQueue, WhoHasWaitedForItsTurnDoesNotWaitAsLongAgainForTheFile) {
    const auto patience_left = [](sqlite::Session& s) {
        return std::stoi(s.db.pragma("pragma busy_timeout"));
    };
    std::optional<int> left;
    Gate gate;
    Background holder{
        [&](const std::stop_token&) { queue.exclusive([&](sqlite::Session&) { gate.pass(); }); }};
    ASSERT_TRUE(gate.wait_for_arrivals(1));
    Background waiter{[&](const std::stop_token&) { left = queue.write(patience_left); }};
    while (queue.waiting() == 0) std::this_thread::yield();
    const LocalTime queued = system_clock().now();
    while (system_clock().now() - queued < 100ms) std::this_thread::yield();
    gate.open();
    waiter.join();

    ASSERT_TRUE(left);
    EXPECT_LE(*left, 19'900);
    // The best of some: one of them may be held up by a slow machine.
    int fresh = 0;
    for (int i = 0; i < 20; ++i) fresh = std::max(fresh, queue.write(patience_left));
    EXPECT_GT(fresh, *left) << "who comes fresh has all of it";
}

TEST_F(SqliteWriteQueue, WhatWantsToBeAloneIsAlone) {
    bool was_in_transaction = true;
    while_it_is_busy({[&] { insert(1); },
                      [&] {
                          queue.exclusive([&](sqlite::Session& s) {
                              was_in_transaction = s.db.in_transaction();
                          });
                      },
                      [&] { insert(2); }});

    EXPECT_FALSE(was_in_transaction);
    EXPECT_THAT(rows(), ElementsAre(1, 2));
    EXPECT_EQ(commits, 2);
}

TEST_F(SqliteWriteQueue, ATurnThatDoesNotComeIsGivenUp) {
    sqlite::WriteQueue hasty{session, {.patience = 20ms}};
    Gate gate;
    Background holder{
        [&](const std::stop_token&) { hasty.exclusive([&](sqlite::Session&) { gate.pass(); }); }};
    gate.wait_for_arrivals(1);

    const StoreError error = error_of([&] { hasty.write([](sqlite::Session&) {}); });
    gate.open();
    holder.join();

    EXPECT_EQ(error.reaction(), Reaction::retry);
    EXPECT_THAT(error.what(), HasSubstr("busy for 20 ms"));
    hasty.write([](sqlite::Session&) {});
}

TEST_F(SqliteWriteQueue, ManyWritersLoseNothing) {
    run_together(8, [&](int thread) {
        for (int i = 0; i < 12; ++i) insert(thread * 12 + i);
    });

    EXPECT_EQ(rows().size(), 96U);
    EXPECT_LE(commits, 96);
}

class SqliteWriting : public testing::Test {
protected:
    std::uintmax_t journal_bytes() { return std::filesystem::file_size(path + "-wal"); }

    TemporaryFolder folder;
    std::string path = folder.file("orders.db");
};

TEST_F(SqliteWriting, SomebodyElsesLongTransactionIsWaitedForOnlySoLong) {
    OpenedStore opened{path, {.busy_timeout = 30ms}};
    OwnConnection other{path};
    other.run("begin immediate");

    const StoreError error = error_of([&] { opened.append(1); });
    other.run("commit");

    EXPECT_EQ(error.reaction(), Reaction::retry);
    EXPECT_THAT(error.what(), HasSubstr("write lock"));
    EXPECT_EQ(opened.append(1).status, AppendResult::Status::fresh);
}

TEST_F(SqliteWriting, TheJournalIsCopiedIntoTheFileAndDoesNotGrow) {
    OpenedStore opened{path, {.checkpoint_pages = 100}};

    for (int number = 1; number <= 1'500; ++number) opened.append(number, 4'000);

    // 1,500 commits of some 5 pages each; at most 5 times the limit, and what one commit adds.
    EXPECT_LT(journal_bytes(), 600U * 4'200U);
}

TEST_F(SqliteWriting, AReaderThatHoldsTheJournalStopsNobodyAndIsCaughtUpWith) {
    OpenedStore opened{path, {.checkpoint_pages = 100}};
    OwnConnection reader{path};
    reader.run("begin");
    reader.ask("select count(*) from waybill_message");
    for (int number = 1; number <= 300; ++number) opened.append(number, 4'000);
    const auto held = journal_bytes();

    reader.run("commit");
    for (int number = 301; number <= 1'800; ++number) opened.append(number, 4'000);

    EXPECT_GT(held, 300U * 4'096U) << "the reader's snapshot is kept";
    EXPECT_LT(journal_bytes(), held + 600U * 4'200U) << "and then the journal begins anew";
    EXPECT_EQ(opened.store->count({}), 1'800U);
}

/// An inline handler of its own choice on message 1.
class SqliteInline : public testing::Test {
protected:
    SqliteInline() {
        opened.append(1);
        opened.take();
        row = opened.scan().at(0);
        own.run("create table effects (x integer)");
    }
    InlineResult run(const std::function<Outcome(sqlite3*)>& body) {
        return opened.store->run_inline(
            {opened.fence(), row.sequence, row.message->id, "billing"},
            [&](void* native) { return body(static_cast<sqlite3*>(native)); });
    }
    static void write(sqlite3* db, const char* statement) {
        EXPECT_EQ(sqlite3_exec(db, statement, nullptr, nullptr, nullptr), SQLITE_OK);
    }

    TemporaryFolder folder;
    std::string path = folder.file("orders.db");
    OpenedStore opened{path, {.inline_deadline = 200ms}};
    OwnConnection own{path};
    Entry row{};
};

TEST_F(SqliteInline, ItsWritesAndItsSuccessCommitTogether) {
    const InlineResult result = run([](sqlite3* db) -> Outcome {
        write(db, "insert into effects values (1)");
        sqlite::publish(db, {.box = "orders", .type = "order.charged", .body = "1"});
        return Done{};
    });

    EXPECT_EQ(result.record, InlineResult::Record::recorded);
    EXPECT_EQ(own.count("effects"), 1);
    EXPECT_EQ(opened.scan().size(), 2U);
}

TEST_F(SqliteInline, OneThatHoldsTheWriteLockTooLongIsRolledBackAndFails) {
    const InlineResult result = run([](sqlite3* db) -> Outcome {
        write(db, "insert into effects values (1)");
        // Longer than any deadline, until it is interrupted.
        const int code = sqlite3_exec(db,
                                      "with recursive n(i) as (select 1 union all select i + 1 "
                                      "from n) select count(*) from n",
                                      nullptr, nullptr, nullptr);
        EXPECT_EQ(code, SQLITE_INTERRUPT);
        return Done{};
    });

    EXPECT_EQ(result.record, InlineResult::Record::not_done);
    ASSERT_TRUE(std::holds_alternative<Fail>(result.outcome));
    EXPECT_THAT(std::get<Fail>(result.outcome).reason, HasSubstr("longer than 200 ms"));
    EXPECT_EQ(own.count("effects"), 0);
    EXPECT_EQ(opened.append(2).status, AppendResult::Status::fresh);
}

TEST_F(SqliteInline, AnAppendFromInsideIsRefusedAndNotWaitedForForEver) {
    std::string told;
    run([&](sqlite3*) -> Outcome {
        told = error_of([&] { opened.append(2); }).what();
        return Done{};
    });

    EXPECT_THAT(told, HasSubstr("waybill::sqlite::publish"));
    EXPECT_FALSE(opened.has(2));
}

TEST_F(SqliteInline, OneThatEndsItsTransactionIsToldNotTo) {
    const StoreError error = error_of([&] {
        run([](sqlite3* db) -> Outcome {
            write(db, "commit");
            return Done{};
        });
    });

    EXPECT_EQ(error.reaction(), Reaction::bad_data);
    EXPECT_THAT(error.what(), HasSubstr("COMMIT"));
    EXPECT_THAT(opened.scan().at(0).progress, IsEmpty());
}

}  // namespace
}  // namespace waybill::test
