#pragma once

#include <string>

#include <gtest/gtest.h>
#include <libpq-fe.h>

namespace waybill::test {

/// A connection of somebody else. What fails there fails the test.
///
/// Thread safety: none.
class PostgresClient {
public:
    explicit PostgresClient(const std::string& conninfo)
        : connection_(PQconnectdb(conninfo.c_str())) {}
    ~PostgresClient() { PQfinish(connection_); }
    PostgresClient(const PostgresClient&) = delete;
    PostgresClient& operator=(const PostgresClient&) = delete;

    /// What the last statement answers first.
    std::string run(const std::string& statements) {
        std::string answer;
        if (!try_to_run(statements, answer)) {
            ADD_FAILURE() << statements << ": " << PQerrorMessage(connection_);
        }
        return answer;
    }
    /// Of statements that are meant to fail: what the server said.
    std::string refused(const std::string& statements) {
        std::string answer;
        EXPECT_FALSE(try_to_run(statements, answer)) << statements;
        return PQerrorMessage(connection_);
    }
    PGconn* handle() const { return connection_; }

private:
    bool try_to_run(const std::string& statements, std::string& answer) {
        PGresult* const result = PQexec(connection_, statements.c_str());
        const ExecStatusType status = PQresultStatus(result);
        if (PQntuples(result) > 0 && PQnfields(result) > 0) answer = PQgetvalue(result, 0, 0);
        PQclear(result);
        return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    }

    PGconn* connection_;
};

}  // namespace waybill::test
