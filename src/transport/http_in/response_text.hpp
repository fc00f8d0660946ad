#pragma once

#include <string>
#include <string_view>

#include "transport/http_in/request_reader.hpp"
#include "waybill/http.hpp"
#include "waybill/time.hpp"

/// Answers as bytes: built in one go, because writing headers one by one is most of what a small
/// answer costs.
namespace waybill::http_in {

/// How an answer is framed.
struct Framing {
    bool keep_alive = true;
    /// HTTP/1.0 clients close unless they are told.
    bool say_keep_alive = false;
    /// Of a HEAD request: the body's length without the body.
    bool without_body = false;
};

std::string to_text(const HttpResponse& response, const Framing& framing, std::string_view date);
/// {"error":{"code","message","detail":{}}}; of 429 and 503 with Retry-After.
HttpResponse to_response(const Refusal& refusal, Duration retry_after = std::chrono::seconds{1});
/// IMF-fixdate.
std::string http_date(StoreTime now);

}  // namespace waybill::http_in
