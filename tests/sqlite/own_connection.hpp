#pragma once

#include <stdexcept>
#include <string>

#include <sqlite3.h>

namespace waybill::test {

/// The application's own connection to a file, as it would open one.
class OwnConnection {
public:
    explicit OwnConnection(const std::string& path) {
        if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw std::runtime_error("cannot open");
        sqlite3_busy_timeout(db_, 20'000);
        run("pragma synchronous = full");
    }
    ~OwnConnection() { sqlite3_close(db_); }
    OwnConnection(const OwnConnection&) = delete;
    OwnConnection& operator=(const OwnConnection&) = delete;

    sqlite3* handle() const { return db_; }
    void run(const std::string& statements) {
        char* message = nullptr;
        if (sqlite3_exec(db_, statements.c_str(), nullptr, nullptr, &message) == SQLITE_OK) return;
        const std::string text = message == nullptr ? "?" : message;
        sqlite3_free(message);
        throw std::runtime_error(statements + ": " + text);
    }
    /// The first column of the first row; nothing is empty.
    std::string ask(const std::string& query) {
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(db_, query.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
            throw std::runtime_error(query + ": " + sqlite3_errmsg(db_));
        }
        std::string answer;
        if (sqlite3_step(statement) == SQLITE_ROW) {
            const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
            if (text != nullptr) answer = text;
        }
        sqlite3_finalize(statement);
        return answer;
    }
    int count(const std::string& table) { return std::stoi(ask("select count(*) from " + table)); }

private:
    sqlite3* db_ = nullptr;
};

}  // namespace waybill::test
