#include "core/credentials.hpp"

#include <algorithm>

#include "waybill/http.hpp"

namespace waybill {

std::optional<std::string_view> credentials(std::string_view authorization,
                                            std::string_view scheme) {
    if (!same_name(authorization.substr(0, scheme.size()), scheme)) return std::nullopt;
    authorization.remove_prefix(scheme.size());
    const std::size_t spaces = std::min(authorization.find_first_not_of(' '), authorization.size());
    if (spaces == 0) return std::nullopt;
    return authorization.substr(spaces);
}

}  // namespace waybill
