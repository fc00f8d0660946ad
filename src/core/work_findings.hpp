#pragma once

#include <string>
#include <vector>

#include "waybill/finding.hpp"
#include "waybill/upkeep.hpp"

namespace waybill::detail {

/// What every store's doctor says of the work in it, in the same words: messages that wait for too long, dead
/// letters, paused boxes.
Findings findings_of_work(const StoreHealth& health, Duration old_message,
                          const std::vector<std::string>& paused_boxes);

/// A time without the digits that nobody reads: 83 s, 2 h.
std::string about(Duration duration);

}  // namespace waybill::detail
