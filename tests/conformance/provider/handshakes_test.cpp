#include <array>
#include <string>

#include <gtest/gtest.h>

#include "clock.hpp"
#include "waybill/json/value.hpp"
#include "waybill/providers.hpp"

/// Each is answered as its sender requires, and is no event.
namespace waybill::providers {
namespace {

Source source_of(const std::string& provider) {
    return {.name = provider,
            .provider = provider,
            .secrets = {"a-secret"},
            .public_url = "https://example.com/hook",
            .verify_token = "let-me-in"};
}

HttpResponse answer(const std::string& provider, const HttpRequest& request) {
    const Source source = source_of(provider);
    const Verdict verdict = find(provider)->receive({request, source, kNow});
    EXPECT_TRUE(std::holds_alternative<HttpResponse>(verdict)) << provider;
    const auto* response = std::get_if<HttpResponse>(&verdict);
    return response != nullptr ? *response : HttpResponse{.status = 0};
}

HttpResponse signed_answer(const std::string& provider, HttpRequest request) {
    request.method = "POST";
    return answer(provider, *sign(std::move(request), source_of(provider), "m-1", kNow));
}

std::string refusal(const std::string& provider, const HttpRequest& request) {
    const Source source = source_of(provider);
    const Verdict verdict = find(provider)->receive({request, source, kNow});
    const auto* refused = std::get_if<Rejected>(&verdict);
    return refused != nullptr ? std::string{to_string(refused->reason)} : "taken";
}

TEST(Handshakes, SlackWantsItsChallengeAndSignsIt) {
    const std::string body = R"({"type":"url_verification","challenge":"3eZbrw1a"})";

    const HttpResponse response = signed_answer("slack", {.body = body});

    EXPECT_EQ(response.status, 200U);
    EXPECT_EQ(response.body, "3eZbrw1a");
    EXPECT_EQ(refusal("slack", {.method = "POST", .body = body}), "missing");
}

TEST(Handshakes, ZoomWantsItsTokenSigned) {
    const HttpResponse response =
        signed_answer("zoom", {.body = R"({"event":"endpoint.url_validation",)"
                                       R"("payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}})"});

    const json::Value document = json::parse(response.body);
    EXPECT_EQ(document.find("plainToken")->as_string(), "qgg8vlvZRS6UYooatFL8Aw");
    // printf %s qgg8vlvZRS6UYooatFL8Aw | openssl dgst -sha256 -hmac a-secret
    EXPECT_EQ(document.find("encryptedToken")->as_string(),
              "ce34c7d6a8cf4aa3182a64bc8cfd642132b7520919235e949fff0f998c2b3f8e");
}

TEST(Handshakes, MetaShowsTheTokenThatWasConfigured) {
    const std::string good = "/?hub.mode=subscribe&hub.verify_token=let-me-in&hub.challenge=42";
    EXPECT_EQ(answer("meta", {.target = good}).body, "42");
    for (const char* bad : {"/?hub.mode=subscribe&hub.verify_token=guess&hub.challenge=42",
                            "/?hub.mode=subscribe&hub.verify_token=&hub.challenge=42",
                            "/?hub.mode=subscribe&hub.challenge=42",
                            "/?hub.mode=subscribe&hub.verify_token=let-me-in"}) {
        EXPECT_EQ(refusal("meta", {.target = bad}), "forbidden") << bad;
    }
    EXPECT_EQ(refusal("meta", {.target = "/?hub.mode=unsubscribe"}), "malformed");
}

TEST(Handshakes, MetaWithoutATokenLetsNobodyIn) {
    Source source = source_of("meta");
    source.verify_token.clear();
    const HttpRequest request{.target = "/?hub.mode=subscribe&hub.verify_token=&hub.challenge=42"};
    const Verdict verdict = find("meta")->receive({request, source, kNow});
    EXPECT_EQ(std::get<Rejected>(verdict).status, 403U);
}

TEST(Handshakes, MicrosoftGraphWantsItsTokenAsPlainText) {
    const HttpResponse response =
        answer("microsoft-graph",
               {.method = "POST", .target = "/?validationToken=Validation%3A+Testing+%3Cb%3E"});

    EXPECT_EQ(response.body, "Validation: Testing <b>");
    EXPECT_TRUE(response.headers.find("Content-Type")->starts_with("text/plain"));
    EXPECT_EQ(*response.headers.find("X-Content-Type-Options"), "nosniff");
}

TEST(Handshakes, CloudEventsAsksWithOptions) {
    const HttpResponse response =
        answer("cloudevents", {.method = "OPTIONS",
                               .headers = {{"WebHook-Request-Origin", "events.example.com"},
                                           {"WebHook-Request-Rate", "120"}}});

    EXPECT_EQ(response.status, 200U);
    EXPECT_EQ(*response.headers.find("WebHook-Allowed-Origin"), "events.example.com");
    EXPECT_EQ(*response.headers.find("WebHook-Allowed-Rate"), "*");
    EXPECT_EQ(refusal("cloudevents", {.method = "OPTIONS"}), "malformed");
}

TEST(Handshakes, DropboxAndTrelloAndOktaAskWithGet) {
    EXPECT_EQ(answer("dropbox", {.target = "/?challenge=abc"}).body, "abc");
    EXPECT_EQ(answer("trello", {.method = "HEAD"}).status, 200U);
    EXPECT_EQ(answer("okta", {.headers = {{"X-Okta-Verification-Challenge", "abc"}}}).body,
              R"({"verification":"abc"})");
    EXPECT_EQ(refusal("dropbox", {.target = "/"}), "malformed");
}

TEST(Handshakes, XWantsItsTokenSigned) {
    const HttpResponse response = answer("x", {.target = "/?crc_token=abc&nonce=1"});
    // printf %s abc | openssl dgst -sha256 -hmac a-secret -binary | base64
    EXPECT_EQ(response.body,
              R"({"response_token":"sha256=XdoEyzpCf4JMSsAtZSLp+RdWD/DCquz3RAsKOJT4JDM="})");
}

TEST(Handshakes, TwitchSignsItsChallenge) {
    HttpRequest request{.body = R"({"challenge":"pogchamp","subscription":{"type":"x"}})"};
    request.headers.add("Twitch-Eventsub-Message-Type", "webhook_callback_verification");
    EXPECT_EQ(signed_answer("twitch", request).body, "pogchamp");
}

TEST(Handshakes, EventGridWantsItsCodeBack) {
    HttpRequest request{.method = "POST",
                        .target = "/?token=a-secret",
                        .body = R"([{"data":{"validationCode":"512d38b6"}}])"};
    request.headers.add("aeg-event-type", "SubscriptionValidation");
    EXPECT_EQ(answer("event-grid", request).body, R"({"validationResponse":"512d38b6"})");
    request.target = "/?token=guess";
    EXPECT_EQ(refusal("event-grid", request), "bad-signature");
}

TEST(Handshakes, AsanaAndNotionBringTheirSecret) {
    const HttpRequest asana{.method = "POST", .headers = {{"X-Hook-Secret", "b537207f"}}};
    EXPECT_EQ(*answer("asana", asana).headers.find("X-Hook-Secret"), "b537207f");
    EXPECT_EQ(
        answer("notion", {.method = "POST", .body = R"({"verification_token":"secret_t"})"}).status,
        200U);
    EXPECT_EQ(refusal("notion", {.method = "POST",
                                 .body = R"({"verification_token":"secret_t","type":"x"})"}),
              "missing");
}

TEST(Handshakes, NothingIsEchoedThatIsLongOrNotPrintable) {
    const std::string long_one(5'000, 'x');
    EXPECT_EQ(refusal("dropbox", {.target = "/?challenge=" + long_one}), "malformed");
    EXPECT_EQ(refusal("dropbox", {.target = "/?challenge=a%0D%0AX-Evil%3A+1"}), "malformed");
    EXPECT_EQ(refusal("asana", {.method = "POST", .headers = {{"X-Hook-Secret", "a\r\nb"}}}),
              "missing");
    const HttpRequest origin{.method = "OPTIONS",
                             .headers = {{"WebHook-Request-Origin", "a\r\nX-Evil: 1"}}};
    EXPECT_EQ(refusal("cloudevents", origin), "malformed");
}

}  // namespace
}  // namespace waybill::providers
