#include <string>

#include <gtest/gtest.h>

#include "waybill/webhook.hpp"

namespace waybill::webhook {
namespace {

using namespace std::chrono_literals;

/// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
constexpr StoreTime kThen{784'111'777s};

std::optional<Duration> waits(const std::string& value, StoreTime now = kThen) {
    return retry_after({{"retry-after", value}}, now);
}

TEST(RetryAfter, IsANumberOfSeconds) {
    EXPECT_EQ(waits("0"), 0s);
    EXPECT_EQ(waits("7"), 7s);
    EXPECT_EQ(waits(" 120\t"), 120s);
    EXPECT_EQ(waits("007"), 7s);
    EXPECT_EQ(retry_after({}, kThen), std::nullopt);
}

TEST(RetryAfter, IsADateInAnyOfThreeForms) {
    for (const char* date : {"Sun, 06 Nov 1994 08:51:37 GMT", "Sunday, 06-Nov-94 08:51:37 GMT",
                             "Sun Nov  6 08:51:37 1994"}) {
        EXPECT_EQ(waits(date), 2min) << date;
    }
    EXPECT_EQ(waits("Wed Nov 16 08:51:37 1994"), 24h);
    EXPECT_EQ(waits("Thu, 29 Feb 1996 00:00:00 GMT"), 24h);
}

TEST(RetryAfter, TwoDigitsOfAYearAreTheNearestCentury) {
    constexpr StoreTime kIn2026{1'793'955'097s};  // Fri, 06 Nov 2026 08:51:37 GMT
    EXPECT_EQ(waits("Friday, 06-Nov-26 08:52:37 GMT", kIn2026), 1min);
    EXPECT_EQ(waits("Sunday, 06-Nov-94 08:52:37 GMT", kIn2026), 0s);
    EXPECT_EQ(waits("Friday, 06-Nov-76 08:52:37 GMT", kIn2026), 24h);
}

TEST(RetryAfter, StaysWithinItsBounds) {
    const RetryAfterBounds bounds{.least = 5s, .most = 10min};
    const auto within = [&](const std::string& value) {
        return retry_after({{"Retry-After", value}}, kThen, bounds);
    };
    EXPECT_EQ(within("1"), 5s);
    EXPECT_EQ(within("60"), 60s);
    EXPECT_EQ(within("601"), 10min);
    EXPECT_EQ(within("Sun, 06 Nov 1994 08:00:00 GMT"), 5s);
    EXPECT_EQ(within("Fri, 31 Dec 9999 23:59:59 GMT"), 10min);
    EXPECT_EQ(within("9223372036854775807"), 10min);
    EXPECT_EQ(within("9223372036855"), 10min);
    EXPECT_EQ(within(std::string(10'000, '9')), 10min);
    EXPECT_EQ(retry_after({{"Retry-After", "99999999999999999"}}, kThen, {.most = forever}),
              forever);
}

TEST(RetryAfter, NonsenseIsAsIfItWereNotThere) {
    for (const char* value : {"",
                              " ",
                              "-1",
                              "+1",
                              "1.5",
                              "1e3",
                              "0x10",
                              "soon",
                              "1 2",
                              "1,2",
                              "Sun, 06 Nov 1994",
                              "Sun, 06 Nov 1994 08:49:37",
                              "Sun, 06 Nov 1994 08:49:37 UTC",
                              "Sun, 06 Nov 1994 08:49:37 GMT ;",
                              "Sun, 6 Nov 1994 08:49:37 GMT",
                              "Sun, 31 Feb 1994 08:49:37 GMT",
                              "Sun, 00 Nov 1994 08:49:37 GMT",
                              "Sun, 06 Nov 1994 24:49:37 GMT",
                              "Sun, 06 Nov 1994 08:60:37 GMT",
                              "Sun, 06 nov 1994 08:49:37 GMT",
                              "Xxx, 06 Nov 1994 08:49:37 GMT",
                              "Sunday, 06-Nov-1994 08:49:37 GMT",
                              "Sun Nov 6 08:49:37 1994",
                              "Sun Nov  6 08:49:37 94",
                              "06 Nov 1994 08:49:37 GMT",
                              "1994-11-06T08:49:37Z",
                              "Sun,",
                              "S"}) {
        EXPECT_EQ(waits(value), std::nullopt) << value;
    }
}

}  // namespace
}  // namespace waybill::webhook
