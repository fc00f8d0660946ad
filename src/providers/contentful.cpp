#include <algorithm>
#include <string>
#include <vector>

#include "providers/catalogue.hpp"
#include "providers/reading.hpp"

namespace waybill::providers {
namespace {

/// Names in one header; more than this nobody signs.
constexpr int kContentfulNamesMax = 50;

}  // namespace

/// Method, path, the headers it names, and the body, each on a line.
std::vector<std::string> contentful_strings(const Arrival& arrival) {
    const HttpRequest& request = arrival.request;
    const std::string* listed = request.headers.find("X-Contentful-Signed-Headers");
    if (listed == nullptr) return {};
    std::string_view names = *listed;
    std::vector<std::string> lines;
    bool signs_time = false;
    for (int count = 0; !names.empty(); ++count) {
        const std::string_view name = cut(names, ',');
        const std::string* value = request.headers.find(name);
        if (value == nullptr || count == kContentfulNamesMax) return {};
        signs_time = signs_time || same_name(name, "X-Contentful-Timestamp");
        lines.push_back(std::string{name} + ":" + *value);
    }
    if (!signs_time) return {};  // or the timestamp would be anybody's
    std::ranges::sort(lines);
    std::string headers;
    for (const std::string& line : lines) headers += (headers.empty() ? "" : ";") + line;
    return {request.method + "\n" + request.target + "\n" + headers + "\n" + request.body};
}

}  // namespace waybill::providers
