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

/// Throws std::runtime_error, with what it is and what to do, for a file whose tables are not those of
/// this program. `may_migrate`: one that is empty or of an earlier version will do. The file is left as
/// it is: it may be somebody else's.
void must_hold_a_store(const std::string& file, bool may_migrate);

/// The same for a database that many share, by what its tables are.
void must_have_tables(const server::Config& config, const Schema& schema);

}  // namespace waybill::cli
