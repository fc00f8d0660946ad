#include "waybill/sqlite/guard.hpp"

#include <optional>
#include <utility>

#include "caller.hpp"
#include "core/text.hpp"
#include "core/wording.hpp"
#include "waybill/append.hpp"
#include "waybill/store.hpp"
#include "waybill/system.hpp"

namespace waybill::sqlite {
namespace {

constexpr std::size_t kConsumerMax = 200;
/// Between two tries for a lock that nobody announces the end of.
constexpr int kPauseMs = 1;

/// A mark is a dedup record. No box has a colon in its name, and the length keeps consumer and type
/// apart whatever they contain.
std::string scope_of(const std::string& consumer, const std::string& type) {
    return "guard:" + std::to_string(consumer.size()) + ":" + consumer + type;
}

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
    Problems problems;
    if (options.consumer.empty() || options.consumer.size() > kConsumerMax ||
        !is_plain_text(options.consumer)) {
        problems.push_back("guard: consumer " + detail::in_quotes(options.consumer) +
                           " is no name; use 1 … 200 characters of UTF-8 and keep it for good");
    }
    if (options.keep <= Duration{}) {
        problems.push_back("guard: keep must be more than zero, or forever");
    }
    if (options.busy_timeout < std::chrono::milliseconds{1} ||
        options.busy_timeout > std::chrono::minutes{10}) {
        problems.push_back("guard: busy_timeout is " + detail::readable(options.busy_timeout) +
                           "; choose 1 ms to 10 min");
    }
    return problems;
}

Guard::Guard(GuardOptions options) : options_(std::move(options)) {
    if (Problems problems = check(options_); !problems.empty()) {
        throw ConfigError{std::move(problems)};
    }
}

std::string Guard::key_of(const Message& message) const {
    std::string key = options_.key ? options_.key(message) : std::string{};
    if (key.empty() && !message.id.is_nil()) key = to_string(message.id);
    if (key.empty() && options_.without_key == WithoutKey::reject) {
        throw InvalidMessage{{"guard " + detail::in_quotes(options_.consumer) +
                              ": the message has neither a key nor an id, so a second delivery "
                              "could not be told from the first"}};
    }
    return key;
}

Guarded Guard::run(sqlite3* handle, const Message& message, const Body& body) {
    const std::string key = key_of(message);
    Database db{handle};
    prepare_caller(db, options_.relaxed_durability, "guard");
    const auto guarded = [&](auto& transaction) {
        const std::string scope = scope_of(options_.consumer, message.type);
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
