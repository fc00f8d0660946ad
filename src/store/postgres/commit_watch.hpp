#pragma once

#include <libpq-fe.h>

namespace waybill::postgres {

enum class Whose : unsigned char { ours, borrowed };

/// Hears whether somebody cancels the wait of a COMMIT for its synchronous standby. PostgreSQL reports such a commit as
/// made, with a warning: it is on this server, and a failover may lose it. Nobody may be told that it is safe.
///
/// On a borrowed connection only while that has libpq's own notice receiver, which hears everything all the same:
/// one of the caller's could not be put back.
///
/// Thread safety: one at a time on each thread.
/// Lifetime:      the connection may be closed, and made null, while it watches.
class CommitWatch {
public:
    CommitWatch(PGconn*& connection, Whose whose);
    ~CommitWatch();
    CommitWatch(const CommitWatch&) = delete;
    CommitWatch& operator=(const CommitWatch&) = delete;

    bool was_cancelled() const;
    static constexpr const char* text =
        "the wait of its commit for a synchronous standby was cancelled, so a failover may lose it";

private:
    PGconn*& connection_;
    /// Who hears after us; null: we do not listen.
    PQnoticeReceiver after_ = nullptr;
};

/// Notices are for people at a terminal.
void ignore_notices(PGconn* connection);

}  // namespace waybill::postgres
