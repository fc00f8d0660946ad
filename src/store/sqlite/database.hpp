#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <sqlite3.h>

#include "sql.hpp"
#include "waybill/time.hpp"
#include "waybill/uuid.hpp"

namespace waybill::sqlite {

/// Bytes, as opposed to text.
struct Blob {
    std::string_view bytes{};
};
/// Null when empty.
struct OptionalBlob {
    std::string_view bytes{};
};

/// One use of a prepared statement: a row at a time, reset at the end.
///
/// Lifetime: views of a row end with the next row.
class Rows {
public:
    Rows(sqlite3_stmt* statement, const char* name) : statement_(statement), name_(name) {}
    ~Rows() { sqlite3_reset(statement_); }
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    /// False: no more.
    bool next();

    bool is_null(int column) const {
        return sqlite3_column_type(statement_, column) == SQLITE_NULL;
    }
    std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
    template <std::integral Number>
    Number number(int column) const {
        return static_cast<Number>(integer(column));
    }
    bool flag(int column) const { return integer(column) != 0; }
    StoreTime time(int column) const { return StoreTime{Duration{integer(column)}}; }
    std::string_view text(int column) const;
    std::string_view bytes(int column) const;
    std::string string(int column) const { return std::string{text(column)}; }
    Uuid uuid(int column) const;

private:
    sqlite3_stmt* statement_;
    const char* name_;
};

/// A connection with its prepared statements: ours, or one that a caller lends us.
///
/// Thread safety: none; whoever owns it serialises its use.
/// Errors:        StoreError, mapped in error_map.cpp.
class Database {
public:
    /// Opens `path`; `flags` as for sqlite3_open_v2.
    Database(const std::string& path, int flags);
    /// Borrows: neither configured nor closed here.
    explicit Database(sqlite3* borrowed) : handle_(borrowed), is_borrowed_(true) {}
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    sqlite3* handle() const { return handle_; }
    /// Inside a transaction, whoever began it.
    bool in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }
    /// For others to leave the file.
    void wait_at_most(Duration time);
    std::int64_t last_row() const { return sqlite3_last_insert_rowid(handle_); }

    /// Runs it to the end; answers the rows it changed.
    template <class... Values>
    std::uint64_t execute(const sql::Query& query, const Values&... values) {
        sqlite3_stmt* statement = prepare(query);
        int index = 0;
        (bind(statement, ++index, values, SQLITE_STATIC), ...);
        finish(statement, query);
        return static_cast<std::uint64_t>(sqlite3_changes64(handle_));
    }
    /// Its rows, one by one. The statement must not be in use further up.
    template <class... Values>
    Rows query(const sql::Query& query, const Values&... values) {
        sqlite3_stmt* statement = prepare(query);
        int index = 0;
        (bind(statement, ++index, values, SQLITE_TRANSIENT), ...);
        return {statement, query.name};
    }

    /// Statements without parameters or rows, several at once: migrations and pragmas.
    void script(std::string_view text, std::string_view doing);
    /// A pragma's only value.
    std::string pragma(const char* statement);

private:
    sqlite3_stmt* prepare(const sql::Query& query);
    void finish(sqlite3_stmt* statement, const sql::Query& query);

    using Keep = void (*)(void*);
    static void bind(sqlite3_stmt* statement, int index, std::string_view value, Keep keep) {
        sqlite3_bind_text64(statement, index, value.data() == nullptr ? "" : value.data(),
                            value.size(), keep, SQLITE_UTF8);
    }
    static void bind(sqlite3_stmt* statement, int index, const std::string& value, Keep keep) {
        bind(statement, index, std::string_view{value}, keep);
    }
    static void bind(sqlite3_stmt* statement, int index, const char* value, Keep keep) {
        bind(statement, index, std::string_view{value}, keep);
    }
    static void bind(sqlite3_stmt* statement, int index, Blob value, Keep keep) {
        sqlite3_bind_blob64(statement, index, value.bytes.empty() ? "" : value.bytes.data(),
                            value.bytes.size(), keep);
    }
    static void bind(sqlite3_stmt* statement, int index, OptionalBlob value, Keep keep) {
        value.bytes.empty() ? void(sqlite3_bind_null(statement, index))
                            : bind(statement, index, Blob{value.bytes}, keep);
    }
    static void bind(sqlite3_stmt* statement, int index, const Uuid& value, Keep keep) {
        sqlite3_bind_blob(statement, index, value.bytes.data(),
                          static_cast<int>(value.bytes.size()), keep);
    }
    static void bind(sqlite3_stmt* statement, int index, StoreTime value, Keep) {
        sqlite3_bind_int64(statement, index, value.time_since_epoch().count());
    }
    static void bind(sqlite3_stmt* statement, int index, Duration value, Keep) {
        sqlite3_bind_int64(statement, index, value.count());
    }
    template <class Number>
    requires std::integral<Number> || std::is_enum_v<Number>
    static void bind(sqlite3_stmt* statement, int index, Number value, Keep) {
        sqlite3_bind_int64(statement, index, static_cast<std::int64_t>(value));
    }
    template <class Value>
    static void bind(sqlite3_stmt* statement, int index, const std::optional<Value>& value,
                     Keep keep) {
        value ? bind(statement, index, *value, keep) : void(sqlite3_bind_null(statement, index));
    }

    sqlite3* handle_ = nullptr;
    bool is_borrowed_ = false;
    std::array<sqlite3_stmt*, sql::query_count> statements_{};
};

/// A snapshot for as long as it lives.
class ReadTransaction {
public:
    explicit ReadTransaction(Database& db) : db_(db) { db_.execute(sql::begin_read); }
    ~ReadTransaction();
    ReadTransaction(const ReadTransaction&) = delete;
    ReadTransaction& operator=(const ReadTransaction&) = delete;

private:
    Database& db_;
};

}  // namespace waybill::sqlite
