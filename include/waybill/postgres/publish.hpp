#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "waybill/message.hpp"
#include "waybill/store.hpp"

struct pg_conn;

/// Messages in the caller's own transaction: they are there if and only if it commits. The database
/// is one on which an application has been started once: it made the tables and declared its boxes.
/// Whoever does not write C++ calls `waybill.publish(...)` in SQL.
namespace waybill::postgres {

/// Two safeguards, and how each is switched off.
struct PublishOptions {
    /// Without an open transaction a publish is an error, because it would commit by itself. Say that
    /// you mean it.
    bool outside_transaction = false;
    /// A session with `synchronous_commit = off` may lose the commit in a crash. Say that you mean it.
    bool relaxed_durability = false;
    /// The schema of the store.
    std::string schema = "waybill";
};

/// Publishes on one connection; what it knows of the boxes is read once.
///
/// The box of a message may be left out when the store has only one. The answers count once the
/// transaction has committed; the engine finds it then, and never before. A call is all or nothing, and
/// after an error the transaction is as it was before the call (a savepoint). A message with a dedup key
/// that another open transaction has waits for that one.
///
/// Thread safety: that of the connection, which is not in pipeline mode.
/// Lifetime:      ends before the connection is closed.
/// Errors:        InvalidMessage for what can never be stored; StoreError for the rest.
class Publisher {
public:
    explicit Publisher(pg_conn* connection, const PublishOptions& options = {});
    ~Publisher();
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    AppendResult publish(Message message);
    std::vector<AppendResult> publish(std::span<const Message> messages);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

/// One call of a Publisher: for whoever publishes now and then.
AppendResult publish(pg_conn* connection, Message message, const PublishOptions& options = {});
/// The same for many: all or nothing.
std::vector<AppendResult> publish(pg_conn* connection, std::span<const Message> messages,
                                  const PublishOptions& options = {});

}  // namespace waybill::postgres
