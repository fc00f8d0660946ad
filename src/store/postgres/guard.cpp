#include "waybill/postgres/guard.hpp"

#include <utility>

#include "core/guard_key.hpp"
#include "database.hpp"
#include "publish_columns.hpp"
#include "waybill/postgres.hpp"

namespace waybill::postgres {
namespace {

[[noreturn]] void refuse_guard(const std::string& why) {
    throw StoreError{Reaction::give_up, "guard: " + why};
}

[[noreturn]] void blame_consumer(const std::string& what) {
    throw StoreError{Reaction::bad_data, "guard: the consumer " + what};
}

/// Mark and body: in a transaction of our own, or in a savepoint of the caller's. Undone unless kept.
class Enclosure {
public:
    explicit Enclosure(Database& db) : db_(db), is_inside_(db.in_transaction()) {
        db_.script(is_inside_ ? "savepoint waybill_guard" : "begin", "guard");
    }
    ~Enclosure() {
        if (is_kept_) return;
        try {
            if (is_inside_) {
                db_.script("rollback to waybill_guard; release waybill_guard", "guard");
            } else if (db_.in_transaction()) {
                db_.script("rollback", "guard");
            }
        } catch (const StoreError&) {
            // The connection is gone, or the caller's ROLLBACK will do it; the error in flight says why.
        }
    }
    Enclosure(const Enclosure&) = delete;
    Enclosure& operator=(const Enclosure&) = delete;

    void keep() {
        if (is_inside_) {
            db_.script("release waybill_guard", "guard");
        } else {
            db_.script("set local client_min_messages = warning; commit", "guard", Effect::commits);
        }
        is_kept_ = true;
    }

private:
    Database& db_;
    const bool is_inside_;
    bool is_kept_ = false;
};

void check_connection(PGconn* connection) {
    if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF) {
        refuse_guard("the connection is in pipeline mode; leave it for this call");
    }
    switch (PQtransactionStatus(connection)) {
        case PQTRANS_IDLE:
        case PQTRANS_INTRANS: break;
        case PQTRANS_INERROR:
            refuse_guard("a statement of this transaction has failed; roll it back first");
        default: refuse_guard("the connection is closed, or another statement runs on it");
    }
    detail::check_encoding(PQparameterStatus(connection, "client_encoding"));
}

/// Its writes and its mark are still in one transaction, and that one can commit.
void check_transaction(Database& db, const std::string& moment) {
    switch (PQtransactionStatus(db.handle())) {
        case PQTRANS_INTRANS: break;
        case PQTRANS_INERROR:
            blame_consumer(
                "returned although a statement of its transaction has failed; let it "
                "throw, or use a savepoint");
        case PQTRANS_ACTIVE: blame_consumer("returned while a statement of its own still runs");
        case PQTRANS_UNKNOWN:
            throw StoreError{Reaction::reconnect, "guard: the connection was lost"};
        case PQTRANS_IDLE: break;
    }
    Rows now = db.read(sql::moment);
    if (db.in_transaction() && now.next() && now.text(0) == moment) return;
    blame_consumer(
        "ended the transaction it was called in, so its mark and its writes may be "
        "apart; remove its COMMIT or ROLLBACK");
}

/// As PostgreSQL reads an interval. Empty for ever.
std::string interval_of(Duration duration) {
    constexpr Duration too_long = std::chrono::hours{24 * 365 * 10'000};
    if (duration >= too_long) return "";
    return std::to_string(duration.count()) + " microseconds";
}

/// The parameters of the statement that puts the mark.
std::vector<std::string> parameters_of(const GuardOptions& options, const Message& message,
                                       std::string key) {
    return {options.consumer,
            message.type,
            std::move(key),
            message.id.is_nil() ? "" : to_string(message.id),
            interval_of(options.keep),
            interval_of(options.busy_timeout),
            options.relaxed_durability ? "true" : "false"};
}

}  // namespace

Problems check(const GuardOptions& options) {
    Problems problems = check_guard(options.consumer, options.keep, options.busy_timeout);
    for (std::string& problem : check(Options{.schema = options.schema})) {
        problems.push_back(std::move(problem));
    }
    return problems;
}

Guard::Guard(GuardOptions options) : options_(std::move(options)) {
    if (Problems problems = check(options_); !problems.empty()) {
        throw ConfigError{std::move(problems)};
    }
}

std::optional<Statement> Guard::prepare(const Message& message) {
    std::string key = guard_key(options_.consumer, options_.key, options_.without_key, message);
    if (key.empty()) {
        missing_keys_.fetch_add(1, std::memory_order_relaxed);
        return std::nullopt;
    }
    return Statement{.sql = in_schema(sql::guard.text, options_.schema),
                     .parameters = parameters_of(options_, message, std::move(key))};
}

Guarded Guard::run(pg_conn* connection, const Message& message, const Body& body) {
    const std::string key =
        guard_key(options_.consumer, options_.key, options_.without_key, message);
    check_connection(connection);
    Database db{connection, options_.schema};
    Enclosure enclosure{db};
    const auto p = parameters_of(options_, message, key);
    const auto mark = key.empty() ? std::optional<std::string>{} : std::optional{p[2]};
    Rows answer = db.read(sql::guard_and_moment, p[0], p[1], mark, p[3], p[4], p[5], p[6]);
    answer.next();
    if (mark && !answer.flag(0)) {
        enclosure.keep();
        return Guarded::duplicate;
    }
    body(connection);
    check_transaction(db, answer.string(1));
    enclosure.keep();
    if (mark) return Guarded::ran;
    missing_keys_.fetch_add(1, std::memory_order_relaxed);
    return Guarded::unguarded;
}

}  // namespace waybill::postgres
