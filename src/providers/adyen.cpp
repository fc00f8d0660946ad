#include <string>
#include <vector>

#include "providers/catalogue.hpp"
#include "providers/reading.hpp"

namespace waybill::providers {

/// Fields of the one item with colons between them. Each item is signed by itself, so a request with
/// several would be checked by one of them only: there is none such in JSON.
std::vector<std::string> adyen_strings(const Arrival& arrival) {
    Reading reading{arrival.request, arrival.content()};
    const std::string item = "json:notificationItems.0.NotificationRequestItem.";
    if (!reading.find(item + "pspReference") || !reading.find(item + "eventCode") ||
        reading.find("json:notificationItems.1.NotificationRequestItem.eventCode")) {
        return {};
    }
    std::string text;
    for (const char* field :
         {"pspReference", "originalReference", "merchantAccountCode", "merchantReference",
          "amount.value", "amount.currency", "eventCode", "success"}) {
        if (!text.empty()) text += ':';
        text += reading.find(item + field).value_or("");
    }
    return {text};
}

}  // namespace waybill::providers
