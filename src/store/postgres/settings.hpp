#pragma once

#include "database.hpp"
#include "waybill/problems.hpp"

namespace waybill::postgres {

/// What of the server and its settings breaks a promise.
Problems check_settings(Database& db);

}  // namespace waybill::postgres
