#include "transport/http_out/certificate_name.hpp"

#include <string_view>

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "transport/http_out/egress.hpp"

namespace waybill::http_out {
namespace {

/// With another library's TLS the context is something else, and what libcurl looks at has to do.
bool speaks_openssl() {
    static const bool does = [] {
        const char* const version = ::curl_version_info(CURLVERSION_NOW)->ssl_version;
        return version != nullptr && std::string_view{version}.starts_with("OpenSSL/");
    }();
    return does;
}

}  // namespace

bool expect_name(void* context, const std::string& host) {
    if (!speaks_openssl()) return true;
    X509_VERIFY_PARAM* const expected = ::SSL_CTX_get0_param(static_cast<SSL_CTX*>(context));
    if (parse_ip(host)) return ::X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1;
    ::X509_VERIFY_PARAM_set_hostflags(
        expected, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    // "a.example." is a.example
    const std::size_t length = host.ends_with('.') ? host.size() - 1 : host.size();
    return ::X509_VERIFY_PARAM_set1_host(expected, host.data(), length) == 1;
}

}  // namespace waybill::http_out
