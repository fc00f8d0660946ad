#pragma once

#include "boxes.hpp"
#include "waybill/sqlite.hpp"

namespace waybill::sqlite {

/// Brings the schema to this version, in one transaction: two hosts that do it at once do it once.
/// A newer schema is left alone: versions that run side by side only ever add to it.
/// Throws StoreError(give_up) when a migration that was applied is not the one we know.
void migrate(Session& writer, StoreTime now);
/// The same up to the migration of this number.
void migrate(Session& writer, StoreTime now, std::uint32_t version);
/// Reads only.
Schema schema(Database& db);

}  // namespace waybill::sqlite
