#include <string>

#include <gtest/gtest.h>

#include "clock.hpp"
#include "waybill/providers.hpp"

/// What `waybill verify` tells a person with a captured request.
namespace waybill::providers {
namespace {

constexpr const char* kInvoice = R"({"id": "evt_1", "type": "invoice.paid"})";

HttpRequest signed_with(const Source& source, const std::string& body = kInvoice) {
    return *sign({.method = "POST", .body = body}, source, "m-1", kNow);
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

const Source kStripe{.name = "s", .provider = "stripe", .secrets = {"whsec_the_secret"}};

TEST(Explain, ARightRequestIsSaidToBeRight) {
    const Explanation explanation = explain(signed_with(kStripe), kStripe, kNow);

    EXPECT_TRUE(std::holds_alternative<Parsed>(explanation.verdict));
    EXPECT_EQ(explanation.evidence.signed_string, "1700000000." + std::string{kInvoice});
    EXPECT_EQ(explanation.evidence.skew, Duration::zero());
    EXPECT_EQ(explanation.likely_cause, "");
    EXPECT_TRUE(has(to_text(explanation), "verified: type invoice.paid, id evt_1"));
}

TEST(Explain, EverySecretThatWasTriedIsListedAndNoneIsShown) {
    Source source = kStripe;
    source.secrets = {"whsec_wrong_one", "whsec_wrong_two"};
    const std::string text = to_text(explain(signed_with(kStripe), source, kNow));

    EXPECT_TRUE(has(text, "refused: bad-signature"));
    EXPECT_TRUE(has(text, "secret 1: does not match"));
    EXPECT_TRUE(has(text, "secret 2: does not match"));
    EXPECT_TRUE(has(text, "likely cause: a wrong secret"));
    EXPECT_FALSE(has(text, "whsec_wrong"));
}

TEST(Explain, AStaleRequestSaysHowOld) {
    const Explanation explanation =
        explain(signed_with(kStripe), kStripe, kNow + std::chrono::seconds{1'000});

    EXPECT_EQ(explanation.evidence.skew, std::chrono::seconds{1'000});
    EXPECT_TRUE(has(to_text(explanation), "timestamp: 1000 s old; 300 s allowed"));
    EXPECT_TRUE(has(explanation.likely_cause, "clock"));
}

TEST(Explain, ABodyThatWasSerialisedAgainIsRecognised) {
    // Signed compact; captured with spaces, as a framework that parses and prints would.
    const HttpRequest compact = signed_with(kStripe, R"({"id":"evt_1","type":"invoice.paid"})");
    HttpRequest captured = compact;
    captured.body = kInvoice;
    EXPECT_TRUE(has(explain(captured, kStripe, kNow).likely_cause, "re-serialised"));
}

TEST(Explain, ALineEndMoreOrLessIsRecognised) {
    HttpRequest longer = signed_with(kStripe);
    longer.body += "\n";
    HttpRequest shorter = signed_with(kStripe, std::string{kInvoice} + "\r\n");
    shorter.body.resize(shorter.body.size() - 2);
    EXPECT_TRUE(has(explain(longer, kStripe, kNow).likely_cause, "line end was added"));
    EXPECT_TRUE(has(explain(shorter, kStripe, kNow).likely_cause, "was lost"));
}

TEST(Explain, ASecretInAnotherFormIsRecognised) {
    Source bare = kStripe;
    bare.secrets = {"the_secret"};
    Source padded = kStripe;
    padded.secrets = {"whsec_the_secret\n"};
    EXPECT_TRUE(has(explain(signed_with(kStripe), bare, kNow).likely_cause, "whsec_"));
    EXPECT_TRUE(has(explain(signed_with(kStripe), padded, kNow).likely_cause, "white space"));
}

TEST(Explain, AnotherUrlIsRecognised) {
    const Source real{.name = "s",
                      .provider = "square",
                      .secrets = {"key"},
                      .public_url = "https://example.com/hooks/square/"};
    Source configured = real;
    configured.public_url = "https://example.com/hooks/square";
    const Explanation explanation = explain(signed_with(real), configured, kNow);
    EXPECT_TRUE(has(explanation.likely_cause, "https://example.com/hooks/square/"));
    EXPECT_TRUE(has(explanation.likely_cause, "proxy"));
}

TEST(Explain, AnotherProviderIsRecognised) {
    Source github = kStripe;
    github.provider = "github";
    EXPECT_TRUE(has(explain(signed_with(kStripe), github, kNow).likely_cause, "\"stripe\""));
}

TEST(Explain, WhatAHeaderLacksIsSaid) {
    HttpRequest request = signed_with(kStripe);
    request.headers = {};
    const std::string text = to_text(explain(request, kStripe, kNow));
    EXPECT_TRUE(has(text, "there is no Stripe-Signature"));
}

TEST(Explain, ASecretInTheBodyIsMasked) {
    const std::string body = R"({"type":"t","leak":"whsec_the_secret"})";
    EXPECT_FALSE(has(to_text(explain(signed_with(kStripe, body), kStripe, kNow)), "the_secret"));
}

TEST(Explain, StrangeBytesAndLongBodiesStayReadable) {
    const std::string body = std::string(100'000, '\x01') + "\xFF";
    const std::string text = to_text(explain(signed_with(kStripe, body), kStripe, kNow));
    EXPECT_LT(text.size(), 9'000U);
    EXPECT_TRUE(has(text, "likely cause"));
}

TEST(Explain, AProviderThatIsNotKnownIsSaid) {
    Source source = kStripe;
    source.provider = "nobody";
    EXPECT_TRUE(has(to_text(explain({}, source, kNow)), "there is no provider"));
}

}  // namespace
}  // namespace waybill::providers
