#pragma once

#include <string>
#include <string_view>

#include "waybill/provider.hpp"

namespace waybill::intake {

/// Colons separate the parts of a key: else "a:b" and "c" were "a" and "b:c".
std::string without_colons(std::string_view text);

/// What makes two requests the same event, as a dedup key: the source, its tenant, and the sender's
/// id, or the hash of the body where there is none. Empty: nothing does, each is an event.
std::string dedup_key(const Source& source, const Parsed& parsed, std::string_view body);

}  // namespace waybill::intake
