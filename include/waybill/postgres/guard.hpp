#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "waybill/guard.hpp"
#include "waybill/message.hpp"
#include "waybill/postgres/publish.hpp"
#include "waybill/problems.hpp"

struct pg_conn;

/// The idempotent receiver: a consumer's own writes commit together with the mark that it ran, so that
/// a message delivered twice has its effect once. For consumers of a broker, of another store, of
/// anything; the targets of a box in the same database have Box::on_inline.
///
/// Here for libpq; guard_pqxx.hpp and guard_soci.hpp for theirs. In any other language
/// `select waybill.guard(consumer, type, key)` answers whether to go on, in the caller's transaction.
namespace waybill::postgres {

using waybill::Guarded;
using waybill::WithoutKey;

/// Which messages a guard knows apart, and for how long.
struct GuardOptions {
    /// Whose marks these are: two consumers of one message each run once. 1 … 200 characters.
    std::string consumer{};
    /// What makes two messages the same, within their type. Left out, or answering nothing: the
    /// message's id. Whoever publishes again gives a new id, so prefer a key of the business.
    std::function<std::string(const Message&)> key{};
    WithoutKey without_key = WithoutKey::reject;
    /// How long a mark is kept. `forever` or more than zero; Upkeep::sweep takes what is older.
    Duration keep = forever;
    /// How long to wait for another delivery of the same message. 1 ms … 10 min.
    Duration busy_timeout = std::chrono::seconds{5};
    /// A session whose `synchronous_commit` is too weak may lose the commit. Say that you mean it.
    bool relaxed_durability = false;
    /// The schema of the store.
    std::string schema = "waybill";
};

/// All problems of the options.
Problems check(const GuardOptions& options);

/// Runs a consumer's body at most once for each (consumer, type, key).
///
/// Outside a transaction it makes one: mark, body, COMMIT; an exception rolls all of it back and is
/// passed on. Inside the caller's transaction it is a savepoint of that, and counts when that commits.
/// The mark comes first, so of two deliveries at once the second waits for the first: if that commits it
/// is a duplicate, if that rolls back it runs.
///
/// Thread safety: any thread, each with a connection of its own.
/// Errors:        ConfigError from the constructor; InvalidMessage for a message without key; StoreError:
///                `retry` when the other delivery took too long, or a transaction must be repeated;
///                `find_out` when the answer to COMMIT was lost: deliver it again, it will be told. So it is when the wait
///                of our COMMIT for a synchronous standby was cancelled, unless the connection has a notice receiver of
///                the caller's: then that hears the warning, and nobody else.
class Guard {
public:
    using Body = std::function<void(pg_conn* connection)>;

    explicit Guard(GuardOptions options);
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    /// `connection` is the one the consumer writes with, to a database whose tables are
    /// there: an application was started on it once, or Upkeep::migrate() called.
    Guarded run(pg_conn* connection, const Message& message, const Body& body);

    /// For any other client: puts the mark, in its transaction, and answers `t`, or `f` when it was there.
    /// Nothing when the message has no key and that is allowed.
    std::optional<Statement> prepare(const Message& message);

    /// Ran without any key so far.
    std::uint64_t missing_keys() const { return missing_keys_.load(std::memory_order_relaxed); }

private:
    const GuardOptions options_;
    std::atomic<std::uint64_t> missing_keys_{0};
};

}  // namespace waybill::postgres
