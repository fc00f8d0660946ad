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

Judgement judge(const Subscription& subscription, const http_out::Result& result, StoreTime now);

/// For the log of attempts.
json::Object report_of(const http_out::Result& result);
/// No endpoint can ask for more.
inline constexpr Duration retry_after_most = std::chrono::hours{1};
/// Of an answer's body, in the log of attempts.
inline constexpr std::size_t logged_body_max = 4'000;

}  // namespace waybill::deliver
