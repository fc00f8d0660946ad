#include "migrate.hpp"
#include "postgres/fixture.hpp"
#include "settings.hpp"
#include "support/run_together.hpp"

namespace waybill::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

std::string shown(postgres::Database& db, const std::string& setting) {
    postgres::Rows rows = db.script("show " + setting, "test");
    rows.next();
    return rows.string(0);
}

TEST_F(Postgres, ManyHostsThatMigrateAtOnceDoItOnce) {
    postgres::Options fresh = schema_.options();
    fresh.schema += "_many";

    EXPECT_NO_THROW(run_together(
        4, [&](int) { postgres::open(PostgresServer::instance().conninfo(), fresh)->migrate(); }));

    const auto store = postgres::open(PostgresServer::instance().conninfo(), fresh);
    EXPECT_THAT(store->schema().missing, IsEmpty());
    EXPECT_EQ(store->schema().version, store->schema().newest);
}

TEST_F(Postgres, ASchemaIsMigratedUpToAVersionAndThenFurther) {
    postgres::Options fresh = schema_.options();
    fresh.schema += "_some";
    const auto store = postgres::open(PostgresServer::instance().conninfo(), fresh);
    EXPECT_EQ(store->schema().version, 0U);

    store->migrate(1);
    EXPECT_EQ(store->schema().version, 1U);
    store->migrate();

    EXPECT_THAT(store->schema().missing, IsEmpty());
    EXPECT_THROW(store->migrate(99), ConfigError);
}

TEST_F(Postgres, ASchemaThatWasMadeForARoleIsMigratedByIt) {
    postgres::Options own = schema_.options();
    own.schema += "_own";
    stranger()->script(
        "create role tenant login; create schema " + own.schema + " authorization tenant", "test");
    const auto store = postgres::open(PostgresServer::instance().conninfo() + " user=tenant", own);

    EXPECT_NO_THROW(store->migrate()) << "it has no right to create others";
    EXPECT_THAT(store->schema().missing, IsEmpty());
}

TEST_F(Postgres, AMigrationWithAnotherTextIsRefused) {
    schema_.change("update waybill.migration set checksum = 'x' where number = 1");

    EXPECT_EQ(reaction_of([&] { store_->migrate(); }), Reaction::give_up);
}

TEST_F(Postgres, ANewerSchemaIsLeftAlone) {
    schema_.change(
        "insert into waybill.migration (number, name, checksum) values (1000, 'later', 'x')");

    EXPECT_NO_THROW(store_->migrate());
    EXPECT_EQ(store_->schema().version, 1000U);
}

TEST_F(Postgres, ABreakingMigrationOfALaterVersionIsRefusedByThisOne) {
    schema_.change(
        "insert into waybill.migration (number, name, checksum, breaking) values "
        "(1000, 'later', 'x', false), (1001, 'without_open', 'x', true)");
    try {
        store_->migrate();
        FAIL() << "it went on";
    } catch (const StoreError& error) {
        EXPECT_EQ(error.reaction(), Reaction::give_up);
        EXPECT_THAT(error.what(), AllOf(HasSubstr("migration 1001 without_open, breaking"),
                                        HasSubstr("run the later version")));
    }
}

TEST_F(Postgres, ThePrintedMigrationMakesASchemaThatThisVersionTakesForItsOwn) {
    postgres::Options by_hand = schema_.options();
    by_hand.schema += "_by_hand";
    const auto store = postgres::open(PostgresServer::instance().conninfo(), by_hand);
    const std::uint32_t newest = store->schema().newest;

    auto person = stranger();
    person->script(postgres::migration_script(0, 2, by_hand.schema), "test");
    EXPECT_EQ(store->schema().version, 2U);
    person->script(postgres::migration_script(2, newest, by_hand.schema), "test");

    EXPECT_THAT(store->schema().missing, IsEmpty());
    EXPECT_NO_THROW(store->migrate());
    EXPECT_TRUE(store->health().reachable);
    EXPECT_THROW(postgres::migration_script(0, newest + 1), ConfigError);
}

TEST_F(Postgres, WhoWorksOnItIsListedWithWhatItServes) {
    InstanceState state{
        .name = "host-a", .boxes = {"orders"}, .executes = {target_number("orders", "bill")}};
    state.incarnation.bytes[0] = 7;
    const Taken taken = own(*store_, 7);
    store_->beat(state);
    schema_.advance(2s);
    store_->beat(state);

    const std::vector<InstanceSeen> seen = store_->instances();

    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].name, "host-a");
    EXPECT_TRUE(seen[0].alive);
    EXPECT_EQ(seen[0].last_beat - seen[0].since, Duration{2s});
    EXPECT_EQ(seen[0].partitions, 1U);
    EXPECT_TRUE(serves(seen[0], {.box = "orders", .key = "bill"}));
    EXPECT_FALSE(serves(seen[0], {.box = "orders", .key = "mail"}));
    schema_.advance(1min);
    EXPECT_FALSE(store_->instances().at(0).alive);
    EXPECT_FALSE(serves(store_->instances().at(0), {.box = "orders", .key = "bill"}));
}

TEST_F(Postgres, ANameIsHeldByOneProcessAtATime) {
    postgres::Options impatient = schema_.options();
    impatient.people_deadline = 5s;
    const auto other = postgres::open(PostgresServer::instance().conninfo(), impatient);
    auto held = store_->hold("operation/1");
    ASSERT_NE(held, nullptr);

    EXPECT_EQ(other->hold("operation/1"), nullptr);
    EXPECT_NE(other->hold("operation/2"), nullptr);
    held.reset();

    EXPECT_NE(store_->hold("operation/1"), nullptr);
}

TEST_F(Postgres, AStoreWithoutTablesSaysWhatToDo) {
    postgres::Options fresh = schema_.options();
    fresh.schema += "_none";
    const auto store = postgres::open(PostgresServer::instance().conninfo(), fresh);
    try {
        store->health();
        FAIL() << "it answered";
    } catch (const StoreError& error) {
        EXPECT_EQ(error.reaction(), Reaction::give_up);
        EXPECT_THAT(error.what(), HasSubstr("run migrate() first"));
    }
}

TEST(PostgresOptions, NamesThatCouldBeSqlAreRefused) {
    for (const char* name : {"", "Waybill", "a b", "x\"; drop table y; --", "1a", "pg_x", "ä"}) {
        EXPECT_THROW(postgres::open("", {.schema = name}), ConfigError) << name;
    }
    EXPECT_NO_THROW(postgres::open("", {.schema = "table"}));
    EXPECT_THROW(postgres::open("", {.partitions = 0}), ConfigError);
    EXPECT_THROW(postgres::open("", {.deadline = Duration{}}), ConfigError);
}

TEST_F(Postgres, AReservedWordMayBeASchema) {
    postgres::Options odd = schema_.options();
    odd.schema = "table";
    const auto store = postgres::open(PostgresServer::instance().conninfo(), odd);

    store->migrate();

    EXPECT_TRUE(store->health().reachable);
}

TEST_F(Postgres, ADatabaseThatForgetsCommitsIsRefused) {
    for (const char* const weak : {"off", "local"}) {
        const std::string conninfo =
            PostgresServer::instance().conninfo() + " options='-c synchronous_commit=" + weak + "'";
        EXPECT_THAT(postgres::open(conninfo, schema_.options())->check_settings(), IsEmpty())
            << "our sessions wait for the disk and for a standby whatever the default is";
        postgres::Database session{{.conninfo = conninfo, .deadline = 5min}};
        EXPECT_EQ(shown(session, "synchronous_commit"), "on");
        session.script("set synchronous_commit = " + std::string{weak}, "test");
        const bool is_named = std::string_view{weak} == "off";
        EXPECT_EQ(postgres::check_settings(session).size(), is_named ? 1U : 0U)
            << "no standby is named that it could wait for";
    }
}

TEST_F(Postgres, ASessionWaitsForTheDiskAlsoWhenTheConfigurationIsReadAgain) {
    auto session = stranger();
    const auto set = [&](const std::string& commit, const std::string& witness) {
        auto admin = stranger();
        admin->script("alter system set synchronous_commit = " + commit, "test");
        admin->script("alter system set cursor_tuple_fraction = " + witness, "test");
        admin->script("select pg_reload_conf()", "test");
        while (shown(*session, "cursor_tuple_fraction") != witness) std::this_thread::yield();
    };

    set("off", "0.2");
    EXPECT_EQ(shown(*session, "synchronous_commit"), "on");
    set("on", "0.1");
}

}  // namespace
}  // namespace waybill::test
