#include "database.hpp"

#include <poll.h>

#include "commit_watch.hpp"
#include "connect.hpp"
#include "core/wording.hpp"
#include "error_map.hpp"
#include "waybill/system.hpp"

namespace waybill::postgres {

Database::Database(Address address) : address_(std::move(address)) {
    start_call();
    connection_ = open_connection(address_, *until_);
    try {
        meet_the_server();
    } catch (...) {
        PQfinish(connection_);
        throw;
    }
}

/// Which server it is, and whether it is ours alone: a pooler between us gives us another session for every
/// transaction, and a backend that is not the one it introduced.
void Database::meet_the_server() {
    Rows rows = script(
        "select pg_backend_pid(), case when pg_is_in_recovery() then '' else (select "
        "system_identifier || '/' || coalesce(to_regclass('" +
            address_.schema +
            ".open')::oid, 0) || '/' || "
            "substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) from pg_control_system()) end",
        "open");
    rows.next();
    is_pooled_ = rows.string(0) != std::to_string(PQbackendPID(connection_));
    generation_ = rows.string(1);
    if (!is_pooled_) script(session_settings(address_, false), "open");
    end_call();
}

Database::Database(PGconn* borrowed, std::string schema, Duration deadline)
    : address_{.schema = std::move(schema), .deadline = deadline},
      connection_(borrowed),
      is_borrowed_(true) {}

Database::~Database() {
    if (!is_borrowed_) PQfinish(connection_);
}

void Database::start_call(std::optional<Duration> deadline) {
    until_ = later(system_clock().now(), deadline.value_or(address_.deadline));
}

void Database::continue_call(LocalTime until) {
    until_ = until;
}

std::string Database::begin_text() const {
    if (!is_pooled_) return "begin";
    return "begin isolation level read committed;" + session_settings(address_, true);
}

bool Database::is_usable() {
    // The server's last words come before its end does.
    constexpr int kLooks = 4;
    for (int look = 0; look < kLooks && PQstatus(connection_) == CONNECTION_OK; ++look) {
        pollfd socket{PQsocket(connection_), POLLIN, 0};
        if (::poll(&socket, 1, 0) <= 0) break;
        PQconsumeInput(connection_);
        PQisBusy(connection_);
    }
    return PQstatus(connection_) == CONNECTION_OK &&
           PQtransactionStatus(connection_) == PQTRANS_IDLE;
}

void Database::reset_session() {
    // Through a pooler the session is somebody else's by now.
    if (is_pooled_) return;
    // DISCARD ALL, but for what it would throw away for nothing, and in one round trip.
    script(
        "close all; set session authorization default; reset role; reset all; deallocate all;"
        "unlisten *; select pg_advisory_unlock_all(); discard temp; discard sequences;" +
            session_settings(address_, false),
        "reset the session");
    is_prepared_.fill(false);
}

void Database::close() {
    if (!is_borrowed_) PQfinish(connection_);
    connection_ = nullptr;
}

std::string in_schema(std::string_view text, const std::string& schema) {
    constexpr std::string_view name = "waybill.";
    if (schema == "waybill") return std::string{text};
    std::string out;
    for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name)) {
        out.append(text.substr(0, at)).append("\"").append(schema).append("\".");
        text.remove_prefix(at + name.size());
    }
    return out.append(text);
}

std::string Database::in_schema(std::string_view text) const {
    return postgres::in_schema(text, address_.schema);
}

std::string Database::text_of(const sql::Query& query) const {
    return in_schema(query.text);
}

void Database::prepare(const sql::Query& query, Effect effect) {
    if (is_prepared_[query.number]) return;
    const std::string name = std::string{"waybill_"} + query.name;
    if (PQsendPrepare(connection_, name.c_str(), text_of(query).c_str(), 0, nullptr) == 0) {
        lost(query.name, effect, PQerrorMessage(connection_));
    }
    PQclear(answer(query.name, Effect::none));
    is_prepared_[query.number] = true;
}

PGresult* Database::run(const sql::Query& query, Effect effect, const Parameters& parameters) {
    if (is_pooled_ && !in_transaction()) {
        // Settings count for this transaction only; of the next one we get another session.
        Transaction transaction{*this};
        std::unique_ptr<PGresult, decltype(&PQclear)> result{send(query, Effect::none, parameters),
                                                             &PQclear};
        script("commit", query.name, effect);
        return result.release();
    }
    return send(query, effect, parameters);
}

PGresult* Database::send(const sql::Query& query, Effect effect, const Parameters& parameters) {
    const std::vector<int> formats(parameters.values.size(), 1);
    const auto count = static_cast<int>(parameters.values.size());
    int sent = 0;
    if (is_borrowed_ || is_pooled_ || address_.role == Role::handler) {
        // Not ours alone: nothing is left behind on it, and nothing is missed when others clear it.
        sent = PQsendQueryParams(connection_, text_of(query).c_str(), count, nullptr,
                                 parameters.values.data(), parameters.lengths.data(),
                                 formats.data(), 1);
    } else {
        prepare(query, Effect::none);
        const std::string name = std::string{"waybill_"} + query.name;
        sent = PQsendQueryPrepared(connection_, name.c_str(), count, parameters.values.data(),
                                   parameters.lengths.data(), formats.data(), 1);
    }
    if (sent == 0) lost(query.name, Effect::none, PQerrorMessage(connection_));
    return answer(query.name, effect);
}

Rows Database::script(const std::string& text, std::string_view doing, Effect effect) {
    if (PQsendQuery(connection_, text.c_str()) == 0) {
        lost(doing, Effect::none, PQerrorMessage(connection_));
    }
    return Rows{answer(doing, effect)};
}

PGresult* Database::answer(std::string_view doing, Effect effect) {
    if (effect == Effect::none) return take_answer(doing, effect);
    const CommitWatch watch{connection_, is_borrowed_ ? Whose::borrowed : Whose::ours};
    std::unique_ptr<PGresult, decltype(&PQclear)> found{take_answer(doing, effect), &PQclear};
    if (watch.was_cancelled()) lost(doing, effect, CommitWatch::text);
    return found.release();
}

PGresult* Database::take_answer(std::string_view doing, Effect effect) {
    const LocalTime until = until_.value_or(later(system_clock().now(), address_.deadline));
    for (int left = PQflush(connection_); left != 0; left = PQflush(connection_)) {
        if (left < 0) lost(doing, effect, PQerrorMessage(connection_));
        // Whoever does not read while the other side writes may wait for ever.
        wait(true, until, doing, effect);
        if (PQconsumeInput(connection_) == 0) lost(doing, effect, PQerrorMessage(connection_));
    }
    std::unique_ptr<PGresult, decltype(&PQclear)> found{nullptr, &PQclear};
    for (;;) {
        while (PQisBusy(connection_) != 0) {
            wait(false, until, doing, effect);
            if (PQconsumeInput(connection_) == 0) lost(doing, effect, PQerrorMessage(connection_));
        }
        PGresult* const result = PQgetResult(connection_);
        if (result == nullptr) break;
        // Of several statements the last one answers, unless one failed.
        const bool has_failed = found && PQresultStatus(found.get()) == PGRES_FATAL_ERROR;
        if (has_failed) {
            PQclear(result);
        } else {
            found.reset(result);
        }
        if (PQstatus(connection_) != CONNECTION_OK) break;
    }
    if (!found) lost(doing, effect, PQerrorMessage(connection_));
    if (PQresultStatus(found.get()) != PGRES_FATAL_ERROR) return found.release();

    const char* const state = PQresultErrorField(found.get(), PG_DIAG_SQLSTATE);
    if (state == nullptr) lost(doing, effect, PQresultErrorMessage(found.get()));
    if (effect == Effect::commits && leaves_doubt(state)) {
        lost(doing, effect, PQresultErrorMessage(found.get()));
    }
    const char* const message = PQresultErrorField(found.get(), PG_DIAG_MESSAGE_PRIMARY);
    const ServerError error = error_of(state, message == nullptr ? "" : message, doing);
    // A server that only reads may be a standby by now: the next connection may lead to the primary.
    const bool is_over = error.reaction() == Reaction::reconnect || error.is_read_only();
    if (is_over && !is_borrowed_) {
        PQfinish(connection_);
        connection_ = nullptr;
    }
    throw error;
}

void Database::wait(bool to_write, LocalTime until, std::string_view doing, Effect effect) {
    if (wait_for_socket(PQsocket(connection_), to_write, until)) return;
    lost(doing, effect, "no answer within " + detail::readable(address_.deadline));
}

void Database::lost(std::string_view doing, Effect effect, const std::string& why) {
    std::string text = "postgres store: " + std::string{doing} + ": ";
    text += why.empty() ? "the connection was lost" : why;
    while (text.ends_with('\n')) text.pop_back();
    if (!is_borrowed_) {
        PQfinish(connection_);
        connection_ = nullptr;
    }
    if (effect == Effect::none) throw StoreError{Reaction::reconnect, text};
    throw StoreError{Reaction::find_out, text + "; it may have been applied or not"};
}

Transaction::~Transaction() {
    if (db_.handle() == nullptr || !db_.in_transaction()) return;
    try {
        db_.script("rollback", "rollback");
    } catch (const StoreError&) {
        // The connection is gone, and the transaction with it.
    }
}

}  // namespace waybill::postgres
