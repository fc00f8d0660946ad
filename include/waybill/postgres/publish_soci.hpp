#pragma once

#include <span>
#include <vector>

// Header-only: who includes this links SOCI, we do not.
#include <soci/postgresql/soci-postgresql.h>  // lint: allow(includes) see above
#include <soci/soci.h>                        // lint: allow(includes) see above

#include "waybill/postgres/publish.hpp"

/// publish() in a transaction of SOCI (4), on a session with its PostgreSQL backend.
namespace waybill::postgres {

namespace detail {

/// Throws StoreError(give_up) for a session of another database.
inline pg_conn* connection_of(soci::session& session) {
    // SOCI hides what a dynamic_cast would need.
    if (session.get_backend_name() == "postgresql") {
        return static_cast<soci::postgresql_session_backend*>(session.get_backend())->conn_;
    }
    throw StoreError{Reaction::give_up,
                     "this soci::session is not connected to PostgreSQL with its own backend"};
}

}  // namespace detail

/// All or nothing, as on the session's PGconn. Between `soci::transaction`, or `session.begin()`, and its
/// commit.
inline std::vector<AppendResult> publish(soci::session& session, std::span<const Message> messages,
                                         const PublishOptions& options = {}) {
    return publish(detail::connection_of(session), messages, options);
}

/// One message.
inline AppendResult publish(soci::session& session, const Message& message,
                            const PublishOptions& options = {}) {
    return publish(detail::connection_of(session), message, options);
}

}  // namespace waybill::postgres
