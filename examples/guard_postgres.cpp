// Guard on PostgreSQL: a consumer of some broker, whose messages may come twice. Its writes and the mark that it ran commit
// together. The database is that of WAYBILL_POSTGRES.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <libpq-fe.h>

#include "check.hpp"
#include <waybill/postgres.hpp>
#include <waybill/postgres/guard.hpp>
#include <waybill/postgres/guard_pqxx.hpp>

namespace {

std::string run(PGconn* db, const char* statement) {
    PGresult* const result = PQexec(db, statement);
    CHECK(PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK);
    std::string answer = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
    PQclear(result);
    return answer;
}

// [guard_libpq]
/// Called by the broker's client, perhaps twice for one message.
void on_message(PGconn* db, waybill::postgres::Guard& guard, const waybill::Message& message) {
    const auto result = guard.run(db, message, [](PGconn* tx) {
        run(tx, "INSERT INTO charges DEFAULT VALUES");  // throwing rolls back; it may come again
    });
    if (result == waybill::postgres::Guarded::duplicate) {
        std::printf("%s was here before\n", message.correlation_id.c_str());
    }
}
// [/guard_libpq]

// [guard_pqxx]
void on_message(pqxx::connection& db, waybill::postgres::Guard& guard,
                const waybill::Message& message) {
    pqxx::work tx{db};
    waybill::postgres::run(guard, tx, message, [](pqxx::transaction_base& inner) {
        inner.exec("INSERT INTO charges DEFAULT VALUES");
    });
    tx.commit();
}
// [/guard_pqxx]

}  // namespace

int main() {
    const char* const conninfo = std::getenv("WAYBILL_POSTGRES");
    if (conninfo == nullptr) {
        std::fprintf(stderr, "set WAYBILL_POSTGRES, such as \"host=/tmp dbname=shop\"\n");
        return 2;
    }
    const auto store = waybill::postgres::open(conninfo);  // makes the tables, sweeps old marks
    store->migrate();
    PGconn* const db = PQconnectdb(conninfo);
    run(db, "CREATE TABLE charges (id bigint GENERATED ALWAYS AS IDENTITY)");

    waybill::postgres::Guard guard{{
        .consumer = "billing",
        .key = [](const waybill::Message& message) { return message.correlation_id; },
        .keep = std::chrono::hours{24 * 30},
    }};
    const waybill::Message first{.type = "order.placed", .correlation_id = "order 1"};
    const waybill::Message second{.type = "order.placed", .correlation_id = "order 2"};
    on_message(db, guard, first);
    on_message(db, guard, second);
    on_message(db, guard, first);
    pqxx::connection by_pqxx{conninfo};
    on_message(by_pqxx, guard, second);

    CHECK(run(db, "SELECT count(*) FROM charges") == "2");
    PQfinish(db);
}
