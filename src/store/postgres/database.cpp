#include "database.hpp"

#include <algorithm>
#include <cerrno>

#include <poll.h>

#include "core/wording.hpp"
#include "error_map.hpp"
#include "waybill/system.hpp"

namespace waybill::postgres {
namespace {

/// The server ends a statement a little before we stop waiting: then we know that nothing was applied.
std::int64_t statement_timeout_ms(Duration deadline) {
    const auto all = std::chrono::duration_cast<std::chrono::milliseconds>(deadline).count();
    return std::max<std::int64_t>(all * 4 / 5, 1);
}

std::string session_settings(const Address& address) {
    std::string text =
        "set client_encoding = 'UTF8'; set standard_conforming_strings = on;"
        "set default_transaction_isolation = 'read committed'; set jit = off;"
        // A session that does not wait for the disk would acknowledge what it may lose. Whoever asks for
        // more (a standby's answer) keeps it.
        "select set_config('synchronous_commit', 'on', false) "
        "where current_setting('synchronous_commit') = 'off';";
    if (address.role != Role::handler) {
        const std::int64_t limit = statement_timeout_ms(address.deadline);
        text += "set statement_timeout = " + std::to_string(limit) +
                "; set lock_timeout = " + std::to_string(std::max<std::int64_t>(limit / 2, 1)) +
                "; set idle_in_transaction_session_timeout = '1min';"
                // Ours name their schema; nobody's functions in another one are called instead.
                "set search_path = pg_catalog, pg_temp;";
    }
    if (address.role == Role::hot) {
        // Tables that fill and empty have statistics that are never true: plans do not depend on them.
        text +=
            "set plan_cache_mode = force_generic_plan; set enable_seqscan = off;"
            "set enable_hashjoin = off; set enable_mergejoin = off; set work_mem = '32MB';";
    }
    return text;
}

struct Keywords {
    std::vector<const char*> names{};
    std::vector<const char*> values{};

    void add(const char* name, const char* value) {
        names.push_back(name);
        values.push_back(value);
    }
};

}  // namespace

Database::Database(Address address) : address_(std::move(address)) {
    try {
        connect();
        script(session_settings(address_), "open");
    } catch (...) {
        PQfinish(connection_);
        throw;
    }
}

Database::Database(PGconn* borrowed, std::string schema, Duration deadline)
    : address_{.schema = std::move(schema), .deadline = deadline},
      connection_(borrowed),
      is_borrowed_(true) {}

Database::~Database() {
    if (!is_borrowed_) PQfinish(connection_);
}

void Database::connect() {
    Keywords words;
    // What comes first is overridden by what the user says.
    words.add("application_name", "waybill");
    words.add("keepalives_idle", "5");
    words.add("keepalives_interval", "2");
    words.add("keepalives_count", "2");
    words.add("tcp_user_timeout", "9000");
    words.add("dbname", address_.conninfo.c_str());
    words.add(nullptr, nullptr);
    connection_ = PQconnectStartParams(words.names.data(), words.values.data(), 1);
    const LocalTime until = later(system_clock().now(), address_.deadline);
    const auto refuse = [&](const std::string& why) {
        throw StoreError{Reaction::back_off, "postgres store: connect: " + why};
    };
    if (connection_ == nullptr) refuse("out of memory");
    for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK;
         next = PQconnectPoll(connection_)) {
        if (PQstatus(connection_) == CONNECTION_BAD || next == PGRES_POLLING_FAILED) {
            std::string why = PQerrorMessage(connection_);
            while (why.ends_with('\n')) why.pop_back();
            refuse(why);
        }
        wait(next == PGRES_POLLING_WRITING, until, "connect", Effect::none);
    }
    PQsetnonblocking(connection_, 1);
    // Notices are for people at a terminal.
    PQsetNoticeReceiver(
        connection_, [](void*, const PGresult*) {}, nullptr);
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
    const std::vector<int> formats(parameters.values.size(), 1);
    const auto count = static_cast<int>(parameters.values.size());
    int sent = 0;
    if (is_borrowed_) {
        // Not ours: nothing is left behind on it.
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
    const LocalTime until = later(system_clock().now(), address_.deadline);
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
    if (error.reaction() == Reaction::reconnect && !is_borrowed_) {
        PQfinish(connection_);
        connection_ = nullptr;
    }
    throw error;
}

void Database::wait(bool to_write, LocalTime until, std::string_view doing, Effect effect) {
    for (;;) {
        int patience_ms = -1;
        if (until != local_never) {
            const Duration left = until - system_clock().now();
            if (left <= Duration{}) {
                lost(doing, effect, "no answer within " + detail::readable(address_.deadline));
            }
            const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
            patience_ms = static_cast<int>(std::min<std::int64_t>(ms, 60'000));
        }
        pollfd socket{PQsocket(connection_),
                      static_cast<short>(to_write ? POLLIN | POLLOUT : POLLIN), 0};
        if (::poll(&socket, 1, patience_ms) > 0) return;
    }
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
