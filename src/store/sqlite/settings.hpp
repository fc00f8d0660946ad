#pragma once

#include "shared.hpp"
#include "waybill/problems.hpp"

namespace waybill::sqlite {

/// What of the file, its place and our connections to it breaks a promise.
Problems check_settings(Shared& shared);
/// The network file system it is on; null: a local one.
const char* network_of(const std::string& path);

}  // namespace waybill::sqlite
