#include <cstdlib>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "migrate.hpp"
#include "postgres/fixture.hpp"
#include "support/background.hpp"
#include "support/network_of_its_own.hpp"
#include "support/pacing.hpp"
#include "support/postgres_proxy.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;

class PostgresConnecting : public Postgres {
protected:
    static std::string socket_folder() {
        return PostgresServer::instance().cluster().socket_folder();
    }
    postgres::Options impatient() const {
        postgres::Options options = schema_.options();
        options.deadline = options.beat_deadline = options.people_deadline = 4s;
        return options;
    }
    static int option_of(PGconn* connection, int level, int name) {
        int value = 0;
        socklen_t size = sizeof value;
        ::getsockopt(PQsocket(connection), level, name, &value, &size);
        return value;
    }

    PostgresProxy proxy_{socket_folder()};
    std::string both_ = "host=127.0.0.1," + socket_folder() +
                        " port=" + std::to_string(proxy_.port()) +
                        ",5432 sslmode=disable gssencmode=disable user=waybill dbname=postgres";
};

TEST_F(PostgresConnecting, AFirstHostThatIsSilentDoesNotKeepUsFromTheSecond) {
    proxy_.silence(true);
    const auto store = postgres::open(both_, impatient());

    EXPECT_TRUE(store->health().reachable);
    store->append(std::vector{order(1)});

    // Each of them would have had to wait for the silent one: now they begin with the one that answered.
    EXPECT_EQ(proxy_.accepted(), 1U);
}

TEST_F(PostgresConnecting, AllHostsThatWereTriedAreNamedWhenNoneAnswers) {
    const auto store = postgres::open("host=/nowhere,/no/where user=waybill", impatient());

    try {
        store->health();
        FAIL() << "nobody is there";
    } catch (const StoreError& error) {
        EXPECT_EQ(error.reaction(), Reaction::back_off);
        EXPECT_THAT(error.what(), HasSubstr("/nowhere"));
        EXPECT_THAT(error.what(), HasSubstr("/no/where"));
    }
}

TEST_F(PostgresConnecting, AConnectionThatIsHalfOpenEndsByItselfWithinTenSeconds) {
    postgres::Database db{
        {.conninfo = proxy_.conninfo("postgres"), .schema = schema_.name(), .deadline = 5min}};

    EXPECT_EQ(option_of(db.handle(), IPPROTO_TCP, TCP_USER_TIMEOUT), 9000);
    const int probes = option_of(db.handle(), IPPROTO_TCP, TCP_KEEPCNT);
    EXPECT_LT(option_of(db.handle(), IPPROTO_TCP, TCP_KEEPIDLE) +
                  probes * option_of(db.handle(), IPPROTO_TCP, TCP_KEEPINTVL),
              10);
}

/// Nobody acknowledges anything, as when the other host has lost its power. An inline handler asks with a call that
/// has no deadline of ours.
TEST_F(PostgresConnecting, ACallWithoutADeadlineEndsWhenTheHostHasGone) {
    std::string not_permitted;
    bool is_over = false;
    Background alone{[&](const std::stop_token&) {
        not_permitted = NetworkOfItsOwn::enter();
        if (!not_permitted.empty()) return;
        const PostgresProxy proxy{socket_folder()};
        // The user says how soon, and the nine seconds of the test above do not have to pass.
        postgres::Database db{{.conninfo = proxy.conninfo("postgres") + " tcp_user_timeout=500",
                               .schema = schema_.name(),
                               .deadline = 5min,
                               .role = postgres::Role::handler}};
        ASSERT_EQ(std::system("ip link set lo down"), 0);
        PQclear(PQexec(db.handle(), "select 1"));
        is_over = !db.is_usable();
    }};
    alone.join();

    ASSERT_TRUE(not_permitted.empty() || NetworkOfItsOwn::may_be_missing()) << not_permitted;
    if (!not_permitted.empty()) GTEST_SKIP() << not_permitted;
    EXPECT_TRUE(is_over);
}

TEST_F(PostgresConnecting, ABeatOfManySlowStatementsEndsWithinOneDeadline) {
    postgres::Options options = schema_.options();
    options.beat_deadline = 1s;
    const auto store = postgres::open(PostgresServer::instance().conninfo(), options);
    own(*store);
    // Less than a statement may take, and several of them more than the beat may.
    schema_.change(
        "create or replace function waybill.clock() returns bigint language plpgsql volatile as "
        "'begin perform pg_sleep(0.25); return 0; end'");

    EXPECT_THROW(own(*store), StoreError);
}

TEST_F(PostgresConnecting, AMigrationMayTakeLongerThanAQuestion) {
    postgres::Options fresh = schema_.options();
    fresh.schema = schema_.name() + "_fresh";
    fresh.people_deadline = 100ms;
    postgres::Database faster{{.conninfo = PostgresServer::instance().conninfo(),
                               .schema = fresh.schema,
                               .deadline = 5min,
                               .idle_max = 5min}};
    postgres::Transaction holds{faster};
    faster.write(postgres::sql::migration_lock);

    std::string trouble;
    Background waits{[&](const std::stop_token&) {
        try {
            postgres::open(PostgresServer::instance().conninfo(), fresh)->migrate();
        } catch (const std::exception& error) {
            trouble = error.what();
        }
    }};
    auto db = stranger();
    const auto has_waited_long = [&] {
        return db->script(
                     "select from pg_stat_activity where wait_event_type = 'Lock' and "
                     "query like '%pg_advisory_xact_lock%' and "
                     "clock_timestamp() - query_start > interval '300 ms'",
                     "wait")
                   .count() > 0;
    };
    EXPECT_TRUE(look_until(has_waited_long, 60s));
    holds.commit();
    waits.join();

    EXPECT_EQ(trouble, "");
}

TEST_F(PostgresConnecting, AListenerWhoseConnectionIsHalfOpenFindsAnotherOne) {
    postgres::Options options = impatient();
    options.deadline = 1s;
    options.wake_ups = true;
    const auto store = postgres::open(proxy_.conninfo("postgres"), options);
    store->on_wake([] {});
    ASSERT_TRUE(look_until([&] { return proxy_.accepted() == 1; }, 60s));
    auto db = stranger();
    const std::string listening =
        "select from pg_stat_activity where state = 'idle' and query = 'listen \"" +
        schema_.name() + "\"'";
    ASSERT_TRUE(look_until([&] { return db->script(listening, "wait").count() == 1; }, 60s));

    proxy_.silence(true);
    const auto begin = steady_now();

    EXPECT_TRUE(look_until([&] { return proxy_.accepted() > 1; }, 60s));
    EXPECT_LE(steady_now() - begin, 10s);
}

}  // namespace
}  // namespace waybill::test
