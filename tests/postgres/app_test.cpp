#include "support/app.hpp"

#include <map>
#include <mutex>

#include "postgres/fixture.hpp"
#include "waybill/postgres/publish.hpp"

/// The engine on it, through the front door.
namespace waybill::test {
namespace {

using Kind = Event::Kind;

/// What was handled, by lane, in that order.
class Lines {
public:
    void add(const Message& message) {
        const std::lock_guard lock{mutex_};
        lines_[message.lane].push_back(std::stoi(message.body));
    }
    std::map<std::string, std::vector<int>> all() {
        const std::lock_guard lock{mutex_};
        return lines_;
    }

private:
    std::mutex mutex_{};  ///< guards lines_
    std::map<std::string, std::vector<int>> lines_{};
};

class PostgresApp : public Postgres {
protected:
    PostgresApp() {
        // Leases need a clock that moves.
        schema_.change(
            "create or replace function waybill.clock() returns bigint language sql "
            "stable as $$ select (extract(epoch from statement_timestamp()) * "
            "1000000)::bigint $$");
    }
    /// A patient lease: this is not about dying.
    std::unique_ptr<Waybill> instance(const std::string& name) {
        std::shared_ptr<postgres::PostgresStore> store = schema_.connect(true);
        Settings settings = quick_settings(store, name);
        settings.lease = 60s;
        auto app = std::make_unique<Waybill>(settings);
        app->observe(log_);
        app->inbox("shared", {.partitions = 8}).on("*", "book", [&](const Message& message) {
            lines_.add(message);
        });
        return app;
    }

    Lines lines_{};
    EventLog log_{};
};

TEST_F(PostgresApp, TwoInstancesHandleEveryMessageOnceAndInOrder) {
    constexpr int kLanes = 10;
    constexpr int kEach = 20;
    auto first = instance("first");
    auto second = instance("second");
    first->start();
    second->start();

    for (int number = 0; number < kEach; ++number) {
        for (int lane = 0; lane < kLanes; ++lane) {
            Waybill& app = number % 2 == 0 ? *first : *second;
            app.append({.type = "t", .body = std::to_string(number), .lane = std::to_string(lane)});
        }
    }

    ASSERT_TRUE(log_.wait_for(Kind::finished, kLanes * kEach));
    std::vector<int> expected;
    for (int number = 0; number < kEach; ++number) expected.push_back(number);
    EXPECT_EQ(lines_.all().size(), std::size_t{kLanes});
    for (const auto& [lane, numbers] : lines_.all()) EXPECT_EQ(numbers, expected) << lane;
}

TEST_F(PostgresApp, WhatIsPublishedBySqlIsHandledOnceItIsCommitted) {
    auto app = instance("only");
    app->start();
    auto db = stranger();
    {
        const postgres::Transaction rolled_back{*db};
        db->script(db->in_schema("select waybill.publish('t', '1', 'shared')"), "test");
    }
    {
        postgres::Transaction committed{*db};
        db->script(db->in_schema("select waybill.publish('t', '2', 'shared')"), "test");
        committed.commit();
    }

    ASSERT_TRUE(log_.wait_for(Kind::finished, 1));
    EXPECT_THAT(lines_.all()[""], testing::ElementsAre(2));
}

}  // namespace
}  // namespace waybill::test
