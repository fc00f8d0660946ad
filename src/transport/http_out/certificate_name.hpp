#pragma once

#include <string>

namespace waybill::http_out {

/// The certificate of this TLS context's receiver must name the host among its other names. libcurl looks, too, but takes
/// the common name where it finds no other, which nobody has promised to check for a quarter of a century (RFC 9525).
///
/// `context`: what libcurl gives to CURLOPT_SSL_CTX_FUNCTION. False: it cannot be done.
bool expect_name(void* context, const std::string& host);

}  // namespace waybill::http_out
