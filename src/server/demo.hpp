#pragma once

#include <string>

#include "server/config/config.hpp"
#include "server/store_access.hpp"

/// What `waybill serve` does without a configuration: one source "demo" (generic HMAC) whose messages
/// are written to the log.
namespace waybill::server {

/// Under which name the store keeps the demo's secret.
inline constexpr const char* demo_secret_note = "demo/secret";

/// The secret of the demo source: made once and kept in the store, so that it is the same after a
/// restart and in a backup.
std::string demo_secret(StoreAccess& store);
Config demo_config(const std::string& store_url, const std::string& secret);

}  // namespace waybill::server
