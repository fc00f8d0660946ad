#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "waybill/catalogue.hpp"
#include "waybill/message.hpp"
#include "waybill/target.hpp"
#include "waybill/work.hpp"

/// What every store decides alike when people ask. Pure.
namespace waybill::detail {

/// A cursor that is a decimal number, as `Page::next` and `DeadLetterDetail::cursor` said it;
/// `beginning` for none. Throws InvalidCursor.
std::int64_t place_of_cursor(const std::string& cursor, std::int64_t beginning);

/// Whether the target has yet to end its delivery of this row, which is not parked. `message`: its type, source and
/// tenant. `registry`: of its box at least.
bool waits_for(const Target& target, const Entry& row, const Message& message,
               std::span<const Target> registry);

/// The answer to an order about a dead letter that is not there.
OperationResult no_such_letter(const DeliveryRef& delivery);

/// The target and those that died because of it, directly or not, by the letters of one message.
std::vector<std::string> revived_with(std::span<const DeadLetter> letters,
                                      const std::string& target);

}  // namespace waybill::detail
