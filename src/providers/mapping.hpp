#pragma once

#include "providers/reading.hpp"
#include "providers/scheme.hpp"
#include "providers/verify.hpp"

namespace waybill::providers {

/// What a verified request says: its type, id, lane, tenant, and the headers that are kept.
Verdict map_event(const Entry& entry, const Scheme& scheme, const Arrival& arrival,
                  Reading& reading, const Verified& verified);

/// The same for CloudEvents 1.0 in binary or structured mode.
Verdict map_cloudevent(const Scheme& scheme, const Arrival& arrival, Reading& reading);

/// Adds "header.NAME" for each of these that is there and can be stored.
void keep_header(const HttpRequest& request, std::string_view name, Attributes& attributes);

}  // namespace waybill::providers
