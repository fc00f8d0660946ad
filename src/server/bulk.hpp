#pragma once

#include <cstdint>

#include "server/operations.hpp"
#include "waybill/catalogue.hpp"

/// Orders over dead letters that can be interrupted anywhere and counted all the same.
namespace waybill::server {

enum class BulkOrder : std::uint8_t { requeue, discard };

/// Goes on with `operation` over the letters that match, oldest first, and handles at most
/// `letters_max` more; then it is unfinished unless that was all. What dies again meanwhile comes
/// behind those that were counted first. Throws InvalidFilter.
void carry_out_matching(Catalogue& catalogue, BulkOrder order, const Filter& filter,
                        std::uint32_t letters_max, Operation& operation);

/// Writes down which dead letters of a message an order means. False: that was done before, and none
/// of them is there any more, so that what is dead now is none of this order's business.
bool means_what_is_dead(Catalogue& catalogue, const Uuid& message, Operation& operation);

/// One message, and one target of it or (empty) all that are dead.
void carry_out_one(Catalogue& catalogue, BulkOrder order, const Uuid& message,
                   const std::string& target, Operation& operation);

}  // namespace waybill::server
