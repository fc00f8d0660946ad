#pragma once

#include <memory>
#include <string>

#include "database.hpp"

namespace waybill::sqlite {

/// A file as it is: neither it nor its journal is changed, and nothing is locked where nobody has it open.
/// Throws StoreError for one that is not there or may not be read.
std::unique_ptr<Database> open_to_look(const std::string& path);

}  // namespace waybill::sqlite
