#include "postgres/publish_fixture.hpp"
#include "support/background.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PostgresPublish : public PostgresPublishing {};

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

TEST_F(PostgresPublish, EveryFieldArrivesAsItWasGiven) {
    options_.outside_transaction = true;
    publish(full());

    EXPECT_THAT(stored(), ElementsAre(full()));
}

TEST_F(PostgresPublish, ALargeBodyAndManyMessagesFitInOneCall) {
    options_.outside_transaction = true;
    std::vector<Message> many(500, placed("small"));
    many.push_back(placed(std::string(8'000'000, 'x')));

    const auto results = postgres::publish(own_->handle(), many, options_);

    EXPECT_EQ(results.size(), many.size());
    EXPECT_EQ(store_->count({}), many.size());
}

TEST_F(PostgresPublish, OutsideATransactionACommitThatFailsIsNotAcknowledged) {
    options_.outside_transaction = true;
    schema_.change(
        "create function waybill.refuse() returns trigger language plpgsql as "
        "$$ begin raise exception 'not today'; end $$; "
        "create constraint trigger refuse after insert on waybill.open deferrable initially "
        "deferred "
        "for each row execute function waybill.refuse()");

    EXPECT_THROW(publish(placed("x")), StoreError);

    EXPECT_EQ(store_->count({}), 0U);
    EXPECT_EQ(PQtransactionStatus(own_->handle()), PQTRANS_IDLE);
}

TEST_F(PostgresPublish, DoublesInOneCallAreAnsweredAsSuch) {
    options_.outside_transaction = true;
    Message first = placed("same");
    first.dedup_key = "k";
    Message other = placed("other");
    other.dedup_key = "k";
    const std::vector<Message> three{first, first, other, placed("free")};

    const auto results = postgres::publish(own_->handle(), three, options_);

    ASSERT_EQ(results.size(), 4U);
    EXPECT_EQ(results[0].status, Status::fresh);
    EXPECT_EQ(results[1].status, Status::duplicate);
    EXPECT_EQ(results[1].id, results[0].id);
    EXPECT_EQ(results[2].status, Status::conflict);
    EXPECT_EQ(results[3].status, Status::fresh);
    EXPECT_LT(results[0].sequence, results[3].sequence);
    EXPECT_EQ(store_->count({}), 2U);
}

TEST_F(PostgresPublish, ASavepointOfTheCallerTakesItsMessagesBackWithIt) {
    postgres::Transaction transaction{*own_};
    publish(placed("before"));
    own_->script("savepoint mine", "test");
    publish(placed("undone"));
    own_->script("rollback to mine", "test");
    publish(placed("after"));
    transaction.commit();

    EXPECT_THAT(stored_bodies(), ElementsAre("before", "after"));
}

TEST_F(PostgresPublish, AnErrorOfTheServerLeavesTheTransactionAsItWas) {
    // Somebody else has the key and does not let go.
    Message keyed = placed("same");
    keyed.dedup_key = "k";
    auto other = stranger();
    const postgres::Transaction theirs{*other};
    postgres::publish(other->handle(), keyed, options_);

    postgres::Transaction transaction{*own_};
    own_->script("insert into orders values (1); set local lock_timeout = '10ms'", "test");
    EXPECT_EQ(reaction_of([&] { publish(keyed); }), Reaction::retry);
    publish(placed("good"));
    transaction.commit();

    EXPECT_THAT(stored_bodies(), ElementsAre("good"));
    EXPECT_EQ(ask("select count(*) from orders"), "1");
}

TEST_F(PostgresPublish, AnEncodingThatWouldGarbleTextIsRefused) {
    const postgres::Transaction transaction{*own_};
    own_->script("set local client_encoding = 'LATIN1'", "test");

    EXPECT_EQ(reaction_of([&] { publish(placed("x")); }), Reaction::give_up);
}

TEST_F(PostgresPublish, ABodyLargerThanItsBoxAllowsIsRefused) {
    const BoxDeclaration box{"small", {.partitions = 1, .body_bytes_max = 3}};
    store_->declare({&box, 1}, {});
    const postgres::Transaction transaction{*own_};
    Message message = placed("four");
    message.box = "small";

    try {
        publish(message);
        ADD_FAILURE() << "it was taken";
    } catch (const InvalidMessage& error) {
        EXPECT_THAT(error.what(), HasSubstr("body has 4 bytes; at most 3 are allowed"));
    }
}

TEST_F(PostgresPublish, OrderedIntoALaneWaitsForTheOneBeforeAndComesAfterIt) {
    options_.ordered = true;
    postgres::Transaction first{*own_};
    const AppendResult one = publish(placed("first", "lane"));
    AppendResult two;
    Background second{[&](const std::stop_token&) {
        auto other = stranger();
        postgres::Transaction transaction{*other};
        two = postgres::publish(other->handle(), placed("second", "lane"), options_);
        transaction.commit();
    }};
    wait_for_a_waiter();
    EXPECT_EQ(store_->count({}), 0U);

    first.commit();
    second.join();

    EXPECT_LT(one.sequence, two.sequence);
    EXPECT_THAT(stored_bodies(), ElementsAre("first", "second"));
}

TEST_F(PostgresPublish, WithoutOrderOrInAnotherLaneNobodyWaits) {
    const postgres::Transaction first{*own_};
    options_.ordered = true;
    publish(placed("first", "lane"));
    auto other = stranger();
    postgres::Transaction transaction{*other};

    postgres::publish(other->handle(), placed("elsewhere", "other lane"), options_);
    options_.ordered = false;
    postgres::publish(other->handle(), placed("unordered", "lane"), options_);
    transaction.commit();

    EXPECT_EQ(store_->count({}), 2U);
}

TEST_F(PostgresPublish, ANotificationComesWithTheCommitWhenAskedFor) {
    auto listener = stranger();
    listener->script("listen \"" + schema_.name() + "\"", "test");
    options_.notify = true;
    postgres::Transaction transaction{*own_};
    publish(placed("x"));
    ask_on(*listener, "select 1");
    EXPECT_EQ(PQnotifies(listener->handle()), nullptr);

    transaction.commit();
    PGnotify* told = nullptr;
    while (told == nullptr) {
        ask_on(*listener, "select 1");
        told = PQnotifies(listener->handle());
    }
    PQfreemem(told);
}

TEST_F(PostgresPublish, ASynchronousStandbyMakesALocalCommitTooWeak) {
    const auto set = [&](const std::string& names) {
        ask("alter system set synchronous_standby_names = '" + names + "'");
        ask("select pg_reload_conf()");
        while (ask("show synchronous_standby_names") != names) std::this_thread::yield();
    };
    ask("set synchronous_commit = local");
    options_.outside_transaction = true;
    EXPECT_EQ(publish(placed("none is asked for")).status, Status::fresh);

    set("standby");
    EXPECT_EQ(reaction_of([&] { publish(placed("x")); }), Reaction::give_up);
    set("");
}

}  // namespace
}  // namespace waybill::test
