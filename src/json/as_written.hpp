#pragma once

#include <string_view>

#include "waybill/json/value.hpp"

namespace waybill::json {

/// Like parse(), for whoever looks for names in it: a whole number that is too large for any integer
/// (18446744073709551616) is a string of its digits. With a point or an exponent it stays a number:
/// whoever writes one so may have rounded it, and two names would become one.
Value parse_as_written(std::string_view text);

}  // namespace waybill::json
