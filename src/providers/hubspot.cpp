#include <array>
#include <string>
#include <utility>
#include <vector>

#include "providers/catalogue.hpp"
#include "providers/signed_string.hpp"

namespace waybill::providers {
namespace {

/// These escapes are decoded before signing, and no others.
constexpr std::array<std::pair<std::string_view, char>, 12> kDecoded{{{"%3A", ':'},
                                                                      {"%2F", '/'},
                                                                      {"%3F", '?'},
                                                                      {"%40", '@'},
                                                                      {"%21", '!'},
                                                                      {"%24", '$'},
                                                                      {"%27", '\''},
                                                                      {"%28", '('},
                                                                      {"%29", ')'},
                                                                      {"%2A", '*'},
                                                                      {"%2C", ','},
                                                                      {"%3B", ';'}}};

std::string partly_decoded(std::string_view url) {
    std::string text;
    while (!url.empty()) {
        char next = url.front();
        std::size_t taken = 1;
        for (const auto& [escape, character] : kDecoded) {
            if (!same_name(url.substr(0, 3), escape)) continue;
            next = character;
            taken = 3;
        }
        text += next;
        url.remove_prefix(taken);
    }
    return text;
}

}  // namespace

/// Version 3.
std::vector<std::string> hubspot_strings(const Arrival& arrival) {
    const std::string* time = arrival.request.headers.find("X-HubSpot-Request-Timestamp");
    if (time == nullptr) return {};
    return {arrival.request.method + partly_decoded(called_url(arrival)) + arrival.request.body +
            *time};
}

/// Versions 1 and 2, which hash the secret in front of these.
std::vector<std::string> hubspot_old_strings(const Arrival& arrival) {
    const HttpRequest& request = arrival.request;
    return {request.body, request.method + called_url(arrival) + request.body};
}

}  // namespace waybill::providers
