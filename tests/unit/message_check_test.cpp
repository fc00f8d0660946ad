#include "waybill/message_check.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace waybill {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Message order_placed() {
    Message message;
    message.box = "orders";
    message.type = "order.placed";
    return message;
}

struct Field {
    const char* name = "";
    std::string Message::*member = nullptr;
};

const Field fields[] = {
    {"type", &Message::type},
    {"source", &Message::source},
    {"content_type", &Message::content_type},
    {"tenant", &Message::tenant},
    {"user", &Message::user},
    {"correlation_id", &Message::correlation_id},
    {"lane", &Message::lane},
    {"dedup_key", &Message::dedup_key},
    {"collapse_key", &Message::collapse_key},
};

TEST(MessageCheck, AMessageNeedsOnlyABoxAndAType) {
    EXPECT_THAT(check(order_placed(), BoxOptions{}), IsEmpty());
}

TEST(MessageCheck, EveryFieldMayHave256BytesAndNot257) {  // T13
    for (const auto& [name, member] : fields) {
        Message message = order_placed();

        message.*member = std::string(256, 'x');
        EXPECT_THAT(check(message, BoxOptions{}), IsEmpty()) << name;

        message.*member = std::string(257, 'x');
        EXPECT_THAT(check(message, BoxOptions{}),
                    ElementsAre(name + " has 257 bytes; at most 256 are allowed"s));
    }
}

TEST(MessageCheck, EveryFieldIsTextThatAnyStoreCanKeep) {
    for (const auto& [name, member] : fields) {
        for (const std::string& text : {"a\0b"s, "K\xE4se"s}) {
            Message message = order_placed();
            message.*member = text;
            EXPECT_THAT(check(message, BoxOptions{}),
                        ElementsAre(name + " must be UTF-8 without NUL"s));
        }
    }
}

TEST(MessageCheck, TheTypeIsNotEmpty) {
    Message message = order_placed();
    message.type = "";

    EXPECT_THAT(check(message, BoxOptions{}), ElementsAre(HasSubstr("type is empty")));
}

TEST(MessageCheck, TheBoxHasTheNameOfABox) {
    Message message = order_placed();
    message.box = "no box";

    EXPECT_THAT(check(message, BoxOptions{}), ElementsAre(HasSubstr("box \"no box\" must be")));
}

TEST(MessageCheck, TheBodyMayBeAsLongAsItsBoxSays) {
    const BoxOptions options{.body_bytes_max = 1000};
    Message message = order_placed();

    message.body = std::string(1000, 'x');
    EXPECT_THAT(check(message, options), IsEmpty());

    message.body = std::string(1001, 'x');
    EXPECT_THAT(check(message, options),
                ElementsAre("body has 1,001 bytes; at most 1,000 are allowed "
                            "(body_bytes_max of its box)"));
}

TEST(MessageCheck, TheBodyMayBeAnyBytesOrNone) {
    Message message = order_placed();
    message.body = "\0\xFF\xFE\x80"s;

    EXPECT_THAT(check(message, BoxOptions{}), IsEmpty());
}

TEST(MessageCheck, AHundredAttributesAreEnough) {
    Message message = order_placed();
    for (int i = 0; i < 100; ++i) {
        message.attributes["name-" + std::to_string(i)] = "value";
    }
    EXPECT_THAT(check(message, BoxOptions{}), IsEmpty());

    message.attributes["one more"] = "";
    EXPECT_THAT(check(message, BoxOptions{}),
                ElementsAre("attributes has 101 entries; at most 100 are allowed"));
}

TEST(MessageCheck, AnAttributeNameHas1To256Bytes) {
    Message message = order_placed();
    message.attributes[std::string(256, 'n')] = "";
    EXPECT_THAT(check(message, BoxOptions{}), IsEmpty());

    message.attributes[std::string(257, 'm')] = "";
    EXPECT_THAT(check(message, BoxOptions{}), ElementsAre(HasSubstr("has 257 bytes; at most 256")));

    Message nameless = order_placed();
    nameless.attributes[""] = "value";
    EXPECT_THAT(check(nameless, BoxOptions{}), ElementsAre(HasSubstr("empty name")));
}

TEST(MessageCheck, AllAttributesTogetherHave64KiB) {
    Message message = order_placed();
    message.attributes["1234"] = std::string((64 << 10) - 4, 'x');
    EXPECT_THAT(check(message, BoxOptions{}), IsEmpty());

    message.attributes["1234"] += 'x';
    EXPECT_THAT(check(message, BoxOptions{}),
                ElementsAre(HasSubstr("65,537 bytes; at most 65,536")));
}

TEST(MessageCheck, AttributesAreTextThatAnyStoreCanKeep) {
    Message bad_value = order_placed();
    bad_value.attributes["name"] = "a\0b"s;
    EXPECT_THAT(check(bad_value, BoxOptions{}),
                ElementsAre("attribute \"name\" must be UTF-8 without NUL"));

    Message bad_name = order_placed();
    bad_name.attributes["a\nb"] = "value";
    EXPECT_THAT(check(bad_name, BoxOptions{}),
                ElementsAre(HasSubstr("without control characters")));
}

TEST(MessageCheck, TheAnswerToManyBadAttributesIsBounded) {
    Message message = order_placed();
    for (int i = 0; i < 1000; ++i) {
        message.attributes["bad\n" + std::to_string(i)] = "value";
    }

    EXPECT_EQ(check(message, BoxOptions{}).size(), 1U + 100U);
}

TEST(MessageCheck, AllProblemsAreToldAtOnce) {
    Message message;
    message.box = "";
    message.lane = std::string(300, 'l');
    message.dedup_key = "\xFF";
    message.attributes[""] = "";
    message.body = "too long";

    EXPECT_THAT(check(message, BoxOptions{.body_bytes_max = 1}),
                ElementsAre(HasSubstr("box"), HasSubstr("type is empty"),
                            HasSubstr("lane has 300 bytes"), HasSubstr("dedup_key must be"),
                            HasSubstr("empty name"), HasSubstr("body has 8 bytes")));
}

}  // namespace
}  // namespace waybill
