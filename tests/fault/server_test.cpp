#include <set>

#include "fault/fixture.hpp"
#include "waybill/system.hpp"

/// A server that crashes, ends its sessions, reads only, or is replaced by its standby.
namespace waybill::fault {
namespace {

class Server : public Fault {
protected:
    Server() = default;
    explicit Server(test::PostgresCluster& cluster) : Fault(cluster) {}

    void expect_all_done(int published) {
        ASSERT_TRUE(wait_done()) << heard_kinds();
        EXPECT_GE(count(Filter::State::done), static_cast<std::uint64_t>(published));
        EXPECT_EQ(count(Filter::State::dead), 0U);
        EXPECT_EQ(lane_problems(), "");
        EXPECT_EQ(instances_.count(event("failed")), 0U) << heard_kinds();
        EXPECT_EQ(instances_.count(event("reconciled")), 0U);
    }
};

/// A session in the way of everything is ended again and again: work goes on, and nobody takes from anybody.
TEST_F(Server, ThatEndsSessionsAllTheTimeMakesNobodyLoseAnything) {
    const int seconds = setting("WAYBILL_FAULT_SECONDS", 2);
    start_together({"one", "two", "three"}, instance(""));
    auto app = publisher(conninfo());
    Load load{*app, 32, 2ms};

    const int ends = seconds * 5;
    for (int n = 0; n < ends; ++n) {
        cluster_.ask("select pg_terminate_backend(pid) from pg_stat_activity where datname = '" +
                     database_ + "' and application_name = 'waybill' order by random() limit 1");
        pause_for(200ms);  // Five per second, as the issue says.
    }
    const int published = load.stop();

    // Partitions that were given to even the load are another matter.
    EXPECT_EQ(cluster_.ask("select sum(unclean_ends) from waybill.partition", database_), "0");
    EXPECT_EQ(instances_.count(event("lost")), 0U);
    expect_all_done(published);
    RecordProperty("published", published);
}

/// With a server of its own, which others do not need.
class OwnServer {
protected:
    test::PostgresCluster own_{{.replicated = true}};
};

class CrashingServer : private OwnServer, public Server {
protected:
    CrashingServer() : Server(own_) {}
};

TEST_F(CrashingServer, ComesBackAndHasLostNothingOfWhatItAcknowledged) {
    const int rounds = setting("WAYBILL_FAULT_ROUNDS", 2);
    start_together({"one", "two"}, instance(""));
    auto app = publisher(conninfo());
    int published = 0;
    for (int round = 0; round < rounds; ++round) {
        const std::size_t runs = instances_.count(ran());
        Load load{*app, 32, 2ms, published};
        ASSERT_TRUE(instances_.wait_for(ran(), runs + 100)) << heard_kinds();
        cluster_.crash();
        published = load.stop();
        cluster_.start();
    }

    expect_all_done(published);
    RecordProperty("published", published);
}

/// With a server of its own that is replaced by its standby. Nothing is acknowledged that the standby lacks.
class ReplacedServer : private OwnServer, public Server {
protected:
    ReplacedServer() : Server(own_) {
        own_.ask("alter system set synchronous_standby_names = '*'");
        own_.ask("select pg_reload_conf()");
    }
    std::string both() const {
        return "host=" + own_.socket_folder() + "," + standby_.socket_folder() +
               " user=waybill dbname=" + database_;
    }
    /// Fails over under whoever is connected.
    void fail_over() {
        own_.crash();
        instances_.note_failover();
        lines_before_ = instances_.heard().size();
        standby_.promote();
    }
    /// What the primary does from now on, the standby never hears of.
    void part() {
        own_.ask("alter system set synchronous_standby_names = ''");
        own_.ask("select pg_reload_conf()");
        standby_.ask("alter system set primary_conninfo = ''");
        standby_.ask("select pg_reload_conf()");
        look_until([&] { return own_.ask("select count(*) from pg_stat_replication") == "0"; },
                   Instances::patience);
    }

    test::PostgresCluster standby_{test::PostgresCluster::Standby{own_}};
    std::size_t lines_before_ = 0;
};

TEST_F(ReplacedServer, ByItsStandbyLosesNothingAndEverythingIsTakenAndScannedAgain) {
    Instance like = instance("");
    like.conninfo = both();
    start_together({"one", "two"}, like);
    auto app = publisher(both());
    const auto load = std::make_unique<Load>(*app, 32, 2ms);
    ASSERT_TRUE(instances_.wait_for(ran(), 100)) << heard_kinds();

    fail_over();

    const auto all_again = [&](const std::vector<Instances::Heard>& heard) {
        std::set<std::uint32_t> owned;
        std::set<std::uint32_t> scanned;
        for (std::size_t i = lines_before_; i < heard.size(); ++i) {
            const Told& told = heard[i].told;
            if (event("owned")(told)) owned.insert(told.partition);
            if (event("scanned")(told)) scanned.insert(told.partition);
        }
        return owned.size() == 16 && scanned.size() == 16;
    };
    EXPECT_TRUE(instances_.wait_until(all_again)) << heard_kinds();
    const int published = load->stop();
    store_ = postgres::open(standby_.conninfo(database_), patient());
    expect_all_done(published);
    EXPECT_THAT(standby_.ask("select waybill.generation()", database_),
                testing::EndsWith("/00000002"));
    RecordProperty("published", published);
}

/// The next one to be declared gets its numbers.
TEST_F(ReplacedServer, WithoutABoxThatWasJustDeclaredPutsItsMessagesNowhereElse) {
    const auto declare = [](Store& store, const std::string& name) {
        const BoxDeclaration declaration{name, box(8)};
        store.declare({&declaration, 1}, {});
    };
    const auto append = [](Store& store, int number) {
        Message message{.box = "lost", .type = "quick"};
        message.id.bytes[15] = static_cast<std::uint8_t>(number);
        const Append item{.message = std::make_shared<const Message>(message)};
        store.append({&item, 1});
    };
    const auto store = postgres::open(both(), {.wake_ups = false});
    part();
    declare(*store, "lost");
    append(*store, 1);

    fail_over();
    declare(*postgres::open(both(), patient()), "another");
    declare(*store, "lost");
    append(*store, 2);

    EXPECT_EQ(store->count({.box = "lost"}), 1U);
    EXPECT_EQ(store->count({.box = "another"}), 0U);
}

TEST_F(Server, ThatOnlyReadsIsLeftAloneAndSaidSoUntilItWritesAgain) {
    const std::string end_sessions =
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + database_ +
        "' and application_name = 'waybill'";
    instances_.start(instance("only"));
    ASSERT_TRUE(instances_.wait_for(event("scanned"), 16));
    auto app = publisher(conninfo());
    app->append(order(1, 1));

    cluster_.ask("alter database " + database_ + " set default_transaction_read_only = on");
    cluster_.ask(end_sessions);
    EXPECT_TRUE(instances_.wait_for([](const Told& told) {
        return event("beat_failed")(told) &&
               told.text.find("the server only reads") != std::string::npos;
    })) << heard_kinds();
    cluster_.ask("alter database " + database_ + " reset default_transaction_read_only");

    app->append(order(1, 2));
    expect_all_done(2);
}

/// It looks as it did when the dump was made: the same owners, the same epochs.
TEST_F(Server, WhoseTablesAreRestoredUnderALiveInstanceHasThemReadAgain) {
    instances_.start(instance("only"));
    ASSERT_TRUE(instances_.wait_for(event("scanned"), 16));
    auto app = publisher(conninfo());
    Message soon = order(1, 1);
    soon.not_before = system_clock().wall() + 2s;
    app->append(soon);
    cluster_.dump(database_, "waybill", "dump.sql");
    ASSERT_EQ(count(Filter::State::open), 1U);
    expect_all_done(1);

    cluster_.ask("set client_min_messages = warning; drop schema waybill cascade", database_);
    cluster_.restore(database_, "dump.sql");

    EXPECT_TRUE(wait_done()) << heard_kinds();
    EXPECT_EQ(count(Filter::State::done), 1U);
}

}  // namespace
}  // namespace waybill::fault
