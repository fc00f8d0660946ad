#include <future>

#include "fixture.hpp"

/// What is the same event, and what is not.
namespace waybill::test {
namespace {

class IntakeIdentity : public IntakeTest {
protected:
    IntakeReport report_of(HttpRequest request) {
        std::promise<IntakeReport> promise;
        intake.handle(std::move(request), [&](const HttpResponse&, const IntakeReport& report) {
            promise.set_value(report);
        });
        return promise.get_future().get();
    }
};

TEST_P(IntakeIdentity, WithoutAnIdEqualBodiesAreOneEvent) {
    EXPECT_EQ(intake.handle(signed_by("acme", R"({"type":"t","n":1})")).status, 202U);
    EXPECT_EQ(intake.handle(signed_by("acme", R"({"type":"t","n":1})")).status, 200U);
    EXPECT_EQ(intake.handle(signed_by("acme", R"({"type":"t","n":2})")).status, 202U);
}

TEST_P(IntakeIdentity, AnEmptyIdIsNoId) {
    EXPECT_EQ(intake.handle(signed_by("github", R"({"n":1})")).status, 202U);
    EXPECT_EQ(intake.handle(signed_by("github", R"({"n":2})")).status, 202U);
    HttpRequest third = signed_by("github", R"({"n":3})");
    third.headers.set("X-GitHub-Delivery", "");
    EXPECT_EQ(intake.handle(third).status, 202U);
    EXPECT_EQ(stored(), 3U);
}

TEST_P(IntakeIdentity, ASenderThatRepeatsItselfLosesNothing) {
    const std::string body = R"({"list_folder":{"accounts":["dbid:1"]}})";

    EXPECT_EQ(intake.handle(signed_by("dropbox", body)).status, 202U);
    EXPECT_EQ(intake.handle(signed_by("dropbox", body)).status, 202U);
    EXPECT_EQ(stored(), 2U);
}

TEST_P(IntakeIdentity, TwoTenantsMayCountAlike) {
    HttpRequest a = signed_by("acme", R"({"type":"t"})", "1");
    a.headers.add("X-Acme-Tenant", "a");
    HttpRequest b = signed_by("acme", R"({"type":"t"})", "1");
    b.headers.add("X-Acme-Tenant", "b");

    EXPECT_EQ(intake.handle(a).status, 202U);
    EXPECT_EQ(intake.handle(b).status, 202U);
    EXPECT_EQ(intake.handle(a).status, 200U);
}

TEST_P(IntakeIdentity, TwoSourcesMayCountAlike) {
    EXPECT_EQ(intake.handle(signed_by("acme", R"({"type":"t"})", "1")).status, 202U);
    EXPECT_EQ(intake.handle(signed_by("github", R"({"type":"t"})", "1")).status, 202U);
}

TEST_P(IntakeIdentity, AnIdOfFiveThousandCharactersIsAnIdLikeAnyOther) {
    const std::string long_id(5'000, 'x');

    EXPECT_EQ(intake.handle(signed_by("acme", R"({"type":"t"})", long_id)).status, 202U);
    EXPECT_EQ(intake.handle(signed_by("acme", R"({"type":"t"})", long_id)).status, 200U);
    EXPECT_EQ(intake.handle(signed_by("acme", R"({"type":"t"})", long_id + "y")).status, 202U);
}

TEST_P(IntakeIdentity, WhatDoesNotFitIsRefusedAtTheDoor) {
    const std::string long_text(5'000, 'x');
    for (const std::string& body : {R"({"type":")" + long_text + R"("})",
                                    R"({"type":"t","order":{"id":")" + long_text + R"("}})",
                                    std::string{R"({"type":"a\u0000b"})"}}) {
        const HttpResponse response = intake.handle(signed_by("acme", body, "1"));
        EXPECT_EQ(response.status, 400U);
        EXPECT_EQ(code_in(response), "malformed");
        EXPECT_LT(response.body.size(), 1'000U);
    }
    EXPECT_EQ(stored(), 0U);
}

TEST_P(IntakeIdentity, AWeakIdIsMarkedAndABodyUnderAnotherOneIsFlagged) {
    const std::string body = R"({"repository":{"full_name":"a/b"}})";

    const IntakeReport first = report_of(signed_by("github", body, "g-1"));
    const IntakeReport same = report_of(signed_by("github", body, "g-1"));
    const IntakeReport replayed = report_of(signed_by("github", body, "g-2"));
    const IntakeReport strong = report_of(signed_by("stripe", R"({"id":"e","type":"t"})"));

    EXPECT_TRUE(first.weak_id);
    EXPECT_FALSE(first.same_body_again);
    EXPECT_EQ(same.outcome, "duplicate");
    EXPECT_FALSE(same.same_body_again);
    EXPECT_EQ(replayed.outcome, "accepted");
    EXPECT_TRUE(replayed.same_body_again);
    EXPECT_FALSE(strong.weak_id);
    const Message message = *app.catalogue().get(replayed.message)->summary.message;
    EXPECT_EQ(message.attributes.at("webhook.id_is_weak"), "true");
    EXPECT_EQ(message.attributes.at("webhook.same_body_as"), "g-1");
    EXPECT_EQ(message.attributes.at("webhook.body_sha256").size(), 64U);
}

TEST_P(IntakeIdentity, ABodyUnderAnotherWeakIdIsFlaggedAfterARestartToo) {
    static_cast<void>(report_of(signed_by("github", R"({"n":1})", "g-1")));
    static_cast<void>(report_of(signed_by("github", R"({"n":2})", "g-2")));
    const auto first_after_restart = [&](bool recalls) {
        Intake restarted{app, sources(), {.clock = &clock}};
        if (recalls) restarted.recall();
        IntakeReport report;
        std::promise<void> answered;
        restarted.handle(signed_by("github", R"({"n":1})", recalls ? "g-3" : "g-4"),
                         [&](const HttpResponse&, const IntakeReport& what) {
                             report = what;
                             answered.set_value();
                         });
        answered.get_future().wait();
        return report;
    };

    const IntakeReport replayed = first_after_restart(true);

    EXPECT_TRUE(replayed.same_body_again);
    const Message message = *app.catalogue().get(replayed.message)->summary.message;
    EXPECT_EQ(message.attributes.at("webhook.same_body_as"), "g-1");
    EXPECT_FALSE(first_after_restart(false).same_body_again) << "only the store knows it";
}

TEST_P(IntakeIdentity, WhichSecretMatchedIsRecorded) {
    const IntakeReport report = report_of(signed_by("stripe", R"({"id":"e","type":"t"})"));

    EXPECT_EQ(report.secret, 1U);
    EXPECT_EQ(only_message().attributes.at("webhook.secret"), "2");
}

INSTANTIATE_TEST_SUITE_P(Stores, IntakeIdentity, testing::ValuesIn(intake_stores()),
                         intake_store_name);

}  // namespace
}  // namespace waybill::test
