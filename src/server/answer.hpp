#pragma once

#include <string>

#include "waybill/http.hpp"
#include "waybill/json/value.hpp"

/// What the server itself says, in one form. A line end closes it: people read it in terminals.
namespace waybill::server {

HttpResponse json_response(unsigned status, const json::Value& value);
/// {"error":{"code","message","detail":{}}}
HttpResponse error_response(unsigned status, const std::string& code, const std::string& message,
                            json::Object detail = {});

}  // namespace waybill::server
