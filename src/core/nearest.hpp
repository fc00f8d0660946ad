#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace waybill {

/// The one of `known` that is most like `word`, for whoever mistyped it; empty when none is.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace waybill
