#include "server/answer.hpp"

#include <utility>

namespace waybill::server {

HttpResponse json_response(unsigned status, const json::Value& value) {
    return {.status = status,
            .headers = {{"Content-Type", "application/json"}},
            .body = json::to_text(value) + "\n"};
}

HttpResponse error_response(unsigned status, const std::string& code, const std::string& message,
                            json::Object detail) {
    return json_response(status,
                         json::Object{{"error", json::Object{{"code", code},
                                                             {"message", message},
                                                             {"detail", std::move(detail)}}}});
}

}  // namespace waybill::server
