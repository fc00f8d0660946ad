#pragma once

#include <string>
#include <string_view>

namespace waybill::webhook {

/// A text as the value of a header: on one line, without control characters, not too long.
std::string header_value(std::string_view text);

/// W3C Trace Context, `traceparent` of version 00 or a later one.
bool is_traceparent(std::string_view text);

}  // namespace waybill::webhook
