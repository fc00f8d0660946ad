#include <set>

#include "fault/fixture.hpp"

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
    const int seconds = setting("WAYBILL_FAULT_SECONDS", 4);
    start_together({"one", "two", "three"}, instance(""));
    auto app = publisher(conninfo());
    Load load{*app, 32, 2ms};
    const std::string before = owners();

    const int ends = seconds * 5;
    for (int n = 0; n < ends; ++n) {
        cluster_.ask("select pg_terminate_backend(pid) from pg_stat_activity where datname = '" +
                     database_ + "' and application_name = 'waybill' order by random() limit 1");
        pause_for(200ms);  // Five per second, as the issue says.
    }
    const int published = load.stop();

    EXPECT_EQ(owners(), before);
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

}  // namespace
}  // namespace waybill::fault
