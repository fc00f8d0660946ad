#pragma once

#include "waybill/postgres/guard.hpp"
#include "waybill/postgres/publish_soci.hpp"

/// A guard around a consumer that writes with SOCI.
namespace waybill::postgres {

/// Runs `body(session)` at most once for each (consumer, type, key), as Guard::run does on the session's
/// PGconn: in a transaction of its own, or in a savepoint of the caller's.
template <class Body>
Guarded run(Guard& guard, soci::session& session, const Message& message, const Body& body) {
    return guard.run(detail::connection_of(session), message, [&](pg_conn*) { body(session); });
}

}  // namespace waybill::postgres
