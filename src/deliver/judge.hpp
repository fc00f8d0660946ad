#pragma once

#include <optional>
#include <string>

#include "transport/http_out/http_out.hpp"
#include "waybill/json/value.hpp"
#include "waybill/outcome.hpp"
#include "waybill/subscription.hpp"

/// What an answer means. Pure.
namespace waybill::deliver {

struct Judgement {
    Outcome outcome{};
    /// What it says of the endpoint.
    enum class Health : std::uint8_t {
        well,
        unwell,   ///< it answers, but not as it should
        failing,  ///< no answer, or one that says that it cannot
        gone,     ///< 410: never again
    } health = Health::well;
    /// The endpoint asks to be left alone for so long.
    std::optional<Duration> rest{};
};

Judgement judge(const http_out::Result& result, Subscription::ClientErrors client_errors,
                StoreTime now);

/// Whether an attempt that ended so is written down.
bool is_logged(const Outcome& outcome, AttemptsLog log);
/// What is written down of it.
json::Object report_of(const http_out::Result& result);
/// No endpoint can ask for more.
inline constexpr Duration retry_after_most = std::chrono::hours{1};
/// Of an answer's body, in the log of attempts.
inline constexpr std::size_t logged_body_max = 4'000;

}  // namespace waybill::deliver
