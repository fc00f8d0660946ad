#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "waybill/json.hpp"

namespace shop {

struct Item {
    std::string article{};
    std::uint8_t count = 1;
    bool operator==(const Item&) const = default;
};
WAYBILL_JSON(Item, article, count)

/// Written in a way of its own.
enum class Currency { eur, usd };
waybill::json::Value to_json(Currency currency) {
    return currency == Currency::eur ? "EUR" : "USD";
}
void from_json(const waybill::json::Value& json, Currency& currency) {
    if (json.as_string() != "EUR" && json.as_string() != "USD") {
        throw waybill::json::ReadError{"no such currency"};
    }
    currency = json.as_string() == "EUR" ? Currency::eur : Currency::usd;
}

struct Order {
    std::string customer{};
    std::int64_t cents = 0;
    double weight = 0;
    bool gift = false;
    Currency currency = Currency::eur;
    std::optional<std::string> note{};
    std::vector<Item> items{};
    std::map<std::string, std::vector<int>> tags{};
    bool operator==(const Order&) const = default;
};
WAYBILL_JSON(Order, customer, cents, weight, gift, currency, note, items, tags)

struct Wide {
    int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2,
        c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3, e4, e5,
        e6, e7, e8, e9, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, g0, g1, g2, g3;
};
WAYBILL_JSON(Wide, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9,
             c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1,
             e2, e3, e4, e5, e6, e7, e8, e9, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, g0, g1, g2, g3)

}  // namespace shop

namespace waybill {
namespace {

using shop::Order;

Order full_order() {
    return {.customer = "Ada",
            .cents = 4'200,
            .weight = 1.5,
            .gift = true,
            .currency = shop::Currency::usd,
            .note = "ring twice",
            .items = {{"lamp", 2}, {"bulb", 4}},
            .tags = {{"a", {1, 2}}, {"b", {}}}};
}

std::string problem_of(const std::string& body) {
    try {
        decode<Order>({.type = "order.placed", .body = body});
    } catch (const DecodeError& error) {
        return error.what();
    }
    return "none";
}

TEST(JsonCodec, AStructComesBackAsItWas) {
    const Message message = encode(full_order(), {.type = "order.placed", .lane = "ada"});

    EXPECT_EQ(message.type, "order.placed");
    EXPECT_EQ(message.lane, "ada");
    EXPECT_EQ(message.content_type, "application/json");
    EXPECT_EQ(decode<Order>(message), full_order());
}

TEST(JsonCodec, IsPlainToReadAndLeavesOutWhatIsNotThere) {
    const Order order{.customer = "Ada", .items = {{"lamp", 1}}};

    EXPECT_EQ(encode(order, {}).body,
              R"({"customer":"Ada","cents":0,"weight":0E0,"gift":false,"currency":"EUR",)"
              R"("items":[{"article":"lamp","count":1}],"tags":{}})");
}

TEST(JsonCodec, AContentTypeOfTheCallersStays) {
    EXPECT_EQ(encode(shop::Item{}, {.content_type = "application/vnd.shop+json"}).content_type,
              "application/vnd.shop+json");
}

TEST(JsonCodec, SaysWhereTheTroubleIs) {
    const std::string before = "the body of \"order.placed\" cannot be decoded: ";
    std::string body = encode(full_order(), {}).body;
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string changed = body;
        changed.replace(changed.find(from), from.size(), to);
        return problem_of(changed);
    };

    EXPECT_EQ(problem_of("null"), before + "expected an object, found null");
    EXPECT_EQ(problem_of("{}"), before + "customer: is missing");
    EXPECT_EQ(with("4200", "\"4200\""), before + "cents: expected a whole number, found a string");
    EXPECT_EQ(with("\"count\":4", "\"count\":256"),
              before + "items[1].count: 256 is out of range; it must be 0 … 255");
    EXPECT_EQ(with("[1,2]", "[1,true]"),
              before + "tags.a[1]: expected a whole number, found a boolean");
    EXPECT_EQ(with("USD", "XXX"), before + "currency: no such currency");
    EXPECT_EQ(problem_of(""), before + "is not JSON: incomplete JSON");
}

TEST(JsonCodec, IgnoresWhatItDoesNotKnowAndTakesNullForNothing) {
    const auto item = decode<shop::Item>({.body = R"({"new":{},"count":3,"article":"x"})"});
    EXPECT_EQ(item, (shop::Item{"x", 3}));

    std::string body = encode(full_order(), {}).body;
    body.replace(body.find("\"ring twice\""), 12, "null");
    EXPECT_EQ(decode<Order>({.body = body}).note, std::nullopt);
}

TEST(JsonCodec, TakesSixtyFourMembers) {
    shop::Wide wide{};
    wide.g3 = 64;

    EXPECT_EQ(decode<shop::Wide>(encode(wide, {})).g3, 64);
}

TEST(JsonCodec, ADocumentOfAnyShapeIsAPayloadToo) {
    const Message message = encode(json::Value{json::Object{{"a", 1}}}, {.type = "t"});

    EXPECT_EQ(decode<json::Value>(message).find("a")->as_int64(), 1);
}

}  // namespace
}  // namespace waybill
