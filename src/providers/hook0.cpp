#include <string>
#include <vector>

#include "providers/catalogue.hpp"
#include "providers/reading.hpp"
#include "providers/signature.hpp"

namespace waybill::providers {
namespace {

constexpr int kHook0NamesMax = 50;

}  // namespace

/// The time, the names of headers as listed, their values in that order, and the body.
std::vector<std::string> hook0_strings(const Arrival& arrival) {
    const HttpHeaders& headers = arrival.request.headers;
    const std::string* list = headers.find("X-Hook0-Signature");
    if (list == nullptr) return {};
    const auto time = pair_value(*list, ',', "t");
    const auto names = pair_value(*list, ',', "h");
    if (!time || !names) return {};
    std::string values;
    std::string_view rest = *names;
    for (int count = 0; !rest.empty(); ++count) {
        const std::string* value = headers.find(cut(rest, ' '));
        if (value == nullptr || count == kHook0NamesMax) return {};
        values += (count == 0 ? "" : ".") + *value;
    }
    return {std::string{*time} + "." + std::string{*names} + "." + values + "." +
            arrival.request.body};
}

}  // namespace waybill::providers
