#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

#include "address.hpp"
#include "sql.hpp"
#include "waybill/time.hpp"
#include "waybill/uuid.hpp"
#include "wire.hpp"

namespace waybill::postgres {

/// What one statement answered: walked row by row.
///
/// Lifetime: views live as long as it does.
class Rows {
public:
    explicit Rows(PGresult* result) : result_(result) {}

    /// False: no more.
    bool next() { return ++row_ < PQntuples(result_.get()); }
    int count() const { return PQntuples(result_.get()); }
    int columns() const { return PQnfields(result_.get()); }
    ExecStatusType status() const { return PQresultStatus(result_.get()); }

    bool is_null(int column) const { return PQgetisnull(result_.get(), row_, column) != 0; }
    std::string_view bytes(int column) const {
        return {PQgetvalue(result_.get(), row_, column),
                static_cast<std::size_t>(PQgetlength(result_.get(), row_, column))};
    }
    std::string_view text(int column) const { return bytes(column); }
    std::string string(int column) const { return std::string{bytes(column)}; }
    template <class Number>
    requires std::integral<Number> || std::is_enum_v<Number> Number number(int column)
    const { return static_cast<Number>(get_number(bytes(column))); }
    std::int64_t integer(int column) const { return number<std::int64_t>(column); }
    bool flag(int column) const { return !is_null(column) && number<std::uint8_t>(column) != 0; }
    StoreTime time(int column) const { return StoreTime{Duration{integer(column)}}; }
    Uuid uuid(int column) const { return decode_uuid(bytes(column)); }
    std::vector<std::string> texts(int column) const { return decode_texts(bytes(column)); }

private:
    struct Clear {
        void operator()(PGresult* result) const { PQclear(result); }
    };
    std::unique_ptr<PGresult, Clear> result_;
    int row_ = -1;
};

/// What a lost answer means.
enum class Effect : std::uint8_t {
    none,  ///< nothing is applied yet: the statement only reads, or its transaction is still open
    commits,  ///< it may have been applied
};

/// One connection with its prepared statements: ours, or one that a caller lends us.
///
/// Thread safety: none; whoever owns it serialises its use.
/// Errors:        StoreError, mapped in error_map.cpp. After one that says reconnect or find_out the
///                connection is no longer usable.
class Database {
public:
    explicit Database(Address address);
    /// Borrows: neither configured nor closed here, nothing is left prepared on it, and the deadline is the
    /// caller's.
    Database(PGconn* borrowed, std::string schema, Duration deadline = forever);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    PGconn* handle() const { return connection_; }
    const std::string& schema() const { return address_.schema; }
    /// Of a call.
    Duration deadline() const { return address_.deadline; }
    /// False: closed by the server or by ourselves. Asks the socket, not the server.
    bool is_usable();
    /// The statements until end_call() share one deadline; outside a call each has its own.
    void start_call(std::optional<Duration> deadline = {});
    /// The same for a call that began before it had a connection.
    void continue_call(LocalTime until);
    void end_call() { until_.reset(); }
    /// Through a pooler: nothing is prepared, and settings are made for each transaction.
    bool is_pooled() const { return is_pooled_; }
    /// Of the server it leads to, as waybill.generation(); empty for a standby.
    const std::string& generation() const { return generation_; }
    std::string begin_text() const;
    /// As it was when it was opened, whatever somebody did to its session.
    void reset_session();
    void close();
    bool in_transaction() const { return PQtransactionStatus(connection_) != PQTRANS_IDLE; }

    template <class... Values>
    Rows read(const sql::Query& query, const Values&... values) {
        return Rows{run(query, Effect::none, Parameters{values...})};
    }
    /// By itself, or inside a transaction that somebody began.
    template <class... Values>
    Rows write(const sql::Query& query, const Values&... values) {
        return Rows{
            run(query, in_transaction() ? Effect::none : Effect::commits, Parameters{values...})};
    }
    /// Statements without parameters, several at once.
    Rows script(const std::string& text, std::string_view doing, Effect effect = Effect::none);
    /// A named statement's text in our schema.
    std::string text_of(const sql::Query& query) const;
    std::string in_schema(std::string_view text) const;

private:
    PGresult* run(const sql::Query& query, Effect effect, const Parameters& parameters);
    PGresult* send(const sql::Query& query, Effect effect, const Parameters& parameters);
    void prepare(const sql::Query& query, Effect effect);
    /// Sends what is to be sent and waits for the answer.
    PGresult* answer(std::string_view doing, Effect effect);
    PGresult* take_answer(std::string_view doing, Effect effect);
    void wait(bool to_write, LocalTime until, std::string_view doing, Effect effect);
    [[noreturn]] void lost(std::string_view doing, Effect effect, const std::string& why);
    void meet_the_server();

    Address address_;
    PGconn* connection_ = nullptr;
    bool is_borrowed_ = false;
    bool is_pooled_ = false;
    std::string generation_{};
    std::optional<LocalTime> until_{};
    std::array<bool, sql::query_count> is_prepared_{};
};

/// A text that calls the schema "waybill", for one of another name.
std::string in_schema(std::string_view text, const std::string& schema);

/// Rolled back unless committed.
class Transaction {
public:
    explicit Transaction(Database& db) : db_(db) { db_.script(db_.begin_text(), "begin"); }
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    void commit() { db_.script("commit", "commit", Effect::commits); }

private:
    Database& db_;
};

}  // namespace waybill::postgres
