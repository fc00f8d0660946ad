#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "waybill/append.hpp"
#include "waybill/http.hpp"
#include "waybill/intake.hpp"
#include "waybill/provider.hpp"

/// What a sender is answered, and what the report says of it.
namespace waybill::intake {

struct Answered {
    HttpResponse response{};
    IntakeReport report{};
};

/// {"error":{"code","message","detail":{}}}
HttpResponse error_response(unsigned status, std::string_view code, std::string_view message);
/// The same with Retry-After: come again.
HttpResponse later_response(std::string_view code, std::string_view message, Duration retry_after);

/// What the answer and the log call it.
std::string_view code_of(const Rejected& rejected);
HttpResponse refusal(const Rejected& rejected, Duration retry_after);
/// Of what became of the append; fills the report's outcome and message.
HttpResponse append_response(const AppendResult& result, Duration retry_after,
                             IntakeReport& report);
/// Of what an append threw or answered later.
HttpResponse failure_response(const std::exception_ptr& error, Duration retry_after,
                              IntakeReport& report);

}  // namespace waybill::intake
