#pragma once

#include "database.hpp"
#include "waybill/postgres.hpp"

namespace waybill::postgres {

/// The last migration we know.
std::uint32_t newest_migration();
/// Brings the schema to this version, in one transaction and under a lock: two hosts that do it at once do
/// it once. A newer schema is left alone: versions that run side by side only ever add to it.
/// Throws StoreError(give_up) when a migration that was applied is not the one we know, and
/// ConfigError for a version that there is not.
void migrate(Database& db, std::uint32_t version);
/// Reads only.
Schema schema(Database& db);
/// Throws StoreError(give_up) for a schema that this version cannot work with, as migrate() does.
void must_be_ours(Database& db);
/// Those that were applied with another text than ours: "2 append".
std::vector<std::string> changed_migrations(Database& db);
/// Those of later versions that we cannot work with.
std::vector<std::string> breaking_migrations(Database& db);

}  // namespace waybill::postgres
