#pragma once

#include <string>
#include <vector>

#include <curl/curl.h>

#include "waybill/http.hpp"

namespace waybill::http_out {

/// A request's headers as libcurl reads them: its list of lines, without an allocation for each.
class SentHeaders {
public:
    explicit SentHeaders(const HttpHeaders& headers);
    SentHeaders(const SentHeaders&) = delete;
    SentHeaders& operator=(const SentHeaders&) = delete;

    curl_slist* list() { return lines_.data(); }

private:
    /// One after the other, each with its end.
    std::string text_{};
    std::vector<curl_slist> lines_{};
};

}  // namespace waybill::http_out
