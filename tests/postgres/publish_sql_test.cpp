#include "postgres/publish_fixture.hpp"

namespace waybill::test {
namespace {

using testing::IsEmpty;

class PostgresPublishBySql : public PostgresPublishing {};

TEST_F(PostgresPublishBySql, ItIsTheSameMessage) {
    ask("select waybill.publish(type => 'order.placed', body => 'the body', lane => 'l-1', "
        "dedup_key => 'k', tenant => 'acme', user_id => 'eve', correlation_id => 'c', "
        "content_type => 'text/plain', attributes => '{\"b\": \"2\", \"a\": \"1\"}', "
        "id => '01890000-0000-7000-8000-000000000001', source => 'shop', "
        "not_before => '2024-01-01 00:00:01+00')");

    const std::vector<Message> all = stored();
    ASSERT_EQ(all.size(), 1U);
    const Message expected{.id = *parse_uuid("01890000-0000-7000-8000-000000000001"),
                           .box = "orders",
                           .type = "order.placed",
                           .source = "shop",
                           .body = "the body",
                           .content_type = "text/plain",
                           .attributes = {{"a", "1"}, {"b", "2"}},
                           .tenant = "acme",
                           .user = "eve",
                           .correlation_id = "c",
                           .not_before = StoreTime{1'704'067'201s},
                           .lane = "l-1",
                           .dedup_key = "k"};
    EXPECT_EQ(all[0], expected);
}

TEST_F(PostgresPublishBySql, ItSharesKeysAndPartitionsWithTheLibrary) {
    const BoxDeclaration box{"many", {.partitions = 32}};
    store_->declare({&box, 1}, {});
    options_.outside_transaction = true;
    Message message{.box = "many", .type = "t", .body = "same", .lane = "käse", .dedup_key = "k"};
    const AppendResult first = publish(message);

    const std::string again =
        ask("select waybill.publish('t', 'same', 'many', lane => 'käse', "
            "dedup_key => 'k')");
    ask("select waybill.publish('t', 'next', 'many', lane => 'käse')");

    EXPECT_EQ(again, to_string(first.id));
    EXPECT_EQ(ask("select count(distinct partition) from waybill.message"), "1");
    EXPECT_EQ(
        reaction_of([&] { ask("select waybill.publish('t', 'other', 'many', dedup_key => 'k')"); }),
        Reaction::bad_data);
}

TEST_F(PostgresPublishBySql, WhatCanNeverBeStoredIsRefused) {
    for (const char* arguments : {"type => '', body => 'x'", "type => 'a', body => null",
                                  "type => 'a', body => 'x', "
                                  "box => 'nowhere'",
                                  "type => repeat('x', 257), body => 'x'"}) {
        EXPECT_EQ(
            reaction_of([&] { ask(std::string{"select waybill.publish("} + arguments + ")"); }),
            Reaction::bad_data)
            << arguments;
    }
    EXPECT_THAT(stored(), IsEmpty());
}

/// What PostgreSQL itself says of these speaks of its own functions.
TEST_F(PostgresPublishBySql, WhatIsWrongIsCalledByItsName) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"lane => repeat('x', 300)", "lane has 300 bytes; at most 256 are allowed"},
        {"attributes => '[1, 2]'", "attributes: array was given"},
        {"attributes => 'null'", "attributes: null was given"},
        {"not_before => 'infinity'", "not_before: infinity is no moment"},
    };
    for (const auto& [argument, told] : cases) {
        try {
            ask("select waybill.publish('t', 'x', " + argument + ")");
            ADD_FAILURE() << argument;
        } catch (const StoreError& error) {
            EXPECT_EQ(error.reaction(), Reaction::bad_data) << error.what();
            EXPECT_THAT(error.what(), testing::HasSubstr(told));
        }
    }
}

TEST_F(PostgresPublishBySql, ASessionThatMayLoseItsCommitIsRefusedUnlessMeant) {
    ask("set synchronous_commit = off");

    EXPECT_EQ(reaction_of([&] { ask("select waybill.publish('t', 'x')"); }), Reaction::give_up);
    EXPECT_FALSE(ask("select waybill.publish('t', 'x', relaxed => true)").empty());
}

TEST_F(PostgresPublishBySql, AnIdTheCallerBringsIsItsKey) {
    const std::string call =
        "select waybill.publish('t', 'x', id => '01890000-0000-7000-8000-000000000001')";

    EXPECT_EQ(ask(call), ask(call));
    EXPECT_EQ(stored().size(), 1U);
}

/// With the role recipe of the guide, on a connection of its own.
class PostgresPublisherRole : public PostgresPublishing {
protected:
    PostgresPublisherRole() {
        schema_.change("create role " + role_ + " login; grant usage on schema " + schema_.name() +
                       " to " + role_ +
                       "; grant execute on function waybill.publish, waybill.publish_many to " +
                       role_);
        shop_ = std::make_unique<postgres::Database>(
            postgres::Address{.conninfo = PostgresServer::instance().conninfo() + " user=" + role_,
                              .schema = schema_.name(),
                              .deadline = 5min,
                              .role = postgres::Role::people,
                              .idle_max = 5min});
    }

    std::string role_ = "publisher_" + schema_.name();
    std::unique_ptr<postgres::Database> shop_{};
};

TEST_F(PostgresPublisherRole, PublishesBySqlAndFromCpp) {
    EXPECT_FALSE(ask_on(*shop_, "select waybill.publish('t', 'x', ordered => true)").empty());
    postgres::Transaction transaction{*shop_};
    postgres::publish(shop_->handle(), placed("y"), options_);
    transaction.commit();

    EXPECT_EQ(stored().size(), 2U);
}

TEST_F(PostgresPublisherRole, CanDoNothingElse) {
    // No table and no sequence, in no way.
    EXPECT_EQ(ask("select count(*) from pg_class c where relnamespace = '" + schema_.name() +
                  "'::regnamespace and relkind in ('r', 'p', 'S', 'v') and has_table_privilege('" +
                  role_ + "', c.oid, 'select, insert, update, delete, truncate')"),
              "0");
    // Of the functions that run with more rights than their caller's, just these.
    EXPECT_EQ(ask("select string_agg(proname, ' ' order by proname) from pg_proc where "
                  "pronamespace = '" +
                  schema_.name() + "'::regnamespace and prosecdef and has_function_privilege('" +
                  role_ + "', oid, 'execute')"),
              "publish publish_many");
    for (const char* statement :
         {"select * from waybill.message", "delete from waybill.open",
          "insert into waybill.note values ('a', 'b')", "select nextval('waybill.sequence')",
          "select waybill.append('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', "
          "'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', false)",
          "create table waybill.mine (a int)"}) {
        EXPECT_EQ(reaction_of([&] { ask_on(*shop_, statement); }), Reaction::give_up) << statement;
    }
}

TEST_F(PostgresPublisherRole, WithoutTheRightItIsRefused) {
    schema_.change("revoke execute on function waybill.publish_many from " + role_);
    const postgres::Transaction transaction{*shop_};

    EXPECT_EQ(reaction_of([&] { postgres::publish(shop_->handle(), placed("y"), options_); }),
              Reaction::give_up);
    EXPECT_EQ(ask_on(*shop_, "select 1"), "1");
}

}  // namespace
}  // namespace waybill::test
