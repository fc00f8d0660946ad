#include "migrate.hpp"
#include "postgres/fixture.hpp"
#include "support/run_together.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

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
    const std::string weak =
        PostgresServer::instance().conninfo() + " options='-c synchronous_commit=off'";
    EXPECT_THAT(postgres::open(weak, schema_.options())->check_settings(), IsEmpty())
        << "our sessions wait for the disk whatever the default is";
}

}  // namespace
}  // namespace waybill::test
