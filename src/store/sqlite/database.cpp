#include "database.hpp"

#include <cstring>

#include "core/assert.hpp"
#include "error_map.hpp"

namespace waybill::sqlite {

bool Rows::next() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    raise(sqlite3_db_handle(statement_), code, name_);
}

std::string_view Rows::text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    const int size = sqlite3_column_bytes(statement_, column);
    return bytes == nullptr ? std::string_view{}
                            : std::string_view{bytes, static_cast<std::size_t>(size)};
}

std::string_view Rows::bytes(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    const int size = sqlite3_column_bytes(statement_, column);
    return bytes == nullptr ? std::string_view{}
                            : std::string_view{bytes, static_cast<std::size_t>(size)};
}

Uuid Rows::uuid(int column) const {
    Uuid id;
    const std::string_view found = bytes(column);
    if (found.size() != id.bytes.size()) {
        throw error_of(SQLITE_CORRUPT, "an id has not 16 bytes", name_,
                       sqlite3_db_filename(sqlite3_db_handle(statement_), "main"));
    }
    std::memcpy(id.bytes.data(), found.data(), id.bytes.size());
    return id;
}

Database::Database(const std::string& path, int flags) {
    const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr);
    if (code != SQLITE_OK) {
        const StoreError error =
            error_of(handle_ == nullptr ? code : sqlite3_extended_errcode(handle_),
                     sqlite3_errstr(code), "open", path);
        sqlite3_close(handle_);
        throw error;
    }
    sqlite3_extended_result_codes(handle_, 1);
}

Database::~Database() {
    for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
    if (!is_borrowed_) sqlite3_close_v2(handle_);
}

void Database::wait_at_most(Duration time) {
    const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(time);
    sqlite3_busy_timeout(handle_, static_cast<int>(rounded.count()));
}

sqlite3_stmt* Database::prepare(const sql::Query& query) {
    sqlite3_stmt*& statement = statements_[query.number];
    if (statement == nullptr) {
        const int code =
            sqlite3_prepare_v3(handle_, query.text.data(), static_cast<int>(query.text.size()),
                               SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
        if (code != SQLITE_OK) raise(handle_, code, query.name);
    }
    WAYBILL_ASSERT(!sqlite3_stmt_busy(statement));
    return statement;
}

void Database::finish(sqlite3_stmt* statement, const sql::Query& query) {
    int code = sqlite3_step(statement);
    while (code == SQLITE_ROW) code = sqlite3_step(statement);
    if (code != SQLITE_DONE) {
        try {
            raise(handle_, code, query.name);
        } catch (...) {
            sqlite3_reset(statement);
            throw;
        }
    }
    sqlite3_reset(statement);
}

void Database::script(std::string_view text, std::string_view doing) {
    const int code = sqlite3_exec(handle_, std::string{text}.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) raise(handle_, code, doing);
}

std::string Database::pragma(const char* text) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(handle_, text, -1, &statement, nullptr);
    if (code != SQLITE_OK) raise(handle_, code, text);
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> owner{statement,
                                                                           &sqlite3_finalize};
    Rows rows{statement, text};
    return rows.next() ? rows.string(0) : std::string{};
}

ReadTransaction::~ReadTransaction() {
    try {
        if (db_.in_transaction()) db_.execute(sql::commit);
    } catch (const StoreError&) {
        // A read transaction that does not end by COMMIT ends by itself with its error.
    }
}

}  // namespace waybill::sqlite
