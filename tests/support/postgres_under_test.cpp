#include "support/postgres_under_test.hpp"

#include <atomic>

#include "calls.hpp"
#include "migrate.hpp"
#include "support/manual_clock.hpp"
#include "support/postgres_server.hpp"

namespace waybill::test {
namespace {

using namespace std::chrono_literals;

std::string next_schema_name() {
    static std::atomic<int> count = 0;
    return "test_" + std::to_string(++count);
}

}  // namespace

PostgresSchema::PostgresSchema()
    : options_{.schema = next_schema_name(),
               .partitions = 1,
               // Nothing is ever late here, however slow the machine is.
               .deadline = 5min,
               .beat_deadline = 5min,
               .people_deadline = 5min} {
    admin_ = std::make_unique<postgres::Database>(
        postgres::Address{.conninfo = PostgresServer::instance().conninfo(),
                          .schema = options_.schema,
                          .deadline = 5min,
                          .role = postgres::Role::people});
    postgres::migrate(*admin_, postgres::newest_migration());
    ManualClock clock;
    run("create table waybill.test_clock (now bigint);"
        "insert into waybill.test_clock values (" +
        std::to_string(clock.wall().time_since_epoch().count()) +
        ");"
        "create or replace function waybill.clock() returns bigint language sql stable as "
        "'select now from waybill.test_clock';");
}

PostgresSchema::~PostgresSchema() = default;

void PostgresSchema::run(const std::string& statements) {
    admin_->script(admin_->in_schema(statements), "test", postgres::Effect::commits);
}

std::unique_ptr<postgres::PostgresStore> PostgresSchema::connect() const {
    return postgres::open(PostgresServer::instance().conninfo(), options_);
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
