#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "waybill/json.hpp"
#include "waybill/testkit.hpp"

namespace shop {

struct OrderPlaced {
    std::string customer{};
    std::int64_t cents = 0;
};
WAYBILL_JSON(OrderPlaced, customer, cents)

/// Has a codec of its own although JSON would know it too.
struct Reading {
    std::string sensor{};
};
WAYBILL_JSON(Reading, sensor)

/// A codec for whoever asks for it by name.
struct Reversed {
    static constexpr std::string_view content_type = "text/reversed";
    static std::string encode(const std::string& text) { return {text.rbegin(), text.rend()}; }
    static std::string decode(std::string_view text) { return {text.rbegin(), text.rend()}; }
};

}  // namespace shop

template <>
struct waybill::Codec<shop::Reading> {
    static constexpr std::string_view content_type = "text/x-reading";
    static std::string encode(const shop::Reading& reading) { return "sensor=" + reading.sensor; }
    static shop::Reading decode(std::string_view bytes) {
        if (!bytes.starts_with("sensor=")) throw std::runtime_error{"no sensor"};
        return {std::string{bytes.substr(7)}};
    }
};

namespace waybill {
namespace {

using shop::OrderPlaced;
using shop::Reading;
using State = Filter::State;

class TypedHandlers : public testing::Test {
protected:
    Uuid append(Message message) { return kit.app.append(std::move(message)).id; }
    std::string reason(const Uuid& id) {
        const auto letters = kit.app.catalogue().get(id)->dead;
        return letters.empty() ? "" : letters[0].reason;
    }

    testkit::Kit kit;
    std::vector<std::string> seen;
};

TEST_F(TypedHandlers, GetThePayloadInAllThreeForms) {
    kit.app.inbox("orders")
        .on<OrderPlaced>("*", "one",
                         [&](const OrderPlaced& order) { seen.push_back(order.customer); })
        .on<OrderPlaced>("*", "two",
                         [&](const OrderPlaced& order, Context& context) {
                             seen.push_back(order.customer + " for " + context.message().tenant);
                         })
        .on<OrderPlaced>(
            "*", "three",
            [&](const OrderPlaced& order, const Message& message, Context&) -> Outcome {
                seen.push_back(message.type + " " + std::to_string(order.cents));
                return Done{};
            });

    const Uuid id =
        append(encode(OrderPlaced{"ada", 42}, {.type = "order.placed", .tenant = "acme"}));

    EXPECT_EQ(kit.run_until_done(id), State::done);
    EXPECT_EQ(seen, (std::vector<std::string>{"ada", "ada for acme", "order.placed 42"}));
}

TEST_F(TypedHandlers, ABodyThatCannotBeDecodedIsDeadAtOnceAndKept) {
    kit.app.inbox("orders", {.lanes = Lanes::none})
        .on<OrderPlaced>("*", "bill", [&](const OrderPlaced&) { seen.push_back("called"); });
    const std::vector<std::string> bodies{"", "null", "[]", "{\"customer\":1}", "{"};
    std::vector<Uuid> ids;
    for (const std::string& body : bodies) {
        ids.push_back(append({.type = "order.placed", .body = body}));
    }
    kit.run_until_idle();

    for (std::size_t i = 0; i < ids.size(); ++i) {
        EXPECT_EQ(kit.state_of(ids[i]), State::dead) << bodies[i];
        EXPECT_NE(reason(ids[i]).find("cannot be decoded"), std::string::npos) << reason(ids[i]);
        EXPECT_EQ(kit.app.catalogue().get(ids[i])->summary.message->body, bodies[i]);
    }
    EXPECT_TRUE(seen.empty());
    EXPECT_EQ(kit.events.count(Event::Kind::started), 5U) << "no retry could help";
}

TEST_F(TypedHandlers, InABatchOnlyTheUndecodableDies) {
    std::vector<std::uint32_t> attempts;
    kit.app.inbox("orders", {.lanes = Lanes::none})
        .on_batch<OrderPlaced>("*", "bill",
                               [&](TypedBatch<OrderPlaced> batch, BatchContext& context) {
                                   BatchOutcomes outcomes;
                                   for (const auto& [order, message, item] : batch) {
                                       seen.push_back(order.customer + "/" + message->lane);
                                       attempts.push_back(context.attempt_of(item));
                                       outcomes.emplace_back(Done{});
                                       if (order.cents == 0) outcomes.back() = Dead{"free"};
                                   }
                                   return outcomes;
                               });
    const auto ids = kit.app.append({encode(OrderPlaced{"a", 1}, {.type = "t"}),
                                     {.type = "t", .body = "{}"},
                                     encode(OrderPlaced{"b", 0}, {.type = "t"}),
                                     encode(OrderPlaced{"c", 2}, {.type = "t"})});
    kit.run_until_idle();

    EXPECT_EQ(seen, (std::vector<std::string>{"a/", "b/", "c/"}));
    EXPECT_EQ(kit.state_of(ids[0].id), State::done);
    EXPECT_NE(reason(ids[1].id).find("customer: is missing"), std::string::npos);
    EXPECT_EQ(reason(ids[2].id), "free");
    EXPECT_EQ(kit.state_of(ids[3].id), State::done);
}

TEST_F(TypedHandlers, ABatchOfWhichNothingCanBeDecodedCallsNobody) {
    kit.app.inbox("orders", {.lanes = Lanes::none})
        .on_batch<OrderPlaced>(
            "*", "bill", [&](TypedBatch<OrderPlaced>, BatchContext&) { seen.push_back("called"); });
    const auto ids = kit.app.append({{.type = "t"}, {.type = "t", .body = "1"}});
    kit.run_until_idle();

    EXPECT_EQ(kit.state_of(ids[1].id), State::dead);
    EXPECT_TRUE(seen.empty());
}

TEST_F(TypedHandlers, ACodecOfOnesOwnReplacesJson) {
    kit.app.inbox("readings").on<Reading>("*", "load", [&](const Reading& reading) {
        seen.push_back(reading.sensor);
    });

    const Message message = encode(Reading{"north"}, {.type = "reading"});
    const Uuid good = append(message);
    const Uuid bad = append({.type = "reading", .body = "nonsense"});
    kit.run_until_idle();

    EXPECT_EQ(message.body, "sensor=north");
    EXPECT_EQ(message.content_type, "text/x-reading");
    EXPECT_EQ(kit.state_of(good), State::done);
    EXPECT_EQ(reason(bad), "the body of \"reading\" cannot be decoded: no sensor");
    EXPECT_EQ(seen, std::vector<std::string>{"north"});
}

TEST_F(TypedHandlers, ACodecMayBeNamedForOneTarget) {
    kit.app.inbox("texts").on<std::string, shop::Reversed>(
        "*", "read", [&](const std::string& text) { seen.push_back(text); });

    append(encode<std::string, shop::Reversed>("abc", {.type = "t"}));
    kit.run_until_idle();

    EXPECT_EQ(seen, std::vector<std::string>{"abc"});
    EXPECT_EQ((encode<Reading, json::JsonCodec<Reading>>({"x"}, {}).body), R"({"sensor":"x"})");
}

}  // namespace
}  // namespace waybill
