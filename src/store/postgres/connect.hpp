#pragma once

#include <string>

#include <libpq-fe.h>

#include "address.hpp"
#include "waybill/time.hpp"

namespace waybill::postgres {

/// Tries one host of the address after the other, each for its share of the time, beginning with the one
/// that answered last. libpq alone would stay with a first host that is silent. Throws StoreError.
PGconn* open_connection(const Address& address, LocalTime until);

/// False: it was not ready in time.
bool wait_for_socket(int socket, bool to_write, LocalTime until);

/// What a session of ours is set to, as one script. `is_local`: only for the transaction that is open,
/// because the session is somebody else's too (a pooler's).
std::string session_settings(const Address& address, bool is_local);

}  // namespace waybill::postgres
