#include "support/postgres_under_test.hpp"

#include <mutex>
#include <vector>

#include "calls.hpp"
#include "migrate.hpp"
#include "support/manual_clock.hpp"
#include "support/postgres_server.hpp"

namespace waybill::test {
namespace {

using namespace std::chrono_literals;

/// Schemas that tests before have left empty: to make one takes longer than most tests.
struct Spare {
    std::mutex mutex{};  ///< guards the two below
    int made = 0;
    std::vector<std::string> names{};

    std::string take() {
        const std::lock_guard lock{mutex};
        if (names.empty()) return "test_" + std::to_string(++made);
        std::string name = std::move(names.back());
        names.pop_back();
        return name;
    }
    void put(std::string name) {
        const std::lock_guard lock{mutex};
        names.push_back(std::move(name));
    }
};

Spare& spare() {
    static Spare all;
    return all;
}

constexpr const char* kEmpty =
    "delete from waybill.box; delete from waybill.partition; delete from waybill.instance;"
    "delete from waybill.target; delete from waybill.message; delete from waybill.open;"
    "delete from waybill.finished; delete from waybill.dead; delete from waybill.attempt;"
    "delete from waybill.low_water; delete from waybill.lane_row; delete from waybill.lane_list;"
    "delete from waybill.dedup; delete from waybill.command; delete "
    "from waybill.note;"
    "update waybill.store set registry_version = 0;";

}  // namespace

PostgresSchema::PostgresSchema()
    : options_{.schema = spare().take(),
               .partitions = 1,
               // Nothing is ever late here, however slow the machine is.
               .deadline = 5min,
               .beat_deadline = 5min,
               .people_deadline = 5min,
               // A connection more for each: only for those who look at that.
               .wake_ups = false} {
    admin_ = std::make_unique<postgres::Database>(
        postgres::Address{.conninfo = PostgresServer::instance().conninfo(),
                          .schema = options_.schema,
                          .deadline = 5min,
                          .role = postgres::Role::people});
    postgres::migrate(*admin_, postgres::newest_migration());
    ManualClock clock;
    run("create table if not exists waybill.test_clock (now bigint);"
        "delete from waybill.test_clock;"
        "insert into waybill.test_clock values (" +
        std::to_string(clock.wall().time_since_epoch().count()) +
        ");"
        "create or replace function waybill.clock() returns bigint language sql stable as "
        "'select now from waybill.test_clock';");
}

PostgresSchema::~PostgresSchema() {
    if (!is_clean_) return;
    try {
        run(kEmpty);
        spare().put(options_.schema);
    } catch (const StoreError&) {
        // Somebody still has it locked: the next test gets another one.
    }
}

void PostgresSchema::change(const std::string& statements) {
    is_clean_ = false;
    run(statements);
}

void PostgresSchema::run(const std::string& statements) {
    admin_->script(admin_->in_schema(statements), "test", postgres::Effect::commits);
}

std::unique_ptr<postgres::PostgresStore> PostgresSchema::connect(bool wake_ups) const {
    postgres::Options options = options_;
    options.wake_ups = wake_ups;
    return postgres::open(PostgresServer::instance().conninfo(), options);
}

void PostgresSchema::advance(Duration by) {
    run("update waybill.test_clock set now = now + " + std::to_string(by.count()));
}

void PostgresSchema::append_inside(void* native, const Append& item) const {
    postgres::Database db{static_cast<PGconn*>(native), options_.schema};
    postgres::Boxes boxes;
    postgres::append({db, boxes}, {&item, 1});
}

}  // namespace waybill::test
