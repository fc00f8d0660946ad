#pragma once

#include <string>
#include <string_view>

#include "waybill/provider.hpp"

namespace waybill::intake {

/// What makes two requests the same event, as a dedup key: the source, its tenant, and the sender's
/// id, or the hash of the body where there is none. Empty: nothing does, each is an event.
std::string dedup_key(const Source& source, const Parsed& parsed, std::string_view body);

}  // namespace waybill::intake
