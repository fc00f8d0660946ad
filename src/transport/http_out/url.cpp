#include "transport/http_out/url.hpp"

#include <charconv>
#include <memory>

#include <curl/curl.h>

#include "transport/http_out/http_out.hpp"

namespace waybill::http_out {
namespace {

constexpr std::size_t kUrlsKept = 4'096;

using Url = std::unique_ptr<CURLU, void (*)(CURLU*)>;

std::string part(const Url& url, CURLUPart which, unsigned flags = 0) {
    char* text = nullptr;
    if (::curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return {};
    const std::unique_ptr<char, void (*)(void*)> owned{text, ::curl_free};
    return text;
}

}  // namespace

std::optional<UrlParts> parts_of_url(const std::string& url) {
    const Url parsed{::curl_url(), ::curl_url_cleanup};
    if (::curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
        return std::nullopt;
    }
    UrlParts parts{.scheme = part(parsed, CURLUPART_SCHEME), .host = part(parsed, CURLUPART_HOST)};
    if (parts.host.starts_with('[')) parts.host = parts.host.substr(1, parts.host.size() - 2);
    const std::string digits = part(parsed, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    std::from_chars(digits.data(), digits.data() + digits.size(), parts.port);
    for (const CURLUPart unwanted : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_FRAGMENT}) {
        if (!part(parsed, unwanted).empty()) parts.has_more = true;
    }
    return parts;
}

const std::optional<UrlParts>& Urls::find(const std::string& url) {
    const auto known = known_.find(url);
    if (known != known_.end()) return known->second;
    if (known_.size() >= kUrlsKept) known_.clear();
    return known_.emplace(url, parts_of_url(url)).first->second;
}

std::string problem_of_url(const std::string& url) {
    if (!url.starts_with("http://") && !url.starts_with("https://")) {
        return " must begin with http:// or https://";
    }
    const Url parsed{::curl_url(), ::curl_url_cleanup};
    const CURLUcode code = ::curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0);
    if (code == CURLUE_OK) return {};
    return std::string{" is not a URL: "} + ::curl_url_strerror(code);
}

}  // namespace waybill::http_out
