#pragma once

#include <curl/curl.h>

#include "transport/http_out/exchange.hpp"

namespace waybill::http_out {

/// What kind of failure libcurl speaks of. `blocked` and `cancelled` are never its doing.
Failure failure_of(CURLcode code);

}  // namespace waybill::http_out
