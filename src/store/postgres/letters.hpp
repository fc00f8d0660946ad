#pragma once

#include <string>
#include <vector>

#include "database.hpp"
#include "waybill/work.hpp"

namespace waybill::postgres {

/// The columns of a dead letter from `first` on.
DeadLetter read_letter(const Rows& rows, int first = 0);
/// By target.
std::vector<DeadLetter> letters_of(Database& db, Sequence message);
/// For whoever holds its message.
void erase_letter(Database& db, Sequence message, const std::string& target);

}  // namespace waybill::postgres
