#include "transport/http_in/response_text.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "transport/http_in/grammar.hpp"

namespace waybill::http_in {
namespace {

std::string_view reason(unsigned status) {
    switch (status) {
        case 200: return "OK";
        case 202: return "Accepted";
        case 204: return "No Content";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 408: return "Request Timeout";
        case 409: return "Conflict";
        case 413: return "Content Too Large";
        case 415: return "Unsupported Media Type";
        case 417: return "Expectation Failed";
        case 429: return "Too Many Requests";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 503: return "Service Unavailable";
        case 505: return "HTTP Version Not Supported";
        default: return "Status";
    }
}

/// A handler's header that would break the framing is left out: it is ours to say.
bool may_be_sent(std::string_view name, std::string_view value) {
    return is_token(name) && is_field_value(value) &&
           !equal_ignoring_case(name, "Content-Length") &&
           !equal_ignoring_case(name, "Transfer-Encoding") &&
           !equal_ignoring_case(name, "Connection") && !equal_ignoring_case(name, "Date");
}

}  // namespace

std::string to_text(const HttpResponse& response, const Framing& framing, std::string_view date) {
    std::string text;
    text.reserve(192 + response.body.size());
    text += "HTTP/1.1 ";
    text += std::to_string(response.status);
    text += ' ';
    text += reason(response.status);
    text += "\r\nDate: ";
    text += date;
    for (const auto& [name, value] : response.headers) {
        if (!may_be_sent(name, value)) continue;
        text += "\r\n";
        text += name;
        text += ": ";
        text += value;
    }
    if (response.status != 204) {
        text += "\r\nContent-Length: ";
        text += std::to_string(response.body.size());
    }
    if (!framing.keep_alive) text += "\r\nConnection: close";
    if (framing.say_keep_alive) text += "\r\nConnection: keep-alive";
    text += "\r\n\r\n";
    if (!framing.without_body && response.status != 204) text += response.body;
    return text;
}

HttpResponse to_response(const Refusal& refusal, Duration retry_after) {
    HttpResponse response;
    response.status = refusal.status;
    response.headers.add("Content-Type", "application/json");
    if (refusal.status == 503 || refusal.status == 429) {
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(retry_after).count();
        response.headers.add("Retry-After", std::to_string(seconds));
    }
    response.body = R"({"error":{"code":")";
    response.body += refusal.code;
    response.body += R"(","message":")";
    for (const char c : refusal.message) {
        if (c == '"') response.body += '\\';
        response.body += c;
    }
    response.body += "\",\"detail\":{}}}\n";
    return response;
}

std::string http_date(StoreTime now) {
    constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const std::time_t seconds =
        std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                  kDays.at(static_cast<std::size_t>(parts.tm_wday)), parts.tm_mday,
                  kMonths.at(static_cast<std::size_t>(parts.tm_mon)), parts.tm_year + 1900,
                  parts.tm_hour, parts.tm_min, parts.tm_sec);
    return text.data();
}

}  // namespace waybill::http_in
