/// This version on the schema of a later one: the rules of sql/migrations/README.md, tried.

#include <atomic>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include "postgres/fixture.hpp"
#include "support/app.hpp"
#include "support/background.hpp"

namespace waybill::test {
namespace {

using Kind = Event::Kind;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string later_version() {
    std::ifstream file{WAYBILL_SOURCE_DIR "/tests/postgres/later_version.sql"};
    return {std::istreambuf_iterator<char>{file}, {}};
}

class TwoVersions : public Postgres {
protected:
    TwoVersions() {
        // Leases need a clock that moves.
        schema_.change(
            "create or replace function waybill.clock() returns bigint language sql "
            "stable as $$ select (extract(epoch from statement_timestamp()) * "
            "1000000)::bigint $$");
    }
    std::unique_ptr<Waybill> instance(const std::string& name) {
        std::shared_ptr<postgres::PostgresStore> store = schema_.connect(true);
        Settings settings = quick_settings(store, name);
        settings.lease = 60s;
        auto app = std::make_unique<Waybill>(settings);
        app->observe(log_);
        app->inbox("shared", {.partitions = 4}).on("*", "book", [this](const Message& message) {
            const std::lock_guard lock{mutex_};
            lanes_[message.lane].push_back(std::stoi(message.body));
        });
        return app;
    }
    static std::vector<int> up_to(int count) {
        std::vector<int> all;
        for (int number = 0; number < count; ++number) all.push_back(number);
        return all;
    }

    std::mutex mutex_{};  ///< guards lanes_
    std::map<std::string, std::vector<int>> lanes_{};
    EventLog log_{};
};

TEST_F(TwoVersions, TheOldOneWorksOnWhileTheNewOneAddsToTheSchemaAndPublishes) {
    auto running = instance("old-running");
    running->start();
    std::atomic<int> published = 0;
    Background load{[&](const std::stop_token& stop) {
        for (int number = 0; !stop.stop_requested(); ++number) {
            running->append({.type = "t", .body = std::to_string(number), .lane = "old"});
            ++published;
        }
    }};
    while (published < 20) std::this_thread::yield();

    schema_.change(later_version());
    auto started = instance("old-started-later");
    started->start();
    constexpr int kNew = 50;
    auto client = stranger();
    for (int number = 0; number < kNew; ++number) {
        client->script(
            client->in_schema("select waybill.publish_by_priority('t', '" + std::to_string(number) +
                              "', 'shared', 'new', 7::smallint)"),
            "publish", postgres::Effect::commits);
    }
    const int seen = published;
    while (published < seen + 20) std::this_thread::yield();
    load.stop();
    load.join();

    ASSERT_TRUE(log_.wait_for(Kind::finished, static_cast<std::size_t>(published) + kNew));
    EXPECT_EQ(log_.count(Kind::failed), 0U);
    const std::lock_guard lock{mutex_};
    EXPECT_EQ(lanes_["old"], up_to(published));
    EXPECT_EQ(lanes_["new"], up_to(kNew));
    EXPECT_EQ(store_->schema().version, 1000U);
}

TEST_F(TwoVersions, ABreakingMigrationIsRefusedByTheOldOneInWordsThatSayWhatToDo) {
    auto app = instance("old");
    schema_.change(later_version() +
                   "insert into waybill.migration (number, name, checksum, breaking) values "
                   "(1001, 'no_open_table', 'x', true);");
    try {
        app->start();
        FAIL() << "it started";
    } catch (const StoreError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("migration 1001 no_open_table, breaking"),
                                        HasSubstr("run the later version")));
    }
}

TEST_F(TwoVersions, WhoWouldBeBrokenIsNamedBeforeABreakingMigration) {
    InstanceState state{.name = "old", .lease = 1h, .boxes = {"orders"}};
    state.incarnation.bytes[0] = 1;
    store_->beat(state);
    auto db = stranger();
    const auto behind = [&](std::int32_t number) {
        std::vector<std::string> names;
        postgres::Rows rows = db->read(postgres::sql::instances_behind, number);
        while (rows.next()) names.push_back(rows.string(0));
        return names;
    };

    EXPECT_THAT(behind(1000), ElementsAre("old"));
    EXPECT_THAT(behind(1), testing::IsEmpty());
}

}  // namespace
}  // namespace waybill::test
