#pragma once

#include <cstdint>
#include <string>

#include "waybill/catalogue.hpp"

/// Where an order over many dead letters ends: what dies after it began is not its business, also
/// when letters it counted are gone before their turn and a count alone would be filled up.
namespace waybill::detail {

/// The cursor of the last of the first `count` letters that match; empty: there are none.
std::string last_letter(Catalogue& catalogue, const Filter& filter, std::uint64_t count);

/// Takes what came after `last` off the page, and then it is the last page.
void end_at(Page<DeadLetterDetail>& page, const std::string& last);

}  // namespace waybill::detail
