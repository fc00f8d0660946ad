#include "fault/fixture.hpp"
#include "support/postgres_pooler.hpp"

/// pgbouncer in transaction mode between everybody and the server.
namespace waybill::fault {
namespace {

class ThroughAPooler : public Fault {
protected:
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

}  // namespace
}  // namespace waybill::fault
