#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "waybill/message.hpp"
#include "waybill/store.hpp"

struct pg_conn;

/// Messages in the caller's own transaction: they are there if and only if it commits. The database is one
/// that postgres::open() has prepared, and its boxes are declared by the application that handles them.
///
/// Here for libpq; publish_pqxx.hpp and publish_soci.hpp for theirs, and prepare() for any other client.
/// Whoever does not write C++ calls `waybill.publish(...)` in SQL.
namespace waybill::postgres {

/// Two safeguards and how each is switched off, and two things that cost something.
struct PublishOptions {
    /// Without an open transaction a publish is an error, because it would commit by itself. Say that
    /// you mean it.
    bool outside_transaction = false;
    /// A session with `synchronous_commit = off` may lose the commit in a crash; one with `local` in a
    /// failover, where the server has synchronous standbys. Say that you mean it.
    bool relaxed_durability = false;
    /// Transactions that overlap have no order, not even in a lane. With this, whoever publishes into a
    /// lane waits until those who did so before have ended their transactions.
    bool ordered = false;
    /// Wakes the instances at the commit, which costs a lock on the whole database. Without it they
    /// look by themselves: often while they are busy, every second at the least.
    bool notify = false;
    /// The schema of the store.
    std::string schema = "waybill";
};

/// What any client can run, in its transaction. It answers one row for each message, in their order, that
/// read_answer() understands; an error is an error of SQL.
struct Statement {
    /// Parameters are $1, $2 …: each once, in this order, and with its type.
    std::string sql{};
    /// As text, as PostgreSQL writes it; none is null. The encoding is UTF-8.
    std::vector<std::string> parameters{};
};

/// The statement that publishes. What only the caller knows is the caller's: that a transaction is open.
/// Throws InvalidMessage, and ConfigError for a name that is no schema's.
Statement prepare(const Message& message, const PublishOptions& options = {});
/// The same for many: all or nothing.
Statement prepare(std::span<const Message> messages, const PublishOptions& options = {});

/// A row of its answer, as text: status, id, sequence, partition, first_is_dead.
AppendResult read_answer(std::span<const std::string_view> columns);

/// Publishes on one connection of libpq.
///
/// The box of a message may be left out when the store has only one. The answers count once the
/// transaction has committed; the engine finds it then, and never before. A call is all or nothing, one round
/// trip, and after an error the transaction is as it was before the call (a savepoint). A message with a
/// dedup key that another open transaction has waits for that one.
///
/// Thread safety: that of the connection.
/// Lifetime:      ends before the connection is closed.
/// Errors:        InvalidMessage for what can never be stored; StoreError for the rest; ConfigError from
///                the constructor. Outside a transaction `find_out` as Guard::run has it, unless `client_min_messages`
///                is above warning.
class Publisher {
public:
    explicit Publisher(pg_conn* connection, const PublishOptions& options = {});
    ~Publisher();
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    AppendResult publish(const Message& message);
    std::vector<AppendResult> publish(std::span<const Message> messages);

    /// In pipeline mode: rides along with the caller's own statements, and waits for nothing. An error
    /// ends the pipeline and the transaction, as that of any statement does.
    void send(std::span<const Message> messages);
    /// The answer to the oldest send(), once the caller has taken the results of what it sent before that.
    std::vector<AppendResult> receive();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

/// One call of a Publisher.
AppendResult publish(pg_conn* connection, const Message& message,
                     const PublishOptions& options = {});
/// The same for many: all or nothing.
std::vector<AppendResult> publish(pg_conn* connection, std::span<const Message> messages,
                                  const PublishOptions& options = {});

/// For the adapters to other clients.
namespace detail {

/// Throws what an error that the server reported means.
[[noreturn]] void throw_error(std::string_view sqlstate, std::string_view message);
/// Throws that no transaction is open.
[[noreturn]] void refuse_outside_transaction();
/// Throws unless texts in UTF-8 arrive as such.
void check_encoding(std::string_view client_encoding);

}  // namespace detail

}  // namespace waybill::postgres
