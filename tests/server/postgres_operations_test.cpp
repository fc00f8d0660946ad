/// One operation id, ordered by two processes at once on a store they share.

#include <atomic>

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include "server/answer.hpp"
#include "server/operations.hpp"
#include "support/later.hpp"
#include "support/postgres_server.hpp"
#include "waybill/json.hpp"
#include "waybill/postgres.hpp"

namespace waybill::test {
namespace {

/// Until somebody waits for a name that another one holds.
void wait_for_a_waiter(const std::string& url) {
    PGconn* const connection = PQconnectdb(url.c_str());
    for (bool waits = false; !waits;) {
        PGresult* const result =
            PQexec(connection, "select from pg_locks where locktype = 'advisory' and not granted");
        ASSERT_EQ(PQresultStatus(result), PGRES_TUPLES_OK) << PQerrorMessage(connection);
        waits = PQntuples(result) > 0;
        PQclear(result);
    }
    PQfinish(connection);
}

TEST(PostgresOperations, TwoProcessesThatOrderTheSameAtOnceActOnce) {
    PostgresServer::instance().create("operations");
    const std::string url = PostgresServer::instance().url("operations");
    const auto first_store = postgres::open(url);
    const auto second_store = postgres::open(url);
    first_store->migrate();
    server::Operations first{*first_store};
    server::Operations second{*second_store};
    const server::OperationName name{.id = "op-1", .actor = "ada", .fingerprint = "requeue"};
    std::atomic<int> carried_out = 0;
    std::future<HttpResponse> other;

    const HttpResponse answer = first.carry_out(name, [&](server::Operation&) {
        ++carried_out;
        other = later_answer([&] {
            return second.carry_out(name, [&](server::Operation&) {
                ++carried_out;
                return server::json_response(200, json::Object{{"by", "second"}});
            });
        });
        wait_for_a_waiter(url);
        return server::json_response(200, json::Object{{"by", "first"}});
    });
    const HttpResponse again = other.get();

    EXPECT_EQ(carried_out, 1);
    EXPECT_EQ(again.status, 200U) << again.body;
    EXPECT_EQ(again.body, answer.body);
    EXPECT_NE(again.headers.find("Idempotency-Replayed"), nullptr);
}

}  // namespace
}  // namespace waybill::test
