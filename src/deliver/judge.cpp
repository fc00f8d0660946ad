#include "deliver/judge.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "waybill/signing.hpp"

namespace waybill::deliver {
namespace {

using Health = Judgement::Health;

constexpr std::size_t kExcerptBytesMax = 500;
constexpr std::size_t kHeaderBytesMax = 1'000;

std::string answered(const http_out::Result& result) {
    const std::string status = "answered " + std::to_string(result.status);
    if (result.status >= 300 && result.status < 400) {
        const std::string* const location = result.headers.find("Location");
        return status + ": redirects are not followed" +
               (location == nullptr ? "" : ", and it points to " + clean_text(*location, 200));
    }
    return status + (result.body.empty() ? "" : ": " + clean_text(result.body, kExcerptBytesMax));
}

/// The beginning of one, too, which may end within a character.
bool is_text(std::string_view body, bool is_beginning) {
    constexpr std::size_t kLongestCharacter = 4;
    for (std::size_t less = 0; less <= body.size() && less < kLongestCharacter; ++less) {
        if (is_storable_text(body.substr(0, body.size() - less))) return true;
        if (!is_beginning) break;
    }
    return false;
}

}  // namespace

Judgement judge(const http_out::Result& result, Subscription::ClientErrors client_errors,
                StoreTime now) {
    if (result.failure == http_out::Failure::blocked) {
        return {.outcome = Fail{.reason = "blocked: " + result.error +
                                          "; what may be called is in [egress]"},
                .health = Health::failing};
    }
    if (result.status == 0) {
        return {.outcome = Fail{.reason = std::string{http_out::name_of(result.failure)} + ": " +
                                          result.error},
                .health = Health::failing};
    }
    const unsigned status = result.status;
    if (status >= 200 && status < 300) return {.outcome = Done{}};
    if (status == 410) return {.outcome = Dead{answered(result)}, .health = Health::gone};
    if (status == 429 || status == 503) {
        const auto wish = webhook::retry_after(result.headers, now, {.most = retry_after_most});
        // "0", and a date that is over because their clock is behind ours, must not use up all attempts at once.
        return {
            .outcome = Fail{.reason = answered(result), .retry_after = wish, .backs_off_too = true},
            .health = status == 503 ? Health::failing : Health::unwell,
            .rest = wish};
    }
    const bool is_clients_fault = status >= 400 && status < 500 && status != 408 && status != 425;
    if (is_clients_fault && client_errors == Subscription::ClientErrors::dead) {
        return {.outcome = Fail{.reason = answered(result), .permanent = true},
                .health = Health::unwell};
    }
    return {.outcome = Fail{.reason = answered(result)},
            .health = status >= 500 ? Health::failing : Health::unwell};
}

bool is_logged(const Outcome& outcome, AttemptsLog log) {
    return log == AttemptsLog::all ||
           (log == AttemptsLog::failures && !std::holds_alternative<Done>(outcome));
}

json::Object report_of(const http_out::Result& result) {
    json::Object report;
    const auto add = [&](const char* name, json::Value value) {
        report.emplace_back(name, std::move(value));
    };
    if (result.status != 0) add("status", result.status);
    if (result.failure != http_out::Failure::none) {
        add("failure", http_out::name_of(result.failure));
        add("phase", http_out::name_of(result.phase));
    }
    if (result.verdict != http_out::Verdict::allowed) {
        add("verdict", http_out::name_of(result.verdict));
    }
    if (!result.error.empty()) add("error", clean_text(result.error, kHeaderBytesMax));
    const http_out::Timings& took = result.timings;
    add("microseconds", json::Object{{"name", took.name.count()},
                                     {"connect", took.connect.count()},
                                     {"tls", took.tls.count()},
                                     {"first_byte", took.first_byte.count()},
                                     {"total", took.total.count()}});
    if (!result.address.empty()) add("address", result.address);
    if (result.status == 0) return report;
    add("http", result.http_version);
    json::Object headers;
    for (const auto& [name, value] : result.headers) {
        headers.emplace_back(clean_text(name, 200), clean_text(value, kHeaderBytesMax));
    }
    add("headers", std::move(headers));
    const std::string body = result.body.substr(0, logged_body_max);
    if (is_text(body, result.cut || body.size() < result.body.size())) {
        add("body", clean_text(body, logged_body_max));
    } else {
        add("body_base64", signing::to_base64(body));
    }
    add("body_bytes", result.body_bytes);
    if (result.cut || body.size() < result.body.size()) add("cut", true);
    return report;
}

}  // namespace waybill::deliver
