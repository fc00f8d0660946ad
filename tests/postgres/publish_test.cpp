#include "waybill/postgres/publish.hpp"

#include "postgres/fixture.hpp"
#include "waybill/append.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Status = AppendResult::Status;

class PostgresPublish : public Postgres {
protected:
    PostgresPublish() { own_->script("create temporary table orders (id int)", "test"); }
    static Message placed(const std::string& body) {
        return {.box = "orders", .type = "order.placed", .body = body};
    }
    AppendResult publish(Message message) {
        return postgres::publish(own_->handle(), std::move(message), options_);
    }
    /// The only column of the only row.
    std::string ask(const std::string& statement) {
        postgres::Rows rows = own_->script(own_->in_schema(statement), "test");
        return rows.next() ? rows.string(0) : "";
    }
    std::vector<Message> stored() {
        const Taken taken = own(*store_);
        std::vector<Message> all;
        for (const Entry& entry : scan(taken).entries) all.push_back(*entry.message);
        return all;
    }

    /// The application's.
    std::unique_ptr<postgres::Database> own_ = stranger();
    postgres::PublishOptions options_{.schema = schema_.name()};
};

TEST_F(PostgresPublish, AMessageIsThereExactlyWhenItsTransactionCommitted) {
    {
        const postgres::Transaction rolled_back{*own_};
        own_->script("insert into orders values (1)", "test");
        EXPECT_EQ(publish(placed("never")).status, Status::fresh);
    }
    {
        postgres::Transaction committed{*own_};
        own_->script("insert into orders values (2)", "test");
        EXPECT_EQ(publish(placed("announced")).status, Status::fresh);
        EXPECT_EQ(store_->count({}), 0U);
        committed.commit();
    }

    ASSERT_EQ(stored().size(), 1U);
    EXPECT_EQ(stored()[0].body, "announced");
    EXPECT_EQ(ask("select count(*) from orders"), "1");
}

TEST_F(PostgresPublish, OutsideATransactionItIsRefusedUnlessMeant) {
    EXPECT_EQ(reaction_of([&] { publish(placed("x")); }), Reaction::give_up);

    options_.outside_transaction = true;
    publish(placed("y"));

    EXPECT_EQ(store_->count({}), 1U);
}

TEST_F(PostgresPublish, ASessionThatDoesNotWaitForItsCommitIsRefusedUnlessMeant) {
    const postgres::Transaction transaction{*own_};
    own_->script("set local synchronous_commit = off", "test");
    EXPECT_EQ(reaction_of([&] { publish(placed("x")); }), Reaction::give_up);

    options_.relaxed_durability = true;
    EXPECT_EQ(publish(placed("x")).status, Status::fresh);
}

TEST_F(PostgresPublish, AnErrorLeavesTheTransactionAsItWas) {
    postgres::Transaction transaction{*own_};
    own_->script("insert into orders values (1)", "test");
    Message bad = placed("x");
    bad.box = "nowhere";
    EXPECT_THROW(publish(bad), InvalidMessage);
    EXPECT_THROW(publish({.box = "orders"}), InvalidMessage);

    publish(placed("good"));
    transaction.commit();

    EXPECT_EQ(store_->count({}), 1U);
    EXPECT_EQ(ask("select count(*) from orders"), "1");
}

TEST_F(PostgresPublish, AFailedTransactionIsNotPublishedInto) {
    const postgres::Transaction transaction{*own_};
    EXPECT_THROW(own_->script("select nonsense", "test"), StoreError);

    EXPECT_EQ(reaction_of([&] { publish(placed("x")); }), Reaction::give_up);
}

TEST_F(PostgresPublish, ManyAreAllOrNothingAndTheBoxMayBeLeftOut) {
    postgres::Transaction transaction{*own_};
    const std::vector<Message> two{{.type = "a", .body = "1"}, {.type = "b", .body = "2"}};

    const auto results = postgres::publish(own_->handle(), two, options_);
    transaction.commit();

    EXPECT_EQ(results.size(), 2U);
    EXPECT_EQ(store_->count({}), 2U);
}

TEST_F(PostgresPublish, BySqlItIsTheSameMessage) {
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

TEST_F(PostgresPublish, BySqlItSharesKeysAndPartitionsWithTheLibrary) {
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

TEST_F(PostgresPublish, BySqlWhatCanNeverBeStoredIsRefused) {
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

TEST_F(PostgresPublish, ARoleThatMayOnlyPublishDoesJustThat) {
    const std::string role = "publisher_" + schema_.name();
    schema_.change("create role " + role + "; grant usage on schema " + schema_.name() + " to " +
                   role + "; grant execute on function waybill.publish to " + role);
    ask("set role " + role);

    EXPECT_FALSE(ask("select waybill.publish('t', 'x')").empty());
    for (const char* statement : {"select * from waybill.message", "delete from waybill.open",
                                  "insert into waybill.note values ('a', 'b')"}) {
        EXPECT_EQ(reaction_of([&] { ask(statement); }), Reaction::give_up) << statement;
    }
    ask("reset role");
    EXPECT_EQ(stored().size(), 1U);
}

}  // namespace
}  // namespace waybill::test
