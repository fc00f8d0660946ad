#include "deliver/judge.hpp"

#include <gtest/gtest.h>

#include "waybill/json/value.hpp"

namespace waybill::deliver {
namespace {

using namespace std::chrono_literals;
using Health = Judgement::Health;
using ClientErrors = Subscription::ClientErrors;

constexpr StoreTime kNow{std::chrono::seconds{1'794'813'022}};

Judgement of_status(unsigned status, HttpHeaders headers = {},
                    ClientErrors client_errors = ClientErrors::retry) {
    http_out::Result result;
    result.status = status;
    result.headers = std::move(headers);
    result.body = "text";
    return judge(result, client_errors, kNow);
}

TEST(Judge, AnyOfTwoHundredIsDone) {
    for (const unsigned status : {200U, 201U, 202U, 204U, 299U}) {
        EXPECT_TRUE(std::holds_alternative<Done>(of_status(status).outcome)) << status;
    }
}

TEST(Judge, GoneIsDeadAndEndsTheSubscription) {
    const Judgement gone = of_status(410);
    EXPECT_EQ(std::get<Dead>(gone.outcome).reason, "answered 410: text");
    EXPECT_EQ(gone.health, Health::gone);
}

TEST(Judge, RetryAfterIsHonouredWithinBounds) {
    const auto wait = [](unsigned status, const char* text) {
        return std::get<Fail>(of_status(status, {{"Retry-After", text}}).outcome).retry_after;
    };
    EXPECT_EQ(wait(429, "120"), 120s);
    EXPECT_EQ(wait(503, "120"), 120s);
    EXPECT_EQ(wait(503, "999999999999"), 1h);
    EXPECT_EQ(wait(503, "soon"), std::nullopt);
    EXPECT_EQ(wait(500, "120"), std::nullopt);
}

TEST(Judge, ARetryAfterOfNothingDoesNotUseUpAllAttemptsAtOnce) {
    for (const char* text : {"0", "Wed, 21 Oct 2015 07:28:00 GMT"}) {
        const auto fail = std::get<Fail>(of_status(503, {{"Retry-After", text}}).outcome);
        EXPECT_EQ(fail.retry_after, 0s) << text;
        EXPECT_TRUE(fail.backs_off_too) << text;
    }
}

TEST(Judge, ADateIsARetryAfterToo) {
    const HttpHeaders headers{{"Retry-After", "Mon, 16 Nov 2026 07:11:22 GMT"}};
    EXPECT_EQ(std::get<Fail>(of_status(503, headers).outcome).retry_after, 1min);
}

TEST(Judge, ALongAnswerIsAShortReason) {
    http_out::Result result;
    result.status = 500;
    result.body = std::string(5'000, 'x');
    const Judgement judged = judge(result, ClientErrors::retry, kNow);
    EXPECT_LT(std::get<Fail>(judged.outcome).reason.size(), 600U);
}

TEST(Judge, ARedirectIsAFailureThatSaysWhereItPoints) {
    const Judgement redirect = of_status(302, {{"Location", "http://127.0.0.1/admin"}});
    EXPECT_EQ(std::get<Fail>(redirect.outcome).reason,
              "answered 302: redirects are not followed, and it points to http://127.0.0.1/admin");
}

TEST(Judge, WhatAClientErrorMeansIsForTheSubscriptionToSay) {
    EXPECT_FALSE(std::get<Fail>(of_status(400).outcome).permanent);
    EXPECT_TRUE(std::get<Fail>(of_status(400, {}, ClientErrors::dead).outcome).permanent);
    EXPECT_TRUE(std::get<Fail>(of_status(404, {}, ClientErrors::dead).outcome).permanent);
    for (const unsigned status : {408U, 425U, 429U, 500U}) {
        EXPECT_FALSE(std::get<Fail>(of_status(status, {}, ClientErrors::dead).outcome).permanent)
            << status;
    }
}

TEST(Judge, OnlyWhatSaysThatItCannotOpensACircuit) {
    EXPECT_EQ(of_status(400).health, Health::unwell);
    EXPECT_EQ(of_status(429).health, Health::unwell);
    EXPECT_EQ(of_status(500).health, Health::failing);
    http_out::Result none;
    none.failure = http_out::Failure::connect;
    none.error = "refused";
    const Judgement judged = judge(none, ClientErrors::retry, kNow);
    EXPECT_EQ(judged.health, Health::failing);
    EXPECT_EQ(std::get<Fail>(judged.outcome).reason, "connect: refused");
}

TEST(Report, KeepsFourThousandBytesOfAnAnswerAndSaysThatItWasCut) {
    http_out::Result result;
    result.status = 500;
    result.body = std::string(4'001, 'x');
    result.body_bytes = 4'001;
    const json::Value report{report_of(result)};
    EXPECT_EQ(report.find("body")->as_string(), std::string(4'000, 'x'));
    EXPECT_TRUE(report.find("cut")->as_bool());
    EXPECT_EQ(report.find("status")->as_uint64(), 500U);
}

TEST(Report, AnAnswerThatIsNoTextIsStillJson) {
    http_out::Result result;
    result.status = 500;
    result.body = std::string{"\xff\0x", 3};
    result.headers.add("X-Odd", "\xfe");
    const std::string text = json::to_text(report_of(result));
    EXPECT_NE(text.find(R"("body_base64":"/wB4")"), std::string::npos) << text;
}

TEST(Report, ALongAnswerIsTextOrNotWhereverItIsCut) {
    http_out::Result result;
    result.status = 500;
    result.body = std::string(3'999, 'x') + "\xc3\xbc" + "more";
    const json::Value of_text{report_of(result)};
    EXPECT_TRUE(of_text.find("body")->as_string().starts_with("xxx"));

    result.body = std::string(5'000, '\xfe');
    const json::Value of_bytes{report_of(result)};
    EXPECT_EQ(of_bytes.find("body"), nullptr) << "nobody can read it";
    EXPECT_EQ(of_bytes.find("body_base64")->as_string().size(), 5'336U) << "of 4,000 bytes";
}

}  // namespace
}  // namespace waybill::deliver
