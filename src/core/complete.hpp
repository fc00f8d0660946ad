#pragma once

#include "waybill/box.hpp"
#include "waybill/runtime.hpp"
#include "waybill/store.hpp"

namespace waybill {

/// A message as every store wants it, whichever way it comes in: stamped with what holds on this
/// thread, checked, with an id, a lane where it may collapse, its dedup key and the body's hash.
/// Its box is set and is one with these options. Throws InvalidMessage.
Append complete(Message message, const BoxOptions& options, Clock& clock, Random& random);

}  // namespace waybill
