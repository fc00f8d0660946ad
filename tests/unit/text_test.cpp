#include "core/text.hpp"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace waybill {
namespace {

using namespace std::string_literals;

struct CleanRow {
    const char* what = "";
    std::string text{};
    std::string clean{};
};

const std::string broken = "\xEF\xBF\xBD";  // U+FFFD

class CleanTextTable : public testing::TestWithParam<CleanRow> {};

TEST_P(CleanTextTable, IsAsItSays) {
    EXPECT_EQ(clean_text(GetParam().text, 1000), GetParam().clean) << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(
    Kept, CleanTextTable,
    testing::Values(CleanRow{"nothing", "", ""},
                    CleanRow{"ASCII", "It failed: ~!", "It failed: ~!"},
                    CleanRow{"newline and tab", "a\n\tb", "a\n\tb"},
                    CleanRow{"two bytes, least", "\xC2\xA0", "\xC2\xA0"},
                    CleanRow{"two bytes, most", "\xDF\xBF", "\xDF\xBF"},
                    CleanRow{"three bytes, least", "\xE0\xA0\x80", "\xE0\xA0\x80"},
                    CleanRow{"before the surrogates", "\xED\x9F\xBF", "\xED\x9F\xBF"},
                    CleanRow{"after the surrogates", "\xEE\x80\x80", "\xEE\x80\x80"},
                    CleanRow{"U+FFFD itself", "\xEF\xBF\xBD", "\xEF\xBF\xBD"},
                    CleanRow{"four bytes, least", "\xF0\x90\x80\x80", "\xF0\x90\x80\x80"},
                    CleanRow{"the last code point", "\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"}));

INSTANTIATE_TEST_SUITE_P(
    Controls, CleanTextTable,
    testing::Values(CleanRow{"NUL is dropped", "a\0b\0"s, "ab"}, CleanRow{"only NUL", "\0\0"s, ""},
                    CleanRow{"bell", "a\ab", "a b"}, CleanRow{"escape", "\x1B[31mred", " [31mred"},
                    CleanRow{"carriage return", "a\r\nb", "a \nb"},
                    CleanRow{"unit separator", "\x1F", " "}, CleanRow{"delete", "a\x7F", "a "},
                    CleanRow{"first of C1", "\xC2\x80", " "},
                    CleanRow{"last of C1", "\xC2\x9F", " "}));

INSTANTIATE_TEST_SUITE_P(
    Broken, CleanTextTable,
    testing::Values(
        CleanRow{"a stray continuation", "a\x80z", "a" + broken + "z"},
        CleanRow{"two of them", "\x80\xBF", broken + broken},
        CleanRow{"latin-1", "K\xE4se", "K" + broken + "se"},
        CleanRow{"overlong slash of two", "\xC0\xAF", broken + broken},
        CleanRow{"overlong lead C1", "\xC1\xBF", broken + broken},
        CleanRow{"overlong slash of three", "\xE0\x80\xAF", broken + broken + broken},
        CleanRow{"overlong most of three", "\xE0\x9F\xBF", broken + broken + broken},
        CleanRow{"overlong of four", "\xF0\x80\x80\xAF", broken + broken + broken + broken},
        CleanRow{"overlong most of four", "\xF0\x8F\xBF\xBF", broken + broken + broken + broken},
        CleanRow{"a high surrogate", "\xED\xA0\x80", broken + broken + broken},
        CleanRow{"a low surrogate", "\xED\xBF\xBF", broken + broken + broken},
        CleanRow{"beyond the last", "\xF4\x90\x80\x80", broken + broken + broken + broken},
        CleanRow{"lead F5", "\xF5\x80", broken + broken},
        CleanRow{"FE and FF", "\xFE\xFF", broken + broken},
        CleanRow{"two bytes cut", "a\xC3", "a" + broken},
        CleanRow{"three bytes cut after one", "\xE6", broken},
        CleanRow{"three bytes cut after two", "\xE6\xBC", broken},
        CleanRow{"four bytes cut after three", "\xF0\x9F\x9A", broken},
        CleanRow{"cut by a letter, which stays", "\xF0\x9F\x9AZ", broken + "Z"},
        CleanRow{"cut by another lead, which stays", "\xE6\xC3\xA4", broken + "\xC3\xA4"},
        CleanRow{"Unicode's own example",
                 "a\xF1\x80\x80\xE1\x80\xC2"
                 "b\x80"
                 "c\x80\xBF"
                 "d",
                 "a" + broken + broken + broken + "b" + broken + "c" + broken + broken + "d"},
        CleanRow{"NUL inside a code point", "\xC3\0\xA4"s, broken + broken}));

struct Cap {
    std::string text{};
    std::size_t bytes_max = 0;
    std::string clean{};
};

TEST(CleanText, IsCappedOnACodePointWithAnEllipsis) {
    const std::string dots = "\xE2\x80\xA6";
    const std::string truck = "\xF0\x9F\x9A\x9A";
    const Cap caps[] = {
        {"abcdef", 6, "abcdef"},
        {"abcdefg", 6, "abc" + dots},
        {"abcdefg", 3, dots},
        {"abcdefg", 2, "ab"},  // no room for it
        {"abcdefg", 1, "a"},
        {"abcdefg", 0, ""},
        {"", 0, ""},
        {truck + truck, 8, truck + truck},
        {truck + truck, 7, truck + dots},
        {truck + truck, 6, dots},  // not a piece of a truck
        {truck, 2, ""},
        {"ab" + truck + "c", 7, "ab" + truck + "c"},
        {"ab" + truck + "cd", 7, "ab" + dots},
        {"abcd\x80", 6, "abc" + dots},  // what replaces a byte counts as it is
        {"abc\x80", 6, "abc" + broken},
        {"abcdef\0\0\0"s, 6, "abcdef"},  // what is dropped does not
    };
    for (const auto& [text, bytes_max, clean] : caps) {
        EXPECT_EQ(clean_text(text, bytes_max), clean) << text << " in " << bytes_max;
    }
}

TEST(CleanText, AnErrorOfFiveThousandCharactersIsCutToItsLimit) {  // T13
    const std::string clean = clean_text(std::string(5000, 'x'), 2000);

    EXPECT_EQ(clean, std::string(1997, 'x') + "\xE2\x80\xA6");
}

TEST(StorableText, IsUtf8WithoutNul) {
    EXPECT_TRUE(is_storable_text(""));
    EXPECT_TRUE(is_storable_text("k\xC3\xA4se \xF0\x9F\x9A\x9A\r\n\x1B\x7F"));

    EXPECT_FALSE(is_storable_text("a\0b"s));
    EXPECT_FALSE(is_storable_text("K\xE4se"));
    EXPECT_FALSE(is_storable_text("cut \xF0\x9F\x9A"));
}

TEST(PlainText, IsUtf8WithoutControlCharacters) {
    EXPECT_TRUE(is_plain_text(""));
    EXPECT_TRUE(is_plain_text("k\xC3\xA4se \xF0\x9F\x9A\x9A"));

    for (const std::string& text : {"a\0b"s, "a\nb"s, "a\tb"s, "\x7F"s, "\xC2\x85"s, "K\xE4se"s}) {
        EXPECT_FALSE(is_plain_text(text)) << text;
    }
}

std::string any_bytes() {
    const auto byte =
        rc::gen::oneOf(rc::gen::arbitrary<char>(),
                       rc::gen::elementOf("a\n\x80\xBF\xC2\xC3\xE0\xE2\xED\xEF\xF0\xF4\xF5\0"s));
    return *rc::gen::container<std::string>(byte);
}

RC_GTEST_PROP(CleanText, CanAlwaysBeStoredAndNeverExceedsItsCap, ()) {
    const std::string text = any_bytes();
    const auto bytes_max = *rc::gen::inRange<std::size_t>(0, 40);

    const std::string clean = clean_text(text, bytes_max);

    RC_ASSERT(clean.size() <= bytes_max);
    RC_ASSERT(is_storable_text(clean));
}

RC_GTEST_PROP(CleanText, CleaningTwiceIsCleaningOnce, ()) {
    const std::string text = any_bytes();
    const auto bytes_max = *rc::gen::inRange<std::size_t>(0, 40);

    const std::string once = clean_text(text, bytes_max);

    RC_ASSERT(clean_text(once, bytes_max) == once);
}

}  // namespace
}  // namespace waybill
