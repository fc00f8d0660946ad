#include "waybill/sqlite/publish.hpp"

#include <atomic>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sqlite/own_connection.hpp"
#include "support/app.hpp"
#include "support/background.hpp"
#include "support/gate.hpp"
#include "support/temporary_folder.hpp"
#include "waybill/scope.hpp"
#include "waybill/sqlite.hpp"

namespace waybill::test {
namespace {

using namespace std::chrono_literals;
using Status = AppendResult::Status;
using testing::ElementsAre;
using testing::HasSubstr;

/// A store with the box "orders", and the application's own connection to its file.
class SqlitePublish : public testing::Test {
protected:
    SqlitePublish() {
        store->migrate();
        declare("orders");
        own.run("create table orders (id integer primary key)");
    }

    void declare(const std::string& name, BoxOptions options = {}) {
        const BoxDeclaration box{name, options};
        store->declare({&box, 1}, {});
    }
    static Message order(const std::string& body) {
        return {.box = "orders", .type = "order.placed", .body = body};
    }
    std::uint64_t stored() { return store->count({}); }

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

    TemporaryFolder folder;
    std::string path = folder.file("orders.db");
    std::shared_ptr<sqlite::SqliteStore> store = sqlite::open(path);
    OwnConnection own{path};
};

TEST_F(SqlitePublish, AMessageIsThereExactlyWhenItsTransactionCommitted) {
    own.run("begin; insert into orders values (1)");

    const AppendResult result = sqlite::publish(own.handle(), order("1"));
    EXPECT_EQ(stored(), 0U);
    own.run("commit");

    EXPECT_EQ(result.status, Status::fresh);
    EXPECT_EQ(store->get(result.id)->summary.message->body, "1");
    EXPECT_EQ(own.count("orders"), 1);
}

TEST_F(SqlitePublish, ARollbackLeavesNothing) {
    own.run("begin; insert into orders values (1)");
    Message keyed = order("1");
    keyed.dedup_key = "k";

    sqlite::publish(own.handle(), keyed);
    own.run("rollback; begin");
    const AppendResult again = sqlite::publish(own.handle(), keyed);
    own.run("commit");

    EXPECT_EQ(again.status, Status::fresh);
    EXPECT_EQ(stored(), 1U);
}

TEST_F(SqlitePublish, ARollbackToASavepointLeavesNothingOfWhatCameAfterIt) {
    own.run("begin");
    sqlite::publish(own.handle(), order("kept"));
    own.run("savepoint here");
    sqlite::publish(own.handle(), order("undone"));
    own.run("rollback to here; commit");

    const auto page = store->browse({}, "", 10);
    ASSERT_EQ(page.items.size(), 1U);
    EXPECT_EQ(page.items[0].message->body, "kept");
}

TEST_F(SqlitePublish, OutsideATransactionItIsRefusedUnlessAskedFor) {
    const StoreError error = error_of([&] { sqlite::publish(own.handle(), order("1")); });
    EXPECT_THAT(error.what(), HasSubstr("no transaction is open"));
    EXPECT_EQ(stored(), 0U);

    sqlite::publish(own.handle(), order("1"), {.outside_transaction = true});

    EXPECT_EQ(stored(), 1U);
}

TEST_F(SqlitePublish, AConnectionThatMayLoseItsCommitIsRefusedUnlessAskedFor) {
    own.run("pragma synchronous = normal; begin");

    const StoreError error = error_of([&] { sqlite::publish(own.handle(), order("1")); });
    sqlite::publish(own.handle(), order("2"), {.relaxed_durability = true});
    own.run("commit");

    EXPECT_THAT(error.what(), HasSubstr("synchronous"));
    EXPECT_EQ(stored(), 1U);
}

TEST_F(SqlitePublish, DuplicatesAndConflictsAreFoundAcrossAppendAndPublish) {
    Message keyed = order("same");
    keyed.dedup_key = "k";
    own.run("begin");
    const Uuid first = sqlite::publish(own.handle(), keyed).id;
    own.run("commit; begin");

    const AppendResult twice = sqlite::publish(own.handle(), keyed);
    keyed.body = "other";
    const AppendResult conflict = sqlite::publish(own.handle(), keyed);
    own.run("commit");

    EXPECT_EQ(twice.status, Status::duplicate);
    EXPECT_EQ(twice.id, first);
    EXPECT_EQ(conflict.status, Status::conflict);
    EXPECT_EQ(stored(), 1U);
}

TEST_F(SqlitePublish, TheWindowAndTheLimitsAreThoseTheBoxWasDeclaredWith) {
    declare("orders", {.dedup_window = 1ms, .body_bytes_max = 4});
    Message keyed = order("1234");
    keyed.dedup_key = "k";
    const sqlite::PublishOptions alone{.outside_transaction = true};
    sqlite::publish(own.handle(), keyed, alone);

    Status status = Status::duplicate;
    while (status == Status::duplicate) {
        status = sqlite::publish(own.handle(), keyed, alone).status;
    }
    keyed.body = "12345";

    EXPECT_EQ(status, Status::fresh) << "a window of 1 ms ends";
    EXPECT_THROW(sqlite::publish(own.handle(), keyed, alone), InvalidMessage);
}

TEST_F(SqlitePublish, ManyAreAllOrNothing) {
    std::vector<Message> messages{order("1"), order("2")};
    own.run("begin");
    sqlite::publish(own.handle(), messages);
    messages.push_back({.box = "orders", .body = "no type"});

    EXPECT_THROW(sqlite::publish(own.handle(), messages), InvalidMessage);
    own.run("commit");

    EXPECT_EQ(stored(), 2U);
}

TEST_F(SqlitePublish, AMessageForABoxNobodyDeclaredIsRefused) {
    own.run("begin");
    Message stray = order("1");
    stray.box = "nowhere";

    EXPECT_THROW(sqlite::publish(own.handle(), stray), InvalidMessage);
}

TEST_F(SqlitePublish, TheBoxMayBeLeftOutWhenThereIsOne) {
    Message boxless = order("1");
    boxless.box.clear();
    own.run("begin");
    sqlite::publish(own.handle(), boxless);
    own.run("commit");
    EXPECT_EQ(store->browse({}, "", 1).items.at(0).message->box, "orders");

    declare("mails");
    own.run("begin");

    EXPECT_THROW(sqlite::publish(own.handle(), boxless), InvalidMessage);
}

TEST_F(SqlitePublish, ItCarriesTheScopeOfItsThread) {
    const Scope scope{{.tenant = "acme", .correlation_id = "c-1"}};
    own.run("begin");
    sqlite::publish(own.handle(), order("1"));
    own.run("commit");

    const auto found = store->browse({}, "", 1).items.at(0).message;
    EXPECT_EQ(found->tenant, "acme");
    EXPECT_EQ(found->correlation_id, "c-1");
}

TEST_F(SqlitePublish, WhileSomebodyElseWritesTheCallerIsToldToRetry) {
    OwnConnection other{path};
    other.run("begin immediate; insert into orders values (7)");
    sqlite3_busy_timeout(own.handle(), 0);
    own.run("begin");
    own.ask("select count(*) from orders");

    const StoreError error = error_of([&] { sqlite::publish(own.handle(), order("1")); });
    other.run("commit");
    const StoreError late = error_of([&] { sqlite::publish(own.handle(), order("1")); });
    own.run("rollback; begin immediate");
    sqlite::publish(own.handle(), order("1"));
    own.run("commit");

    EXPECT_EQ(error.reaction(), Reaction::retry);
    EXPECT_EQ(late.reaction(), Reaction::retry);
    EXPECT_THAT(late.what(), HasSubstr("BEGIN IMMEDIATE"));
    EXPECT_EQ(stored(), 1U);
}

TEST_F(SqlitePublish, ATransactionThatHasDoneNothingYetWaitsForTheWriteLock) {
    OwnConnection other{path};
    other.run("begin immediate; insert into orders values (7)");
    Gate gate;
    Background publisher{[&](const std::stop_token&) {
        own.run("begin");
        gate.open();
        sqlite::publish(own.handle(), order("1"));
        own.run("commit");
    }};
    gate.pass();

    other.run("commit");
    publisher.join();

    EXPECT_EQ(stored(), 1U);
}

TEST_F(SqlitePublish, AFileWithoutTheTablesSaysWhatToDo) {
    OwnConnection empty{folder.file("empty.db")};
    empty.run("begin");

    const StoreError error = error_of([&] { sqlite::publish(empty.handle(), order("1")); });

    EXPECT_THAT(error.what(), HasSubstr("migrate()"));
}

TEST_F(SqlitePublish, AutomaticCheckpointsAreTurnedOffAndAHookOfTheCallersOwnStays) {
    own.run("begin");
    sqlite::publish(own.handle(), order("1"));
    own.run("commit");
    EXPECT_EQ(own.ask("pragma wal_autocheckpoint"), "0");

    OwnConnection hooked{path};
    int commits = 0;
    sqlite3_wal_hook(
        hooked.handle(),
        [](void* count, sqlite3*, const char*, int) {
            ++*static_cast<int*>(count);
            return SQLITE_OK;
        },
        &commits);
    hooked.run("begin");
    sqlite::publish(hooked.handle(), order("2"));
    hooked.run("commit");

    EXPECT_EQ(commits, 1);
}

TEST_F(SqlitePublish, TheStoreIsWokenByTheCommit) {
    // A wake-up may also stand for something committed earlier; this one cannot.
    Gate gate;
    std::atomic<bool> committed = false;
    store->on_wake([&] {
        if (committed) gate.open();
    });
    own.run("begin immediate");
    sqlite::publish(own.handle(), order("1"));
    committed = true;
    own.run("commit");

    gate.pass();  // ends the test if nobody comes
    store->on_wake(nullptr);
}

TEST_F(SqlitePublish, AFileThatIsOpenedAgainHearsOfCommitsToo) {
    store.reset();
    store = sqlite::open(path);
    Gate gate;
    store->on_wake([&] { gate.open(); });

    sqlite::publish(own.handle(), order("1"), {.outside_transaction = true});
    gate.pass();

    store->on_wake(nullptr);
    EXPECT_EQ(stored(), 1U);
}

TEST_F(SqlitePublish, ARunningEngineHandlesWhatWasCommittedInOrderAndNothingElse) {
    std::vector<std::string> handled;
    EventLog log;
    Waybill app{quick_settings(store)};
    app.observe(log);
    app.inbox("orders").on("*", "billing",
                           [&](const Message& message) { handled.push_back(message.body); });
    app.start();
    app.wait_idle();

    for (int i = 0; i < 5; ++i) {
        Message message = order(std::to_string(i));
        message.lane = "customer 1";
        own.run("begin");
        sqlite::publish(own.handle(), message);
        own.run(i == 2 ? "rollback" : "commit");
    }
    ASSERT_TRUE(log.wait_for(Event::Kind::finished, 4));
    app.stop();

    EXPECT_THAT(handled, ElementsAre("0", "1", "3", "4"));
}

TEST_F(SqlitePublish, APublisherKeepsNothingOpenThatItsConnectionCannotClose) {
    auto* connection = new OwnConnection{path};
    {
        sqlite::Publisher publisher{connection->handle()};
        for (int i = 0; i < 3; ++i) {
            connection->run("begin");
            publisher.publish(order("x"));
            connection->run("commit");
        }
    }

    EXPECT_EQ(sqlite3_next_stmt(connection->handle(), nullptr), nullptr);
    delete connection;
    EXPECT_EQ(stored(), 3U);
}

}  // namespace
}  // namespace waybill::test
