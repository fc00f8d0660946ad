#include "server/subscription_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/endpoint.hpp"

/// Lists of subscriptions, page by page.
namespace waybill::test {
namespace {

using server::page_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

Subscription numbered(std::uint8_t number) {
    Subscription one;
    one.id.bytes = {number};
    return one;
}

std::vector<int> numbers_of(const Page<Subscription>& page) {
    std::vector<int> numbers;
    for (const Subscription& one : page.items) numbers.push_back(one.id.bytes[0]);
    return numbers;
}

TEST(SubscriptionPage, ThoseOfTheFileComeFirstAndEachIsShownOnce) {
    const std::vector fixed{numbered(9), numbered(8), numbered(7)};
    const std::vector stored{numbered(1), numbered(3), numbered(2)};

    const auto first = page_of(fixed, stored, {}, 2);
    const auto second = page_of(fixed, stored, first.next, 2);
    const auto third = page_of(fixed, stored, second.next, 2);

    EXPECT_THAT(numbers_of(first), ElementsAre(9, 8));
    EXPECT_THAT(numbers_of(second), ElementsAre(7, 1));
    EXPECT_THAT(numbers_of(third), ElementsAre(2, 3));
    EXPECT_EQ(third.next, "") << "that was all";
}

TEST(SubscriptionPage, WhatIsAddedOrRemovedBetweenTwoPagesShiftsNothing) {
    const auto first = page_of({}, {numbered(2), numbered(4), numbered(6)}, {}, 2);

    const auto second =
        page_of({numbered(9)}, {numbered(1), numbered(2), numbered(5), numbered(6)}, first.next, 2);

    EXPECT_THAT(numbers_of(second), ElementsAre(5, 6));
}

TEST(SubscriptionPage, APageThatEndsWithTheFileGoesOnWithTheStore) {
    const auto first = page_of({numbered(9)}, {numbered(1)}, {}, 1);

    EXPECT_THAT(numbers_of(page_of({numbered(9)}, {numbered(1)}, first.next, 1)), ElementsAre(1));
}

TEST(SubscriptionPage, ACursorThatNoListGaveIsRefused) {
    for (const char* cursor : {"1", "file-", "file-x", "file-1x", "store-", "store-nobody"}) {
        EXPECT_THROW(page_of({}, {}, cursor, 10), InvalidCursor) << cursor;
    }
}

TEST(SubscriptionPage, OfABoxATypeOrATenantOnlyThoseAreListed) {
    Endpoint endpoint;
    ServerUnderTest server{with({to(endpoint, "order.*"), to(endpoint, "invoice.*")})};
    added(server, R"({"type":"order.placed","tenant":"acme","url":")" + endpoint.url() + "\"}");
    added(server, R"({"type":"order.sent","tenant":"beta","url":")" + endpoint.url() + "\"}");
    const auto types_of = [&](const std::string& query) {
        std::vector<std::string> types;
        const json::Value page = parsed(server.operate("GET", "/v1/subscriptions?" + query));
        for (const json::Value& one : page.find("items")->as_array()) {
            types.push_back(one.find("type")->as_string());
        }
        return types;
    };

    EXPECT_THAT(types_of("type=order.*"),
                UnorderedElementsAre("order.*", "order.placed", "order.sent"));
    EXPECT_THAT(types_of("type=invoice.*"), ElementsAre("invoice.*"));
    EXPECT_THAT(types_of("type=order.placed"), UnorderedElementsAre("order.*", "order.placed"));
    EXPECT_THAT(types_of("tenant=acme"), ElementsAre("order.placed"));
    EXPECT_THAT(types_of("type=order.*&tenant=beta"), ElementsAre("order.sent"));
    EXPECT_THAT(types_of("box=inbox"), ElementsAre());
    EXPECT_EQ(types_of("box=outbox&limit=3").size(), 3U);
}

TEST(SubscriptionPage, OverHttpItIsAListLikeAnyOther) {
    Endpoint endpoint;
    ServerUnderTest server{with({to(endpoint)})};
    for (int i = 0; i < 2; ++i) added(server, R"({"url":")" + endpoint.url() + "\"}");

    const json::Value first = parsed(server.operate("GET", "/v1/subscriptions?limit=2"));
    const std::string next = first.find("next")->as_string();
    const json::Value second =
        parsed(server.operate("GET", "/v1/subscriptions?limit=2&cursor=" + next));

    EXPECT_EQ(first.find("items")->as_array().size(), 2U);
    EXPECT_EQ(second.find("items")->as_array().size(), 1U);
    EXPECT_EQ(second.find("next"), nullptr);
    EXPECT_THAT(server.operate("GET", "/v1/subscriptions?cursor=x")->body, HasSubstr("bad-cursor"));
    EXPECT_THAT(server.operate("GET", "/v1/subscriptions?limit=0")->body, HasSubstr("bad-query"));
}

}  // namespace
}  // namespace waybill::test
