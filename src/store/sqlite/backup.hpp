#pragma once

#include <string>

#include "boxes.hpp"
#include "waybill/problems.hpp"

namespace waybill::sqlite {

/// Everything SQLite finds wrong with the file, up to a bound.
Problems integrity_check(Database& db);

/// Copies what `from` sees now to a new file, on the disk when it returns. A copy that is not whole
/// never has that name.
void backup(Session& from, const std::string& path);

}  // namespace waybill::sqlite
