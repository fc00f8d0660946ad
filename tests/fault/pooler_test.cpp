#include "fault/fixture.hpp"
#include "support/postgres_pooler.hpp"
#include "support/run_together.hpp"
#include "waybill/postgres/guard.hpp"
#include "waybill/postgres/publish.hpp"

/// pgbouncer in transaction mode between everybody and the server.
namespace waybill::fault {
namespace {

class ThroughAPooler : public Fault {
protected:
    static Message invoice(const std::string& number) {
        Message message = order(1, 1);
        message.correlation_id = number;
        return message;
    }
    static postgres::GuardOptions by_invoice() {
        return {.consumer = "billing",
                .key = [](const Message& message) { return message.correlation_id; },
                .busy_timeout = 1min};
    }
    static void book(PGconn* connection) {
        const std::string statement =
            "insert into effect values ('00000000-0000-0000-0000-000000000001')";
        PQclear(PQexec(connection, statement.c_str()));
    }
    /// By every way there is, several messages in one transaction; every third is rolled back. How many were published.
    static int publish_in_transactions(Client& business, int publisher, int transactions) {
        int published = 0;
        for (int n = 0; n < transactions; ++n) {
            business.run("begin");
            postgres::publish(business.handle(), order(publisher, 3 * n));
            const std::vector<Message> list{order(publisher, 3 * n + 1)};
            postgres::publish(business.handle(), list);
            business.run("select waybill.publish('quick', '" + std::to_string(3 * n + 2) +
                         "', 'orders', lane => 'lane" + std::to_string(publisher) + "')");
            const bool is_kept = n % 3 != 0;
            business.run(is_kept ? "commit" : "rollback");
            published += is_kept ? 3 : 0;
        }
        return published;
    }

    test::PostgresPooler pooler_{cluster_};
};

TEST_F(ThroughAPooler, InTransactionModeWorkGoesOnAndHealthSaysWhatIsMissing) {
    Instance like = instance("");
    like.conninfo = pooler_.conninfo(database_);
    for (const char* name : {"one", "two"}) {
        like.name = name;
        instances_.start(like);
    }
    auto app = publisher(like.conninfo);
    Load load{*app, 16, 5ms};
    for (int n = 0; n < 50; ++n) app->append(entry(n));
    ASSERT_TRUE(instances_.wait_for(ran(), 100)) << heard_kinds();
    const int published = load.stop();

    ASSERT_TRUE(wait_done()) << heard_kinds();
    EXPECT_EQ(count(Filter::State::done), static_cast<std::uint64_t>(published) + 50);
    EXPECT_EQ(wrong_effects(), "0");
    EXPECT_EQ(lane_problems(), "");
    for (const char* trouble : {"failed", "read_failed", "beat_failed", "settle_failed"}) {
        EXPECT_EQ(instances_.count(event(trouble)), 0U) << heard_kinds();
    }
    const auto health = app->health().store.text;
    EXPECT_THAT(health, testing::HasSubstr("through a pooler"));
    EXPECT_THAT(health, testing::HasSubstr("no wake-ups"));
}

TEST_F(ThroughAPooler, OurSettingsDoNotReachTheSessionsOfOthers) {
    auto app = publisher(pooler_.conninfo(database_));
    for (int n = 0; n < 20; ++n) app->append(entry(n));

    // Of all sessions that the pooler has made for us.
    Client other{pooler_.conninfo(database_)};
    for (int n = 0; n < 20; ++n) {
        EXPECT_EQ(other.run("show statement_timeout"), "0");
        EXPECT_EQ(other.run("show search_path"), "\"$user\", public");
        EXPECT_EQ(other.run("select count(*) from pg_prepared_statements"), "0");
    }
}

/// More of them than the pooler has sessions: each transaction may be in another one.
TEST_F(ThroughAPooler, ManyPublishInTheirTransactionsAndWhatTheyCommitIsHandledOnce) {
    instances_.start(instance("only"));
    ASSERT_TRUE(instances_.wait_for(event("scanned"), 16));
    constexpr int kPublishers = 12;
    std::atomic<int> published = 0;

    test::run_together(kPublishers, [&](int publisher) {
        Client business{pooler_.conninfo(database_)};
        published += publish_in_transactions(business, publisher, 9);
    });

    ASSERT_TRUE(wait_done()) << heard_kinds();
    EXPECT_EQ(published.load(), kPublishers * 6 * 3);
    EXPECT_EQ(count(Filter::State::done), static_cast<std::uint64_t>(published.load()));
    EXPECT_EQ(instances_.count(ran()), static_cast<std::size_t>(published.load()));
    EXPECT_EQ(lane_problems(), "");
    Client other{pooler_.conninfo(database_)};
    EXPECT_EQ(other.run("select count(*) from pg_prepared_statements"), "0");
}

TEST_F(ThroughAPooler, APublishOutsideATransactionIsRefusedFromCppAndOneOfItsOwnInSql) {
    Client business{pooler_.conninfo(database_)};

    EXPECT_THROW(postgres::publish(business.handle(), order(1, 1)), StoreError);
    business.run("select waybill.publish('quick', '2', 'orders')");

    EXPECT_EQ(count(Filter::State::open), 1U);
}

TEST_F(ThroughAPooler, AGuardedConsumerHasItsEffectOnceHoweverOftenItsMessageComes) {
    postgres::Guard guard{by_invoice()};
    Client consumer{pooler_.conninfo(database_)};
    const auto fail = [](PGconn* connection) {
        book(connection);
        throw std::runtime_error{"rolled back"};
    };
    EXPECT_THROW(guard.run(consumer.handle(), invoice("1"), fail), std::runtime_error);
    EXPECT_EQ(consumer.run("select count(*) from effect"), "0");

    std::atomic<int> ran = 0;
    constexpr int kDeliveries = 12;
    test::run_together(kDeliveries, [&](int) {
        Client own{pooler_.conninfo(database_)};
        ran += guard.run(own.handle(), invoice("1"), book) == postgres::Guarded::ran ? 1 : 0;
    });

    EXPECT_EQ(ran.load(), 1);
    EXPECT_EQ(consumer.run("select count(*) from effect"), "1");
    // In a transaction of the consumer's own it counts when that commits.
    consumer.run("begin");
    EXPECT_EQ(guard.run(consumer.handle(), invoice("2"), book), postgres::Guarded::ran);
    consumer.run("rollback");
    EXPECT_EQ(consumer.run("select count(*) from effect"), "1");
}

}  // namespace
}  // namespace waybill::fault
