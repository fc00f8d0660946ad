#include <algorithm>
#include <array>

#include "core/text.hpp"
#include "server/config/secret.hpp"

namespace waybill::server {
namespace {

constexpr std::string_view kMask = "***";

bool is_number(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Where the name and password in front of a host end: at the last "@" of the authority. A password
/// with a slash in it ends the authority too early: what then looks like a port is no number.
std::size_t end_of_login(std::string_view url, std::size_t from) {
    const std::size_t slash = std::min(url.find_first_of("/?#", from), url.size());
    const std::string_view authority = url.substr(from, slash - from);
    const std::size_t at = authority.rfind('@');
    if (at != std::string_view::npos) {
        // A password may have both "@" and "/"; what else has an "@" behind the host is hidden with it.
        const std::size_t last = url.substr(0, url.find('?', from + at)).rfind('@');
        return std::max(from + at, last);
    }
    const std::size_t colon = authority.rfind(':');
    const bool is_cut = colon != std::string_view::npos && !authority.ends_with(']') &&
                        !is_number(authority.substr(colon + 1));
    return is_cut ? url.rfind('@') : std::string_view::npos;
}

/// "password=…" of a query or of a list of words.
void mask_values(std::string& url) {
    constexpr std::array<std::string_view, 6> kNames{
        "password=", "passwd=", "pwd=", "secret=", "token=", "key="};
    const std::string lower = lower_ascii(url);
    std::string shown;
    std::size_t at = 0;
    while (at < url.size()) {
        const auto* const name = std::ranges::find_if(
            kNames, [&](std::string_view one) { return lower.compare(at, one.size(), one) == 0; });
        if (name == kNames.end()) {
            shown += url[at++];
            continue;
        }
        shown += url.substr(at, name->size());
        shown += kMask;
        at = std::min(url.find_first_of("& ", at + name->size()), url.size());
    }
    url = std::move(shown);
}

}  // namespace

std::string masked_url(std::string_view url) {
    std::string shown{url};
    const std::size_t scheme = url.find("://");
    if (scheme != std::string_view::npos) {
        const std::size_t from = scheme + 3;
        const std::size_t end = end_of_login(url, from);
        if (end != std::string_view::npos && end > from) {
            // A name alone may be a token.
            const std::size_t colon = url.find(':', from);
            const std::size_t hidden = colon < end ? colon + 1 : from;
            shown.replace(hidden, end - hidden, kMask);
        }
    }
    mask_values(shown);
    return shown;
}

}  // namespace waybill::server
