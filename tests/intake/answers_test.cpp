#include <array>
#include <future>
#include <utility>

#include "fixture.hpp"
#include "support/gate.hpp"
#include "waybill/append.hpp"

/// Every answer of the contract that needs no socket.
namespace waybill::test {
namespace {

using testkit::FaultyStore;

constexpr const char* kEvent =
    R"({"id":"evt_1","type":"invoice.paid","account":"acct_1","data":{"object":{"id":"in_1"}}})";

TEST_P(IntakeTest, ANewWebhookIsAcceptedOnceItIsStored) {
    const HttpResponse response = intake.handle(signed_by("stripe", kEvent));

    EXPECT_EQ(response.status, 202U);
    EXPECT_EQ(status_in(response), "accepted");
    const Message message = only_message();
    EXPECT_EQ(to_string(message.id), id_in(response));
    EXPECT_EQ(message.body, kEvent);
    EXPECT_EQ(message.type, "invoice.paid");
    EXPECT_EQ(message.source, "stripe");
    EXPECT_EQ(message.tenant, "acct_1");
    EXPECT_EQ(message.lane, "in_1");
    EXPECT_EQ(message.content_type, "application/json");
    EXPECT_EQ(message.attributes.at("webhook.provider"), "stripe");
    EXPECT_EQ(message.attributes.at("webhook.id"), "evt_1");
    EXPECT_EQ(message.attributes.at("webhook.secret"), "2");
    EXPECT_TRUE(message.attributes.contains("header.stripe-signature"));
    EXPECT_FALSE(message.attributes.contains("webhook.id_is_weak"));
}

TEST_P(IntakeTest, ADuplicateIsAnsweredWithTheFirstMessage) {
    const HttpResponse first = intake.handle(signed_by("stripe", kEvent));
    const HttpResponse second = intake.handle(signed_by("stripe", kEvent));

    EXPECT_EQ(second.status, 200U);
    EXPECT_EQ(status_in(second), "duplicate");
    EXPECT_EQ(id_in(second), id_in(first));
    EXPECT_EQ(stored(), 1U);
}

TEST_P(IntakeTest, TheSameIdWithAnotherBodyIsADuplicateAndTheFirstBodyStays) {
    intake.handle(signed_by("stripe", kEvent));
    IntakeReport report;
    HttpResponse response;
    std::promise<void> answered;

    intake.handle(signed_by("stripe", R"({"id":"evt_1","type":"invoice.paid","account":"acct_1"})"),
                  [&](HttpResponse answer, const IntakeReport& what) {
                      response = std::move(answer);
                      report = what;
                      answered.set_value();
                  });
    answered.get_future().wait();

    EXPECT_EQ(response.status, 200U);
    EXPECT_EQ(status_in(response), "duplicate");
    EXPECT_EQ(report.outcome, "conflict");
    EXPECT_EQ(only_message().body, kEvent);
}

TEST_P(IntakeTest, WhatIsRefusedIsNotStored) {
    HttpRequest bad = signed_by("stripe", kEvent);
    bad.body += " ";
    HttpRequest unsigned_one = signed_by("stripe", kEvent);
    unsigned_one.headers = {};
    HttpRequest malformed = signed_by("stripe", kEvent);
    malformed.headers.set("Stripe-Signature", "t=1700000000,v1");
    HttpRequest stale = signed_by("stripe", kEvent);
    clock.step_wall(std::chrono::seconds{301});

    const std::array<std::pair<HttpRequest, const char*>, 6> cases{
        {{bad, "bad-signature"},
         {unsigned_one, "missing"},
         {malformed, "malformed"},
         {stale, "stale"},
         {signed_by("stripe", "[1]"), "missing"},
         {signed_by("stripe", "not json"), "unreadable-body"}}};
    for (const auto& [request, code] : cases) {
        const HttpResponse response = intake.handle(request);
        EXPECT_EQ(response.status, 400U) << code;
        EXPECT_EQ(code_in(response), code);
    }
    EXPECT_EQ(stored(), 0U);
}

TEST_P(IntakeTest, OtherAnswersAreAsInTheContract) {
    HttpRequest nobody = signed_by("stripe", kEvent);
    nobody.target = "/webhooks/nobody";
    HttpRequest elsewhere = signed_by("stripe", kEvent);
    elsewhere.target = "/elsewhere";
    HttpRequest get = signed_by("stripe", kEvent);
    get.method = "GET";
    HttpRequest put = signed_by("stripe", kEvent);
    put.method = "PUT";
    HttpRequest encoded = signed_by("stripe", kEvent);
    encoded.headers.add("Content-Encoding", "gzip");
    const HttpRequest large = signed_by("stripe", std::string((1U << 20) + 1, ' '));

    const std::array<std::pair<HttpRequest, unsigned>, 6> cases{
        {{nobody, 404}, {elsewhere, 404}, {get, 405}, {put, 405}, {encoded, 415}, {large, 413}}};
    for (const auto& [request, status] : cases) {
        EXPECT_EQ(intake.handle(request).status, status);
    }
    EXPECT_EQ(*intake.handle(put).headers.find("Allow"), "POST");
    EXPECT_EQ(stored(), 0U);
}

TEST_P(IntakeTest, ABodyOfExactlyTheLimitIsTaken) {
    std::string body = kEvent;
    body.append((1U << 20) - body.size(), ' ');

    EXPECT_EQ(intake.handle(signed_by("stripe", body)).status, 202U);
}

TEST_P(IntakeTest, AnUnknownOutcomeIsNeverAcknowledged) {
    store->fail_next(FaultyStore::Call::append, FaultyStore::Fault::after);

    const HttpResponse unknown = intake.handle(signed_by("stripe", kEvent));
    const HttpResponse again = intake.handle(signed_by("stripe", kEvent));

    EXPECT_EQ(unknown.status, 503U);
    EXPECT_EQ(code_in(unknown), "unknown-outcome");
    EXPECT_EQ(*unknown.headers.find("Retry-After"), "5");
    EXPECT_EQ(again.status, 200U);
    EXPECT_EQ(stored(), 1U);
}

TEST_P(IntakeTest, AStoreThatIsDownMeansLater) {
    intake.handle(signed_by("stripe", kEvent));
    store->set_down(true);
    const HttpResponse duplicate = intake.handle(signed_by("stripe", kEvent));
    const HttpResponse fresh = intake.handle(signed_by("github", "{}", "g-1"));
    store->set_down(false);

    EXPECT_EQ(duplicate.status, 503U) << "a duplicate is as durable as the first";
    EXPECT_EQ(fresh.status, 503U);
    EXPECT_EQ(code_in(fresh), "store-unavailable");
    EXPECT_TRUE(fresh.headers.find("Retry-After"));
    EXPECT_EQ(stored(), 1U);
    EXPECT_EQ(intake.handle(signed_by("github", "{}", "g-1")).status, 202U);
}

TEST_P(IntakeTest, AHandshakeIsAnsweredAndNotStored) {
    HttpRequest request{.method = "GET",
                        .target =
                            "/webhooks/meta?hub.mode=subscribe&hub.verify_token=let-me-in"
                            "&hub.challenge=1158201444"};
    const HttpResponse good = intake.handle(request);
    request.target = "/webhooks/meta?hub.mode=subscribe&hub.verify_token=guess&hub.challenge=1";
    const HttpResponse bad = intake.handle(request);

    EXPECT_EQ(good.status, 200U);
    EXPECT_EQ(good.body, "1158201444");
    EXPECT_EQ(bad.status, 403U);
    EXPECT_EQ(stored(), 0U);
}

TEST_P(IntakeTest, ASourceIsFoundInEitherCaseAndAtItsFixedPath) {
    HttpRequest upper = signed_by("stripe", kEvent);
    upper.target = "/webhooks/STRIPE";
    HttpRequest fixed = signed_by("github", "{}", "g-1");
    fixed.target = "/hooks/from-github?x=1";

    EXPECT_EQ(intake.handle(upper).status, 202U);
    EXPECT_EQ(only_message().source, "stripe");
    EXPECT_EQ(intake.handle(fixed).status, 202U);
    EXPECT_TRUE(intake.is_for("/hooks/from-github"));
    EXPECT_TRUE(intake.is_for("/webhooks/nobody"));
    EXPECT_FALSE(intake.is_for("/v1/messages"));
}

TEST_P(IntakeTest, WithoutASecretOnlyThisHostIsBelieved) {
    HttpRequest request{.method = "POST",
                        .target = "/webhooks/local",
                        .body = R"({"type":"t"})",
                        .remote_address = "127.0.0.1"};
    EXPECT_EQ(intake.handle(request).status, 202U);
    for (const char* address : {"", "10.0.0.1", "::2", "1270.0.0.1", "128.0.0.1"}) {
        request.remote_address = address;
        EXPECT_EQ(intake.handle(request).status, 403U) << address;
    }
    EXPECT_EQ(stored(), 1U);
}

TEST_P(IntakeTest, SourcesAreReplacedAllAtOnceOrNotAtAll) {
    auto changed = sources();
    changed.front().secrets = {"another-secret"};
    auto broken = sources();
    broken.front().secrets.clear();
    broken.back().provider = "nobody";

    try {
        intake.replace_sources(broken);
        FAIL() << "taken";
    } catch (const ConfigError& error) {
        EXPECT_EQ(error.problems().size(), 2U) << error.what();
    }
    EXPECT_EQ(intake.handle(signed_by("stripe", kEvent)).status, 202U);
    intake.replace_sources(changed);
    EXPECT_EQ(intake.handle(signed_by("stripe", kEvent)).status, 400U);
}

INSTANTIATE_TEST_SUITE_P(Stores, IntakeTest, testing::ValuesIn(intake_stores()), intake_store_name);

}  // namespace
}  // namespace waybill::test
