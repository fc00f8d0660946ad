/// The roles of docs/operating/roles.sql, tried one by one.

#include <algorithm>
#include <fstream>
#include <iterator>

#include "postgres/fixture.hpp"
#include "support/app.hpp"
#include "waybill/postgres/doctor.hpp"

namespace waybill::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

/// The lines between two marks of the file.
std::string recipe(const std::string& name) {
    std::ifstream file{WAYBILL_SOURCE_DIR "/docs/operating/roles.sql"};
    const std::string all{std::istreambuf_iterator<char>{file}, {}};
    const std::size_t begin = all.find("-- [" + name + "]");
    const std::size_t end = all.find("-- [/" + name + "]");
    EXPECT_LT(begin, end) << name;
    return all.substr(begin, end - begin);
}

/// A database with nothing in it, made once: roles belong to the whole server.
class Roles : public testing::Test {
protected:
    static void SetUpTestSuite() {
        PostgresServer::instance().create("roles");
        PostgresCluster& cluster = PostgresServer::instance().cluster();
        cluster.ask(recipe("owner"), "roles");
        as("waybill_migrator")->migrate();
        for (const char* name : {"server", "publisher", "consumer", "reader"})
            cluster.ask(recipe(name), "roles");
    }
    static std::string conninfo(const std::string& role) {
        return PostgresServer::instance().conninfo() + " dbname=roles user=" + role;
    }
    static std::unique_ptr<postgres::PostgresStore> as(const std::string& role) {
        return postgres::open(conninfo(role),
                              {.deadline = 5min, .beat_deadline = 5min, .people_deadline = 5min});
    }
    static Findings examine(const std::string& role) {
        return postgres::examine(conninfo(role), {.publisher = "shop", .deadline = 5min});
    }
    static std::unique_ptr<postgres::Database> session(const std::string& role) {
        return std::make_unique<postgres::Database>(postgres::Address{
            .conninfo = conninfo(role), .deadline = 5min, .role = postgres::Role::people});
    }
    template <class Body>
    static void expect_refused(Body body) {
        try {
            body();
            ADD_FAILURE() << "it was allowed";
        } catch (const StoreError& error) {
            EXPECT_EQ(error.reaction(), Reaction::give_up) << error.what();
            EXPECT_THAT(error.what(), testing::HasSubstr("permission denied"));
        }
    }
};

TEST_F(Roles, TheMigratorOwnsTheTablesAndMayDoItAgain) {
    EXPECT_NO_THROW(as("waybill_migrator")->migrate());
    EXPECT_EQ(
        PostgresServer::instance().cluster().ask("select string_agg(distinct tableowner, ',') from "
                                                 "pg_tables where schemaname = 'waybill'",
                                                 "roles"),
        "waybill_owner");
}

/// "permission denied for database": `create schema if not exists` was printed wherever it was.
TEST_F(Roles, WhatTheDryRunPrintsTheMigratorMayRunInASchemaMadeForIt) {
    PostgresServer::instance().create("roles_piped");
    PostgresCluster& cluster = PostgresServer::instance().cluster();
    cluster.ask("create schema waybill authorization waybill_owner", "roles_piped");
    const std::string piped =
        PostgresServer::instance().conninfo() + " dbname=roles_piped user=waybill_migrator";
    const auto pipe = [&](std::uint32_t from, std::uint32_t to) {
        postgres::Database{
            postgres::Address{.conninfo = piped, .deadline = 5min, .role = postgres::Role::people}}
            .script(postgres::migration_script(from, to), "psql", postgres::Effect::commits);
    };
    const auto store = postgres::open(piped);

    EXPECT_NO_THROW(pipe(0, 3));
    EXPECT_NO_THROW(pipe(3, store->schema().newest));

    EXPECT_THAT(store->schema().missing, testing::IsEmpty());
}

/// "create_migrations: permission denied for schema waybill": whose work it is was not said.
TEST_F(Roles, AServerOnAnOlderSchemaSaysThatItIsOldAndWhoMigrates) {
    PostgresServer::instance().create("roles_old");
    PostgresCluster& cluster = PostgresServer::instance().cluster();
    const auto refusal = [] {
        try {
            postgres::open(PostgresServer::instance().conninfo() +
                           " dbname=roles_old user=waybill_server")
                ->migrate();
        } catch (const StoreError& error) {
            EXPECT_EQ(error.reaction(), Reaction::give_up);
            return std::string{error.what()};
        }
        return std::string{"it was allowed"};
    };
    EXPECT_THAT(refusal(), AllOf(HasSubstr("there is no schema waybill; role waybill_server may"),
                                 HasSubstr("a role that may create schemas")));

    cluster.ask("create schema waybill authorization waybill_owner", "roles_old");
    cluster.ask("grant usage on schema waybill to waybill_server", "roles_old");
    EXPECT_THAT(refusal(), HasSubstr("schema waybill has no tables of ours; role"));

    const auto migrator = postgres::open(PostgresServer::instance().conninfo() +
                                         " dbname=roles_old user=waybill_migrator");
    migrator->migrate(migrator->schema().newest - 1);
    cluster.ask("grant select on all tables in schema waybill to waybill_server", "roles_old");

    const std::uint32_t newest = migrator->schema().newest;
    EXPECT_THAT(refusal(), AllOf(HasSubstr("older than this program: of version " +
                                           std::to_string(newest - 1) + ", and it needs " +
                                           std::to_string(newest)),
                                 HasSubstr("run `waybill migrate` as waybill_owner, who owns it")));
}

TEST_F(Roles, TheServerHandlesWhatThePublisherPublishesAndChangesNoTable) {
    EventLog log;
    std::shared_ptr<postgres::PostgresStore> store = as("waybill_server");
    Settings settings = quick_settings(store, "server");
    settings.lease = 60s;
    Waybill app{settings};
    app.observe(log);
    app.inbox("orders", {.keep_done = Duration{}}).on("*", "bill", [](const Message&) {});
    app.start();

    session("shop")->script("select waybill.publish(type => 't', body => 'x', box => 'orders')",
                            "publish", postgres::Effect::commits);

    ASSERT_TRUE(log.wait_for(Event::Kind::finished, 1));
    app.sweep();
    EXPECT_THAT(examine("waybill_server"),
                Not(Contains(Field(&Finding::name, "missing-privileges"))));
    EXPECT_THAT(examine("waybill_server"),
                Not(Contains(Field(&Finding::name, "publisher-privileges"))));
    EXPECT_THAT(examine("waybill_server"), Not(Contains(Field(&Finding::name, "not-seen"))));
    expect_refused(
        [] { session("waybill_server")->script("create table waybill.mine (x int)", "x"); });
}

/// It ran, and its low-water marks never moved: "permission denied for sequence" once a second.
TEST_F(Roles, AServerThatMayDrawFromTheSequenceAndNotReadItIsFoundAndMended) {
    PostgresCluster& cluster = PostgresServer::instance().cluster();
    const auto reads = [] { session("waybill_server")->script("table waybill.sequence", "x"); };
    const auto is_lacking = Field(&Finding::name, "missing-privileges");
    // Named one by one, and all at once.
    for (const std::string taken : {"select", "usage, select"}) {
        cluster.ask("revoke " + taken + " on all sequences in schema waybill from waybill_server",
                    "roles");
        expect_refused(reads);

        const Findings found = examine("waybill_server");
        ASSERT_THAT(found, Contains(is_lacking)) << taken;
        cluster.ask(std::ranges::find(found, "missing-privileges", &Finding::name)->fix, "roles");

        EXPECT_NO_THROW(reads()) << taken;
        EXPECT_THAT(examine("waybill_server"), Not(Contains(is_lacking))) << taken;
    }
}

TEST_F(Roles, ThePublisherSeesNothing) {
    for (const char* statement : {"select * from waybill.message", "delete from waybill.open",
                                  "insert into waybill.note values ('a', 'b')"}) {
        expect_refused([&] { session("shop")->script(statement, "shop"); });
    }
}

TEST_F(Roles, TheConsumerMarksWhatItHandledAndSeesNothing) {
    const auto ledger = session("ledger");
    const auto marks = [&] {
        postgres::Rows rows = ledger->script("select waybill.guard('ledger', 't', 'key-1')",
                                             "guard", postgres::Effect::commits);
        rows.next();
        return rows.string(0);
    };

    EXPECT_EQ(marks(), "t");
    EXPECT_EQ(marks(), "f");
    expect_refused([&] { ledger->script("select * from waybill.dedup", "x"); });
    expect_refused([&] { ledger->script("select waybill.publish('t', 'x')", "x"); });
}

TEST_F(Roles, TheReaderLooksAndChangesNothing) {
    const auto store = as("waybill_reader");

    EXPECT_NO_THROW(store->browse({}, "", 10));
    EXPECT_NO_THROW(store->count({.state = Filter::State::dead}));
    EXPECT_NO_THROW(store->instances());
    EXPECT_NO_THROW(store->health());
    EXPECT_THAT(examine("waybill_reader"), Not(Contains(Field(&Finding::name, "not-seen"))));
    EXPECT_THAT(examine("waybill_reader"), Contains(Field(&Finding::name, "read-only-role")));
    EXPECT_THAT(examine("waybill_reader"),
                Not(Contains(Field(&Finding::name, "missing-privileges"))));
    EXPECT_THAT(postgres::examine(conninfo("waybill_reader"), {.server = "shop"}),
                Contains(Field(&Finding::name, "missing-privileges")));
    expect_refused([&] { store->pause_box("orders", true); });
    expect_refused([&] { store->keep_note("a", "b", store_never); });
    expect_refused(
        [&] { session("waybill_reader")->script("select waybill.publish('t', 'x')", "x"); });
}

TEST_F(Roles, WhatALaterMigrationAddsTheServerMayUseAtOnce) {
    session("waybill_migrator")->script("create table waybill.later (x int)", "later");

    EXPECT_NO_THROW(session("waybill_server")->script("insert into waybill.later values (1)", "x"));
    EXPECT_NO_THROW(session("waybill_reader")->script("select * from waybill.later", "x"));
    expect_refused([] { session("shop")->script("select * from waybill.later", "x"); });
}

}  // namespace
}  // namespace waybill::test
