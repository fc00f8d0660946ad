#pragma once

#include <memory>
#include <string>

#include "server/config/config.hpp"
#include "server/store_access.hpp"

namespace waybill::cli {

/// The store of a command that needs it for itself. Throws std::runtime_error when another process has
/// it, with what that is and what to do (`remedy`).
std::unique_ptr<server::StoreAccess> open_for_command(const server::Config& config,
                                                      const std::string& remedy);

}  // namespace waybill::cli
