// Publish on PostgreSQL: one commit for the order and its announcement, with whatever client you have. The database is
// that of WAYBILL_POSTGRES. Programs named on the command line place an order each, in their own language.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <libpq-fe.h>

#include "check.hpp"
#include <waybill/postgres.hpp>
#include <waybill/postgres/publish.hpp>
#include <waybill/postgres/publish_pqxx.hpp>
#include <waybill/postgres/publish_soci.hpp>
#include <waybill/waybill.hpp>

namespace {

void run(PGconn* db, const char* statement) {
    PGresult* const result = PQexec(db, statement);
    CHECK(PQresultStatus(result) == PGRES_COMMAND_OK);
    PQclear(result);
}

// [publish_libpq]
void place_order(PGconn* db, const std::string& customer, bool is_paid) {
    run(db, "BEGIN");
    run(db, "INSERT INTO orders DEFAULT VALUES");
    waybill::postgres::publish(db, {.type = "order.placed", .body = "{}", .lane = customer});
    run(db, is_paid ? "COMMIT" : "ROLLBACK");
}
// [/publish_libpq]

// [publish_pqxx]
void place_order(pqxx::connection& db, const std::string& customer) {
    pqxx::work tx{db};
    tx.exec("INSERT INTO orders DEFAULT VALUES");
    waybill::postgres::publish(tx, {.type = "order.placed", .body = "{}", .lane = customer});
    tx.commit();
}
// [/publish_pqxx]

// [publish_soci]
void place_order(soci::session& db, const std::string& customer) {
    soci::transaction transaction{db};
    db << "INSERT INTO orders DEFAULT VALUES";
    waybill::postgres::publish(db, {.type = "order.placed", .body = "{}", .lane = customer});
    transaction.commit();
}
// [/publish_soci]

/// Any client that takes SQL and texts.
void execute(PGconn* db, const std::string& sql, const std::vector<std::string>& parameters) {
    std::vector<const char*> values;
    for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
    PGresult* const result = PQexecParams(db, sql.c_str(), static_cast<int>(values.size()), nullptr,
                                          values.data(), nullptr, nullptr, 0);
    CHECK(PQresultStatus(result) == PGRES_TUPLES_OK);
    PQclear(result);
}

void place_order_with_another_client(PGconn* db) {
    run(db, "BEGIN");
    run(db, "INSERT INTO orders DEFAULT VALUES");
    // [publish_prepare]
    const auto statement = waybill::postgres::prepare({.type = "order.placed", .body = "{}"});
    execute(db, statement.sql, statement.parameters);  // your client's own call
    // [/publish_prepare]
    run(db, "COMMIT");
}

void send(PGconn* db, const char* statement) {
    CHECK(PQsendQueryParams(db, statement, 0, nullptr, nullptr, nullptr, nullptr, 0) == 1);
}

void take(PGconn* db, ExecStatusType expected) {
    PGresult* const result = PQgetResult(db);
    CHECK(PQresultStatus(result) == expected);
    PQclear(result);
    if (expected != PGRES_PIPELINE_SYNC) CHECK(PQgetResult(db) == nullptr);
}

void place_order_in_a_pipeline(PGconn* db) {
    CHECK(PQenterPipelineMode(db) == 1);
    // [publish_pipeline]
    waybill::postgres::Publisher publisher{db};
    const std::vector<waybill::Message> messages{{.type = "order.placed", .body = "{}"}};
    send(db, "BEGIN");
    send(db, "INSERT INTO orders DEFAULT VALUES");
    publisher.send(messages);
    send(db, "COMMIT");
    PQpipelineSync(db);

    take(db, PGRES_COMMAND_OK);
    take(db, PGRES_COMMAND_OK);
    publisher.receive();  // in its place among the results; throws what went wrong
    take(db, PGRES_COMMAND_OK);
    take(db, PGRES_PIPELINE_SYNC);
    // [/publish_pipeline]
    CHECK(PQexitPipelineMode(db) == 1);
}

}  // namespace

int main(int argc, char** argv) {
    const char* const conninfo = std::getenv("WAYBILL_POSTGRES");
    if (conninfo == nullptr) {
        std::fprintf(stderr, "set WAYBILL_POSTGRES, such as \"host=/tmp dbname=shop\"\n");
        return 2;
    }

    // The application's own tables and the messages live in one database.
    waybill::Waybill app{{.store = waybill::postgres::open(conninfo)}};
    std::atomic<int> announced = 0;
    app.outbox("announcements")
        .on("order.placed", "announce", [&](const waybill::Message& message) {
            std::printf("announce an order of %s\n",
                        message.lane.empty() ? "somebody" : message.lane.c_str());
            ++announced;
        });
    app.start();

    PGconn* const db = PQconnectdb(conninfo);
    run(db, "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY)");
    place_order(db, "customer 1", true);
    place_order(db, "customer 2", false);
    place_order_with_another_client(db);
    place_order_in_a_pipeline(db);
    pqxx::connection by_pqxx{conninfo};
    place_order(by_pqxx, "customer 3");
    soci::session by_soci{soci::postgresql, conninfo};
    place_order(by_soci, "customer 4");
    for (int i = 1; i < argc; ++i) CHECK(std::system(argv[i]) == 0);

    CHECK(app.wait_idle());
    CHECK(announced == 5 + argc - 1);
    app.stop();
    PQfinish(db);
}
