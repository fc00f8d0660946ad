#include "core/webhook/signature_list.hpp"

#include <algorithm>

namespace waybill::webhook {

std::vector<ListedSignature> listed_signatures(std::string_view list) {
    std::vector<ListedSignature> signatures;
    while (!list.empty()) {
        const std::string_view item = list.substr(0, list.find(' '));
        list.remove_prefix(std::min(list.size(), item.size() + 1));
        const std::string_view version = item.substr(0, item.find(','));
        const std::string_view text = item.substr(std::min(item.size(), version.size() + 1));
        for (const std::string_view known : {"v1", "v1a"}) {
            if (version == known) signatures.push_back({known, text});
        }
    }
    return signatures;
}

}  // namespace waybill::webhook
