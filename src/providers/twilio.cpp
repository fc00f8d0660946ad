#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/sha256.hpp"
#include "providers/catalogue.hpp"
#include "providers/signed_string.hpp"
#include "waybill/signing.hpp"

namespace waybill::providers {
namespace {

/// The same URL with its default port where it had none, and without where it had one: the sender
/// does one or the other.
std::string other_port(const std::string& url) {
    const bool is_secure = url.starts_with("https://");
    const std::size_t host = url.find("//");
    if (host == std::string::npos) return url;
    const std::size_t end = std::min(url.find_first_of("/?", host + 2), url.size());
    const std::size_t colon = url.rfind(':', end);
    if (colon != std::string::npos && colon > host) {
        return url.substr(0, colon) + url.substr(end);
    }
    return url.substr(0, end) + (is_secure ? ":443" : ":80") + url.substr(end);
}

bool is_form(const HttpRequest& request) {
    const std::string* type = request.headers.find("Content-Type");
    const std::string_view form = "application/x-www-form-urlencoded";
    return type != nullptr && same_name(std::string_view{*type}.substr(0, form.size()), form);
}

}  // namespace

/// The URL and the form's fields in order; of other bodies their hash, which is in the URL.
std::vector<std::string> twilio_strings(const Arrival& arrival) {
    const std::string url = called_url(arrival);
    const HttpRequest& request = arrival.request;
    const auto hash = form_field(request.query(), "bodySHA256");
    if (hash && signing::from_hex(*hash) != sha256_bytes(request.body)) return {};
    std::string fields;
    if (is_form(request)) {
        const auto form = form_fields(request.body);
        if (!form) return {};
        for (const auto& [name, value] :
             std::set<std::pair<std::string, std::string>>{form->begin(), form->end()}) {
            fields += name + value;
        }
    } else if (!hash && !request.body.empty()) {
        return {};  // or anyone could change it
    }
    return {url + fields, other_port(url) + fields};
}

}  // namespace waybill::providers
