#include "fault/fixture.hpp"

/// pgbouncer in transaction mode between everybody and the server.
namespace waybill::fault {
namespace {

/// A pooler of our own in front of a cluster.
class Pooler {
public:
    explicit Pooler(const test::PostgresCluster& cluster) {
        const std::string settings = folder_.write(
            "pgbouncer.ini", "[databases]\n* = host=" + cluster.socket_folder() +
                                 " user=waybill\n[pgbouncer]\nunix_socket_dir = " + folder_.path() +
                                 "\nlisten_port = 6432\nauth_type = any\npool_mode = transaction\n"
                                 "default_pool_size = 8\nmax_client_conn = 200\n");
        program_ = test::Servant{{"/usr/sbin/pgbouncer", settings}, folder_.path() + "/log", 9};
        const std::string ping = conninfo("postgres");
        if (!look_until([&] { return PQping(ping.c_str()) == PQPING_OK; }, Instances::patience)) {
            throw std::runtime_error("pgbouncer does not start: see " + folder_.path() + "/log");
        }
    }
    std::string conninfo(const std::string& database) const {
        return "host=" + folder_.path() + " port=6432 user=waybill dbname=" + database;
    }

private:
    test::ServerFolder folder_{};
    test::Servant program_{};
};

class ThroughAPooler : public Fault {
protected:
    Pooler pooler_{cluster_};
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

}  // namespace
}  // namespace waybill::fault
