#pragma once

#include <optional>
#include <string_view>

namespace waybill {

/// What follows the name of an authentication scheme in "Authorization: Bearer TOKEN"; the name has
/// no case, and one space or more comes after it. Nothing: another scheme.
std::optional<std::string_view> credentials(std::string_view authorization,
                                            std::string_view scheme);

}  // namespace waybill
