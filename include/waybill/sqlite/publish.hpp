#pragma once

#include <memory>
#include <span>
#include <vector>

#include "waybill/message.hpp"
#include "waybill/store.hpp"

struct sqlite3;

/// Messages in the caller's own transaction: they are there if and only if it commits. The file
/// is one on which an application has been started once: it made the tables and declared its boxes. It may
/// run meanwhile, in this process or in another one.
namespace waybill::sqlite {

/// Two safeguards, and how each is switched off.
struct PublishOptions {
    /// Without an open transaction a publish is an error, because it would commit by itself. Say that
    /// you mean it.
    bool outside_transaction = false;
    /// A connection with `synchronous` below FULL may lose the commit in a power cut. Say that you
    /// mean it.
    bool relaxed_durability = false;
};

/// Publishes on one connection, with statements that are prepared once.
///
/// The box of a message may be left out when the file has only one. The answers count once the
/// transaction has committed; the engine hears of it then, and never before. A call is all or nothing,
/// and after an error the transaction is as it was before the call.
///
/// On a connection that publishes, SQLite's automatic checkpoint is turned off: only the process that
/// handles the messages copies the journal into the file.
///
/// Thread safety: that of the connection.
/// Lifetime:      ends before the connection is closed.
/// Errors:        InvalidMessage for what can never be stored; StoreError for the rest: `retry` means that
///                another connection holds the write lock (begin with BEGIN IMMEDIATE).
class Publisher {
public:
    explicit Publisher(sqlite3* db, const PublishOptions& options = {});
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
AppendResult publish(sqlite3* db, Message message, const PublishOptions& options = {});
/// The same for many: all or nothing.
std::vector<AppendResult> publish(sqlite3* db, std::span<const Message> messages,
                                  const PublishOptions& options = {});

}  // namespace waybill::sqlite
