#pragma once

#include <string_view>
#include <vector>

namespace waybill::webhook {

/// One signature of `webhook-signature`, still encoded.
struct ListedSignature {
    /// "v1" or "v1a"; outlives the list.
    std::string_view version{};
    /// A part of the list.
    std::string_view text{};
};

/// Of "v1,… v1a,… v2,…" those whose version is known.
std::vector<ListedSignature> listed_signatures(std::string_view list);

}  // namespace waybill::webhook
