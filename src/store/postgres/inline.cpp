#include <libpq-events.h>

#include "calls.hpp"
#include "core/progress.hpp"
#include "error_map.hpp"

namespace waybill::postgres {
namespace {

using detail::progress_of;
using detail::put_progress;
using Record = InlineResult::Record;

struct State {
    /// `recorded` while the delivery is still to be done.
    Record record = Record::recorded;
    OpenRow row{};
    /// When the transaction that asked began.
    std::string moment{};
};

State state_of(Database& db, const InlineRequest& request) {
    const Fence& fence = request.fence;
    Rows rows = db.read(sql::inline_state, fence.partition, fence.token.owner,
                        static_cast<std::int64_t>(fence.token.epoch), fence.token.generation,
                        request.sequence);
    rows.next();
    State state{.moment = rows.string(0)};
    if (!rows.flag(1)) {
        state.record = Record::lost;
    } else if (rows.is_null(2)) {
        state.record = Record::already;
    } else {
        state.row = open_row(rows, 2);
        const Progress* known = progress_of(state.row.entry, request.target);
        const bool is_ready = known == nullptr || known->state == Progress::State::ready;
        if (!is_ready) state.record = Record::already;
    }
    return state;
}

/// What a handler did to its session ends with it: settings, roles, temporary tables, prepared statements,
/// locks. One that cannot be put back is not used again.
class HandlersSession {
public:
    explicit HandlersSession(Database& db) : db_(db) {}
    ~HandlersSession() {
        if (db_.handle() == nullptr) return;
        try {
            db_.reset_session();
        } catch (const StoreError&) {
            db_.close();
        }
    }
    HandlersSession(const HandlersSession&) = delete;
    HandlersSession& operator=(const HandlersSession&) = delete;

private:
    Database& db_;
};

std::string moment_of(Database& db) {
    Rows rows = db.read(sql::moment);
    return rows.next() ? rows.string(0) : "";
}

[[noreturn]] void blame_handler() {
    throw StoreError{Reaction::bad_data,
                     "postgres store: the inline handler ended the transaction it was given; "
                     "it commits when the handler returns: remove its COMMIT or ROLLBACK"};
}

/// The fence and the record in one statement; nothing is locked before it, and COMMIT follows at once.
bool record(Database& db, const InlineRequest& request, const OpenRow& row) {
    Entry changed = row.entry;
    const Progress* known = progress_of(changed, request.target);
    put_progress(changed, {.target = request.target,
                           .state = Progress::State::done,
                           .failures = known == nullptr ? 0 : known->failures});
    const Fence& fence = request.fence;
    return db.write(sql::record_inline, fence.partition, fence.token.owner,
                    static_cast<std::int64_t>(fence.token.epoch), fence.token.generation,
                    request.sequence, progress_literal(row.entry.progress),
                    progress_literal(changed.progress))
               .count() == 1;
}

/// Why the transaction of a connection failed, whoever sent the statement: a handler throws what it likes.
class LastError {
public:
    explicit LastError(PGconn* connection) : connection_(connection) {
        // It stays registered; without a place to note anything it does nothing.
        PQregisterEventProc(connection, &hear, "waybill", nullptr);
        PQsetInstanceData(connection, &hear, &sqlstate_);
    }
    ~LastError() { PQsetInstanceData(connection_, &hear, nullptr); }
    LastError(const LastError&) = delete;
    LastError& operator=(const LastError&) = delete;

    bool is_collision() const {
        return PQtransactionStatus(connection_) == PQTRANS_INERROR &&
               postgres::is_collision(sqlstate_);
    }

private:
    static int hear(PGEventId id, void* event, void*) {
        if (id != PGEVT_RESULTCREATE) return 1;
        const auto* created = static_cast<const PGEventResultCreate*>(event);
        auto* noted = static_cast<std::string*>(PQinstanceData(created->conn, &hear));
        const char* state = PQresultErrorField(created->result, PG_DIAG_SQLSTATE);
        // What comes after the failure only says that there was one.
        const bool is_echo = state != nullptr && std::string_view{state} == "25P02";
        if (noted != nullptr && state != nullptr && !is_echo) *noted = state;
        return 1;
    }

    PGconn* connection_;
    std::string sqlstate_{};
};

bool is_a_decision(const Outcome& outcome) {
    return std::holds_alternative<Dead>(outcome) || std::holds_alternative<Defer>(outcome);
}

/// The handler's time is its own affair. A connection that broke under its hands, or a transaction that the
/// server chose to end for another's sake, is the store's trouble and not its failure, whatever it made of it.
Outcome in_its_own_time(Database& db, const std::function<Outcome(void* native)>& body) {
    const LastError last{db.handle()};
    const auto check = [&] {
        if (PQstatus(db.handle()) != CONNECTION_OK) {
            throw StoreError{Reaction::reconnect,
                             "postgres store: the connection was lost while an inline handler "
                             "ran; nothing of it was applied"};
        }
    };
    const auto check_collision = [&] {
        if (!last.is_collision()) return;
        throw StoreError{Reaction::retry,
                         "postgres store: the transaction of an inline handler collided with "
                         "another one; nothing of it was applied"};
    };
    try {
        Outcome outcome = body(db.handle());
        db.start_call();
        check();
        if (!is_a_decision(outcome)) check_collision();
        return outcome;
    } catch (...) {
        db.start_call();
        check();
        check_collision();
        throw;
    }
}

}  // namespace

InlineResult run_inline(Database& db, const InlineRequest& request,
                        const std::function<Outcome(void* native)>& body) {
    if (const State before = state_of(db, request); before.record != Record::recorded) {
        return {before.record, Done{}};
    }
    const HandlersSession session{db};
    Transaction transaction{db};
    const std::string moment = moment_of(db);
    Outcome outcome = in_its_own_time(db, body);
    const PGTransactionStatusType status = PQtransactionStatus(db.handle());
    if (status == PQTRANS_IDLE) blame_handler();
    const bool is_done = std::holds_alternative<Done>(outcome);
    if (status == PQTRANS_INERROR) {
        if (!is_done) return {Record::not_done, std::move(outcome)};
        return {Record::not_done,
                Fail{.reason = "a statement of the inline handler failed and its transaction with "
                               "it, but it returned Done; let it fail, or use a savepoint"}};
    }
    // What follows needs our own rights, and what the commit warns of must be heard.
    db.script("reset session authorization; reset role; set local client_min_messages = warning",
              "inline");
    const State state = state_of(db, request);
    if (state.moment != moment) blame_handler();
    if (!is_done) return {Record::not_done, std::move(outcome)};
    if (state.record != Record::recorded) return {state.record, Done{}};
    if (!record(db, request, state.row)) return {state_of(db, request).record, Done{}};
    try {
        transaction.commit();
    } catch (const StoreError& error) {
        if (error.reaction() != Reaction::find_out) throw;
        return {Record::unknown, Done{}};
    }
    return {Record::recorded, Done{}};
}

}  // namespace waybill::postgres
