#include "waybill/json/value.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace waybill::json {
namespace {

std::string problem_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const DecodeError& error) {
        return error.what();
    }
    return "none";
}

TEST(JsonValue, ReadsEveryKind) {
    const Value json = parse(R"( {"n":null,"b":true,"i":-7,"u":18446744073709551615,"d":1.5,
                                  "s":"käse \u0000","a":[1,[]],"o":{}} )");

    EXPECT_TRUE(json.find("n")->is_null());
    EXPECT_TRUE(json.find("b")->as_bool());
    EXPECT_EQ(json.find("i")->as_int64(), -7);
    EXPECT_EQ(json.find("u")->as_uint64(), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(json.find("d")->as_double(), 1.5);
    EXPECT_EQ(json.find("s")->as_string(), (std::string{"käse \0", 7}));
    EXPECT_EQ(json.find("a")->as_array().size(), 2U);
    EXPECT_TRUE(json.find("o")->as_object().empty());
    EXPECT_EQ(json.find("missing"), nullptr);
}

TEST(JsonValue, ReadsAWholeNumberHoweverItIsWrittenAndRefusesWhatIsNone) {
    EXPECT_EQ(parse("3").as_uint64(), 3U);
    EXPECT_EQ(parse("3.0").as_int64(), 3);
    EXPECT_EQ(parse("1e3").as_uint64(), 1000U);
    EXPECT_EQ(parse("7").as_double(), 7.0);

    for (const char* text : {"3.5", "9223372036854775808", "1e300", "\"3\"", "true", "null"}) {
        EXPECT_NE(problem_of([&] { parse(text).as_int64(); }), "none") << text;
    }
    for (const char* text : {"-1", "-1.0", "18446744073709551616", "[]"}) {
        EXPECT_NE(problem_of([&] { parse(text).as_uint64(); }), "none") << text;
    }
}

TEST(JsonValue, SaysWhatItExpectedAndWhatItFound) {
    EXPECT_EQ(problem_of([] { parse("\"x\"").as_int64(); }),
              "expected a whole number, found a string");
    EXPECT_EQ(problem_of([] { parse("null").as_object(); }), "expected an object, found null");
    EXPECT_EQ(problem_of([] { parse("{}").as_array(); }), "expected an array, found an object");
}

TEST(JsonValue, RefusesWhatIsNotOneDocument) {
    for (const char* text :
         {"", " ", "{", "{}x", "{} {}", "nul", "'a'", "[1,]", "\"\xFF\"", "01", "1e999"}) {
        EXPECT_NE(problem_of([&] { parse(text); }).find("is not JSON"), std::string::npos) << text;
    }
}

TEST(JsonValue, IsNestedOnlySoDeep) {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };

    EXPECT_NO_THROW(parse(nested(depth_max)));
    EXPECT_THROW(parse(nested(depth_max + 1)), ReadError);
    EXPECT_THROW(parse(std::string(1'000'000, '[')), ReadError);
    Value deep;
    for (std::size_t i = 0; i < depth_max + 1; ++i) deep = Array{std::move(deep)};
    EXPECT_THROW(to_text(deep), std::invalid_argument);
}

TEST(JsonValue, OfTwoMembersWithOneNameTheFirstIsFound) {
    EXPECT_EQ(parse(R"({"a":1,"a":2})").find("a")->as_int64(), 1);
}

TEST(JsonValue, WritesOnOneLineInTheOrderItWasGiven) {
    const Object object{{"b", 1}, {"a", Array{true, nullptr, "x\n\"y\""}}, {"c", 2.5}};

    EXPECT_EQ(to_text(object), R"({"b":1,"a":[true,null,"x\n\"y\""],"c":2.5E0})");
}

TEST(JsonValue, HasNoWordForInfinityOrForBytesThatAreNoText) {
    EXPECT_THROW(Value(std::numeric_limits<double>::infinity()), std::invalid_argument);
    EXPECT_THROW(Value(std::nan("")), std::invalid_argument);
    EXPECT_THROW(to_text("\xFF"), std::invalid_argument);
    EXPECT_THROW(to_text(Object{{"\xC3", 1}}), std::invalid_argument);
    EXPECT_EQ(to_text(std::string("a\0b", 3)), "\"a\\u0000b\"");
}

RC_GTEST_PROP(JsonValueProperty, ANumberComesBackAsItWas, (std::int64_t number)) {
    RC_ASSERT(parse(to_text(number)).as_int64() == number);
}

RC_GTEST_PROP(JsonValueProperty, ADoubleComesBackAsItWas, (double number)) {
    RC_PRE(std::isfinite(number));
    RC_ASSERT(parse(to_text(number)).as_double() == number);
}

RC_GTEST_PROP(JsonValueProperty, AnyTextIsReadOrRefused, (const std::string& text)) {
    try {
        const Value json = parse(text);
        RC_ASSERT(parse(to_text(json)) == json);
    } catch (const ReadError&) {
    }
}

}  // namespace
}  // namespace waybill::json
