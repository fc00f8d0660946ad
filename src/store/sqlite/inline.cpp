#include "inline.hpp"

#include "calls.hpp"
#include "core/wording.hpp"

namespace waybill::sqlite {
namespace {

/// Statements that run past the deadline are interrupted; a handler that does something else cannot be.
class Deadline {
public:
    Deadline(sqlite3* db, Clock& clock, Duration limit)
        : db_(db), clock_(clock), until_(clock.now() + limit) {
        constexpr int kSteps = 10'000;
        sqlite3_progress_handler(
            db_, kSteps,
            [](void* self) { return static_cast<const Deadline*>(self)->has_passed() ? 1 : 0; },
            this);
    }
    ~Deadline() { sqlite3_progress_handler(db_, 0, nullptr, nullptr); }
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

    bool has_passed() const { return clock_.now() > until_; }

private:
    sqlite3* db_;
    Clock& clock_;
    LocalTime until_;
};

/// Rolled back unless committed.
class Transaction {
public:
    explicit Transaction(Database& db) : db_(db) { db_.execute(sql::begin_write); }
    ~Transaction() {
        if (db_.in_transaction()) sqlite3_exec(db_.handle(), "rollback", nullptr, nullptr, nullptr);
    }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    void commit() { db_.execute(sql::commit); }

private:
    Database& db_;
};

Fail too_slow(Duration limit) {
    return {.reason = "the inline handler held the write lock for longer than " +
                      detail::readable(limit) +
                      " and was rolled back; do slow things in an ordinary handler, or raise "
                      "inline_deadline"};
}

}  // namespace

InlineResult run_inline(Session& session, const InlineRequest& request,
                        const std::function<Outcome(void* native)>& body, Clock& clock,
                        Duration deadline) {
    using enum InlineResult::Record;
    Transaction transaction{session.db};
    const auto verdict = inline_verdict(session, request);
    if (verdict != recorded) return {verdict, Done{}};

    {
        const Deadline limit{session.db.handle(), clock, deadline};
        Outcome outcome = body(session.db.handle());
        if (!session.db.in_transaction()) {
            throw StoreError{Reaction::bad_data,
                             "sqlite store: the inline handler ended the transaction it was given; "
                             "it commits when the handler returns: remove its COMMIT or ROLLBACK"};
        }
        if (!std::holds_alternative<Done>(outcome)) return {not_done, std::move(outcome)};
        if (limit.has_passed()) return {not_done, too_slow(deadline)};
    }
    record_inline(session, request);
    transaction.commit();
    return {recorded, Done{}};
}

}  // namespace waybill::sqlite
