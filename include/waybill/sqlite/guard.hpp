#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "waybill/guard.hpp"
#include "waybill/message.hpp"
#include "waybill/problems.hpp"

struct sqlite3;

/// The idempotent receiver: a consumer's own writes commit together with the mark that it ran, so that
/// a message delivered twice has its effect once. For consumers of a broker, of another store, of
/// anything; the targets of a box on the same file have Box::on_inline.
namespace waybill::sqlite {

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
    /// How long to wait for the write lock. 1 ms … 10 min.
    Duration busy_timeout = std::chrono::seconds{5};
    /// A connection with `synchronous` below FULL may lose the commit in a power cut. Say that you
    /// mean it.
    bool relaxed_durability = false;
};

/// All problems of the options.
Problems check(const GuardOptions& options);

/// Runs a consumer's body at most once for each (consumer, type, key).
///
/// Outside a transaction it makes one: mark, body, COMMIT; an exception rolls all of it back and is
/// passed on. Inside the caller's transaction it is a savepoint of that, and counts when that commits.
/// The mark comes first and under the write lock, so of two deliveries at once one waits for the other.
///
/// Thread safety: any thread, each with a connection of its own.
/// Errors:        ConfigError from the constructor; InvalidMessage for a message without key; StoreError:
///                `retry` when the write lock did not come, or when a transaction of the caller's own must
///                be repeated.
class Guard {
public:
    using Body = std::function<void(sqlite3* db)>;

    explicit Guard(GuardOptions options);
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    /// `db` is the connection the consumer writes with, on a file whose tables are
    /// there: an application was started on it once, or Upkeep::migrate() called.
    Guarded run(sqlite3* db, const Message& message, const Body& body);

    /// Ran without any key so far.
    std::uint64_t missing_keys() const { return missing_keys_.load(std::memory_order_relaxed); }

private:
    const GuardOptions options_;
    std::atomic<std::uint64_t> missing_keys_{0};
};

}  // namespace waybill::sqlite
