#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "clock.hpp"
#include "providers/known_answers.hpp"
#include "waybill/providers.hpp"

/// What the own libraries of Stripe, Svix, Square and others are tested with, and PV3, PV5, T8, T9.
namespace waybill::providers {
namespace {

constexpr const char* kBody = R"({"id":"evt_1","type":"invoice.paid"})";
constexpr const char* kGood = "75f5c4e4ccd0d3b8a54ddd9cdc59e8f8f0ac69a1c2ac5b3c0b5b1b0b7c4a4b9c";

std::string code_of(const Verdict& verdict) {
    if (const auto* refused = std::get_if<Rejected>(&verdict)) {
        return std::string{to_string(refused->reason)};
    }
    return std::holds_alternative<Parsed>(verdict) ? "" : "handshake";
}

/// The signature of kBody at 1,700,000,000, as its sender makes it.
std::string right_v1() {
    const Source source{.provider = "stripe", .secrets = {"whsec_test"}};
    const auto request = sign({.method = "POST", .body = kBody}, source, "", kNow);
    const std::string header = *request->headers.find("Stripe-Signature");
    return header.substr(header.find("v1=") + 3);
}

std::string stripe(const std::string& header) {
    const Source source{.provider = "stripe", .secrets = {"whsec_test"}};
    const HttpRequest request{
        .method = "POST", .headers = {{"Stripe-Signature", header}}, .body = kBody};
    return code_of(find("stripe")->receive({request, source, kNow}));
}

TEST(StripeScheme, AListHasItsForm) {
    const std::string v1 = right_v1();
    const std::string t = "t=1700000000";
    std::string nine;
    for (int i = 0; i < 9; ++i) nine += ",v1=" + v1;
    std::string others;
    for (int i = 0; i < 100; ++i) others += ",v0=ab";
    const std::array<std::pair<std::string, const char*>, 30> cases{{
        {t + ",v1=" + v1, ""},
        {"v1=" + v1 + "," + t, ""},
        {t + ",v1=" + kGood + ",v1=" + v1, ""},
        {t + ",v1=" + v1 + ",v1=" + kGood, ""},
        {t + ",v1=" + v1 + ",v0=ab", ""},
        {t + ", v1=" + v1, ""},
        {t + ",v1=zz,v1=" + v1, ""},
        {t + others + ",v1=" + v1, ""},
        {t + ",v1=" + kGood, "bad-signature"},
        {t + ",v1=deadbeef", "bad-signature"},
        {t + ",v1=" + v1 + "00", "bad-signature"},
        {"t=1699999999,v1=" + v1, "bad-signature"},
        {"t=01700000000,v1=" + v1, "bad-signature"},
        {t + ",v0=" + v1, "malformed"},
        {t + ",V1=" + v1, "malformed"},
        {t + ",v1=zz", "malformed"},
        {t + ",v1=" + v1.substr(1), "malformed"},
        {t + ",v1=", "malformed"},
        {t + ",v1", "malformed"},
        {t + ",v1=" + v1 + ",", "malformed"},
        {"," + t + ",v1=" + v1, "malformed"},
        {"v1," + t, "malformed"},
        {t, "malformed"},
        {"t=,v1=" + v1, "malformed"},
        {"t=now,v1=" + v1, "malformed"},
        {"t=-1,v1=" + v1, "malformed"},
        {t + nine, "malformed"},
        {v1, "malformed"},
        {"v1=" + v1, "missing"},
        {"", "missing"},
    }};
    for (const auto& [header, expected] : cases) EXPECT_EQ(stripe(header), expected) << header;
}

TEST(StripeScheme, FiveMinutesEitherWay) {
    const Source source{.provider = "stripe", .secrets = {"whsec_test"}};
    const auto request = *sign({.method = "POST", .body = kBody}, source, "", kNow);
    const std::array<std::pair<int, const char*>, 6> cases{
        {{0, ""}, {300, ""}, {301, "stale"}, {-300, ""}, {-301, "stale"}, {100'000, "stale"}}};
    for (const auto& [later, expected] : cases) {
        const StoreTime now = kNow + std::chrono::seconds{later};
        EXPECT_EQ(code_of(find("stripe")->receive({request, source, now})), expected) << later;
    }
}

TEST(StandardWebhooksScheme, AnyOfSeveralSignaturesMayBeRight) {
    const KnownAnswer* svix = nullptr;
    for (const KnownAnswer& answer : official_answers()) {
        if (answer.provider == "svix") svix = &answer;
    }
    const std::string good = "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=";
    const std::string bad = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=";
    const std::array<std::pair<std::string, const char*>, 16> cases{{
        {good, ""},
        {good + " " + bad + " v2," + bad.substr(3), ""},
        {bad + " " + good + " " + bad, ""},
        {bad + " " + bad + " " + good, ""},
        {"v1,!!! " + good, ""},
        {bad, "bad-signature"},
        {"v1, ", "bad-signature"},
        {"v1,tZ1I", "bad-signature"},
        {"v1a," + good.substr(3), "bad-signature"},
        {"v2," + good.substr(3), "malformed"},
        {"v1", "bad-signature"},
        {good.substr(3), "malformed"},
        {"v1=" + good.substr(3), "malformed"},
        {"V1," + good.substr(3), "malformed"},
        {"v1,!!!", "malformed"},
        {"", "missing"},
    }};
    for (const auto& [header, expected] : cases) {
        HttpRequest request = request_of(*svix);
        request.headers.set("svix-signature", header);
        const Source source = source_of(*svix);
        EXPECT_EQ(code_of(find("svix")->receive({request, source, time_of(*svix)})), expected)
            << header;
    }
}

TEST(StandardWebhooksScheme, SecretsHaveTheirForm) {
    const auto provider = find("standard-webhooks");
    const auto problems = [&](const std::string& secret) {
        return provider->check({.provider = "standard-webhooks", .secrets = {secret}}).size();
    };
    EXPECT_EQ(problems("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 0U);
    EXPECT_EQ(problems("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="), 0U);
    EXPECT_EQ(problems("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 0U);
    for (const char* secret : {"", "whsec_", "whsec_!!", "whpk_", "whpk_AAAA", "whsk_AAAA"}) {
        EXPECT_EQ(problems(secret), 1U) << secret;
    }
}

TEST(GenericScheme, IsAsItsOptionsSay) {
    for (const char* algorithm : {"sha1", "sha256", "sha512"}) {
        for (const char* encoding : {"hex", "base64"}) {
            for (const char* prefix : {"", "sha=", "Bearer "}) {
                for (const char* text : {"{body}", "{timestamp}.{body}", "{method} {path}\n{body}",
                                         "{url}|{header:X-Extra}|{body}"}) {
                    Source source{.name = "g", .secrets = {"00ff"}, .public_url = "https://a/b"};
                    source.signature = {.header = "X-Sig",
                                        .prefix = prefix,
                                        .algorithm = algorithm,
                                        .encoding = encoding,
                                        .signed_string = text,
                                        .secret_form = "hex"};
                    if (std::string_view{text}.starts_with("{timestamp}")) {
                        source.signature.timestamp = "header:X-Time";
                    }
                    const auto provider = find("generic");
                    ASSERT_EQ(provider->check(source), Problems{});
                    HttpRequest plain{.method = "POST",
                                      .target = "/in?x=1",
                                      .headers = {{"X-Extra", "e"}},
                                      .body = R"({"type":"t"})"};
                    HttpRequest request = *sign(plain, source, "", kNow);
                    EXPECT_EQ(code_of(provider->receive({request, source, kNow})), "");
                    request.body += " ";
                    EXPECT_EQ(code_of(provider->receive({request, source, kNow})), "bad-signature");
                }
            }
        }
    }
}

TEST(GenericScheme, APrefixHasItsCase) {
    Source source{.name = "g", .secrets = {"s"}};
    source.signature.prefix = "sha256=";
    HttpRequest request = *sign({.method = "POST", .body = R"({"type":"t"})"}, source, "", kNow);
    const std::string value = *request.headers.find("X-Signature-256");
    for (const std::string& changed : {"SHA256=" + value.substr(7), value.substr(7), " " + value}) {
        request.headers.set("X-Signature-256", changed);
        EXPECT_EQ(code_of(find("generic")->receive({request, source, kNow})), "malformed");
    }
}

TEST(GenericScheme, WhatCannotWorkIsSaidAtOnce) {
    const auto provider = find("generic");
    const auto count = [&](Source source) { return provider->check(source).size(); };
    const Source good{.name = "g", .secrets = {"s"}};
    EXPECT_EQ(count(good), 0U);
    std::vector<Source> bad(13, good);
    bad[0].secrets.clear();
    bad[1].secrets = {""};
    bad[2].secrets.assign(9, "s");
    bad[3].tolerance = Duration::zero();
    bad[4].event_type = "type";
    bad[5].lane = "json:";
    bad[6].signature.algorithm = "md5";
    bad[7].signature.encoding = "rot13";
    bad[8].signature.signed_string = "{timestamp}";
    bad[8].signature.timestamp = "header:T";
    bad[9].signature.signed_string = "{timestamp}.{body}";
    bad[10].signature.timestamp = "header:T";
    bad[11].signature.signed_string = "{url}{body}";
    bad[12].signature.signed_string = "{body}{nonsense}";
    for (std::size_t i = 0; i < bad.size(); ++i) EXPECT_EQ(count(bad[i]), 1U) << i;
}

TEST(UrlSchemes, NeedToKnowTheUrl) {
    for (const char* key : {"square", "trello", "twilio", "hubspot"}) {
        EXPECT_EQ(find(key)->check({.provider = key, .secrets = {"s"}}).size(), 1U) << key;
    }
}

TEST(DiscordScheme, ABadSignatureIs401) {
    const HttpRequest request{.method = "POST", .body = "{}"};
    const Source source{
        .provider = "discord",
        .secrets = {"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"}};
    const Verdict verdict = find("discord")->receive({request, source, kNow});
    EXPECT_EQ(std::get<Rejected>(verdict).status, 401U);
}

TEST(AdyenScheme, ARequestWithSeveralItemsIsRefused) {
    for (const KnownAnswer& answer : official_answers()) {
        if (answer.provider != "adyen") continue;
        HttpRequest request = request_of(answer);
        const std::string two = R"(,{"NotificationRequestItem":{"eventCode":"REFUND"}}]})";
        request.body.replace(request.body.size() - 2, 2, two);
        const Source source = source_of(answer);
        EXPECT_EQ(code_of(find("adyen")->receive({request, source, kNow})), "malformed");
    }
}

TEST(Providers, IdsThatAreNotSignedAreWeak) {
    for (const char* key : {"github", "shopify", "linear", "bitbucket", "box", "razorpay", "sentry",
                            "paypal", "mailgun", "outbox", "bearer", "api-key", "okta"}) {
        EXPECT_FALSE(info(key)->id_is_signed) << key;
    }
    for (const char* key : {"stripe", "standard-webhooks", "svix", "slack", "square", "paddle",
                            "twitch", "notion", "discord", "coinbase-commerce", "workos"}) {
        EXPECT_TRUE(info(key)->id_is_signed) << key;
    }
}

TEST(Providers, AreFoundInEitherCaseAndNobodyElseIs) {
    EXPECT_EQ(find("Stripe"), find("stripe"));
    EXPECT_EQ(find("nobody"), nullptr);
    EXPECT_EQ(find(""), nullptr);
    EXPECT_FALSE(info("nobody").has_value());
    for (const std::string_view key : keys()) EXPECT_FALSE(info(key)->scheme.empty()) << key;
}

}  // namespace
}  // namespace waybill::providers
