#include <array>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "clock.hpp"
#include "waybill/providers.hpp"

namespace waybill::providers {
namespace {

Verdict receive(HttpRequest request, bool is_generic = false) {
    Source source{.name = "ce", .provider = "cloudevents", .secrets = {"token"}};
    if (is_generic) {
        source.provider = "generic";
        source.cloudevents = true;
        request = *sign(std::move(request), source, "", kNow);
    } else {
        request.headers.add("Authorization", "bearer token");
    }
    return find(source.provider)->receive({request, source, kNow});
}

std::string outcome_of(const Verdict& verdict) {
    const auto* refused = std::get_if<Rejected>(&verdict);
    return refused != nullptr ? std::string{to_string(refused->reason)} : "taken";
}

HttpRequest binary() {
    return {.method = "POST",
            .headers = {{"ce-specversion", "1.0"},
                        {"CE-ID", "1"},
                        {"ce-source", "/orders"},
                        {"ce-type", "order.placed"},
                        {"ce-time", "2023-11-14T22:13:20.5Z"},
                        {"ce-partitionkey", "customer-7"},
                        {"ce-subject", "caf%C3%A9+1"},
                        {"Content-Type", "application/xml"}},
            .body = "<order/>"};
}

HttpRequest structured(std::string body) {
    return {.method = "POST",
            .headers = {{"Content-Type", "Application/CloudEvents+JSON; charset=utf-8"}},
            .body = std::move(body)};
}

TEST(CloudEvents, InBinaryModeTheHeadersSayWhatItIs) {
    const Verdict verdict = receive(binary());

    ASSERT_EQ(outcome_of(verdict), "taken");
    const auto& event = std::get<Parsed>(verdict);
    EXPECT_EQ(event.type, "order.placed");
    EXPECT_EQ(event.id, "/orders 1");
    EXPECT_FALSE(event.id_is_signed);
    EXPECT_EQ(event.lane, "customer-7");
    EXPECT_EQ(event.occurred_at, kNow + std::chrono::milliseconds{500});
    EXPECT_EQ(event.attributes.at("ce-subject"), "caf\xC3\xA9+1");
    EXPECT_FALSE(event.attributes.contains("header.authorization"));
}

TEST(CloudEvents, InStructuredModeTheBodySaysIt) {
    const std::string body =
        R"({"specversion":"1.0","id":"1","source":"/orders","type":"order.placed",)"
        R"("sequence":7,"flag":true,"data":{"id":"not this one"}})";
    const Verdict verdict = receive(structured(body), true);

    ASSERT_EQ(outcome_of(verdict), "taken");
    const auto& event = std::get<Parsed>(verdict);
    EXPECT_EQ(event.id, "/orders 1");
    EXPECT_TRUE(event.id_is_signed);
    EXPECT_EQ(event.attributes.at("ce-sequence"), "7");
    EXPECT_EQ(event.attributes.at("ce-flag"), "true");
    EXPECT_FALSE(event.attributes.contains("ce-data"));
}

TEST(CloudEvents, OfOneSourceIdsAreUniqueAndOfTwoTheyMayBeEqual) {
    HttpRequest other = binary();
    other.headers.set("ce-source", "/invoices");
    EXPECT_NE(std::get<Parsed>(receive(binary())).id, std::get<Parsed>(receive(other)).id);
}

TEST(CloudEvents, WhatIsRequiredMustBeThere) {
    for (const char* name : {"ce-specversion", "ce-id", "ce-source", "ce-type"}) {
        HttpRequest request = binary();
        request.headers.set(name, "");
        EXPECT_EQ(outcome_of(receive(request)), "missing") << name;
    }
    HttpRequest old = binary();
    old.headers.set("ce-specversion", "0.3");
    EXPECT_EQ(outcome_of(receive(old)), "malformed");
    EXPECT_EQ(outcome_of(receive({.method = "POST", .body = "{}"})), "missing");
}

TEST(CloudEvents, StrangeDocumentsAreRefused) {
    const std::array<std::pair<const char*, const char*>, 9> cases{{
        {"", "unreadable-body"},
        {"not json", "unreadable-body"},
        {"[]", "missing"},
        {"null", "missing"},
        {"\"text\"", "missing"},
        {R"({"specversion":"1.0","id":1,"source":"s","type":"t"})", "taken"},
        {R"({"specversion":"1.0","id":{},"source":"s","type":"t"})", "missing"},
        {R"({"specversion":1.0,"id":"1","source":"s","type":"t"})", "missing"},
        {R"({"specversion":"1.0","id":"1","id":"2","source":"s","type":"t"})", "unreadable-body"},
    }};
    for (const auto& [body, expected] : cases) {
        EXPECT_EQ(outcome_of(receive(structured(body))), expected) << body;
    }
}

TEST(CloudEvents, FormatsThatAreNotTakenAre415) {
    for (const char* type :
         {"application/cloudevents-batch+json", "application/cloudevents+avro"}) {
        HttpRequest request = structured("{}");
        request.headers.set("Content-Type", type);
        const Verdict verdict = receive(request);
        ASSERT_TRUE(std::holds_alternative<Rejected>(verdict)) << type;
        EXPECT_EQ(std::get<Rejected>(verdict).status, 415U) << type;
    }
}

TEST(CloudEvents, NobodyIsBelievedWithoutTheToken) {
    const Source source{.name = "ce", .provider = "cloudevents", .secrets = {"token"}};
    HttpRequest request = binary();
    EXPECT_EQ(outcome_of(find("cloudevents")->receive({request, source, kNow})), "missing");
    request.target = "/?access_token=token";
    EXPECT_EQ(outcome_of(find("cloudevents")->receive({request, source, kNow})), "taken");
    request.target = "/?access_token=guess";
    EXPECT_EQ(outcome_of(find("cloudevents")->receive({request, source, kNow})), "bad-signature");
}

}  // namespace
}  // namespace waybill::providers
