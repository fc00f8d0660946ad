#include "waybill/sqlite/guard.hpp"

#include <optional>
#include <utility>

#include "caller.hpp"
#include "core/guard_key.hpp"
#include "core/wording.hpp"
#include "waybill/store.hpp"
#include "waybill/system.hpp"

namespace waybill::sqlite {
namespace {

/// Between two tries for a lock that nobody announces the end of.
constexpr int kPauseMs = 1;

std::optional<StoreTime> end_of(StoreTime now, Duration keep) {
    const StoreTime until = later(now, keep);
    return until == store_never ? std::nullopt : std::optional{until};
}

/// A transaction of our own: rolled back unless committed.
class OwnTransaction {
public:
    OwnTransaction(Database& db, Duration patience) : db_(db) {
        const LocalTime until = later(system_clock().now(), patience);
        while (!begun()) {
            if (system_clock().now() < until) {
                sqlite3_sleep(kPauseMs);
                continue;
            }
            throw StoreError{Reaction::retry, "guard: another connection held the write lock for " +
                                                  detail::readable(patience) +
                                                  "; nothing ran: deliver it again"};
        }
    }
    ~OwnTransaction() {
        if (db_.in_transaction()) sqlite3_exec(db_.handle(), "rollback", nullptr, nullptr, nullptr);
    }
    OwnTransaction(const OwnTransaction&) = delete;
    OwnTransaction& operator=(const OwnTransaction&) = delete;

    void keep() { db_.execute(sql::commit); }

private:
    bool begun() {
        try {
            db_.execute(sql::begin_write);
            return true;
        } catch (const StoreError& error) {
            if (error.reaction() != Reaction::retry) throw;
            return false;
        }
    }

    Database& db_;
};

/// Puts the mark; false: it was there.
bool mark(Database& db, const std::string& scope, const std::string& key, const Uuid& id,
          Duration keep) {
    const StoreTime now = system_clock().wall();
    return db.execute(sql::put_mark, scope, key, id, end_of(now, keep), now) == 1;
}

template <class Transaction>
Guarded run_in(Transaction& transaction, Database& db, const Guard::Body& body, bool is_marked) {
    body(db.handle());
    if (!db.in_transaction()) {
        throw StoreError{Reaction::bad_data,
                         "guard: the consumer ended the transaction it was called in, so its mark "
                         "and its writes may be apart; remove its COMMIT or ROLLBACK"};
    }
    transaction.keep();
    return is_marked ? Guarded::ran : Guarded::unguarded;
}

}  // namespace

Problems check(const GuardOptions& options) {
    return check_guard(options.consumer, options.keep, options.busy_timeout);
}

Guard::Guard(GuardOptions options) : options_(std::move(options)) {
    if (Problems problems = check(options_); !problems.empty()) {
        throw ConfigError{std::move(problems)};
    }
}

Guarded Guard::run(sqlite3* handle, const Message& message, const Body& body) {
    const std::string key =
        guard_key(options_.consumer, options_.key, options_.without_key, message);
    Database db{handle};
    prepare_caller(db, options_.relaxed_durability, "guard");
    const auto guarded = [&](auto& transaction) {
        const std::string scope = guard_scope(options_.consumer, message.type);
        if (!key.empty() && !mark(db, scope, key, message.id, options_.keep)) {
            return Guarded::duplicate;
        }
        const Guarded result = run_in(transaction, db, body, !key.empty());
        if (result == Guarded::unguarded) missing_keys_.fetch_add(1, std::memory_order_relaxed);
        return result;
    };
    if (db.in_transaction()) {
        Savepoint savepoint{db};
        return guarded(savepoint);
    }
    OwnTransaction transaction{db, options_.busy_timeout};
    return guarded(transaction);
}

}  // namespace waybill::sqlite
