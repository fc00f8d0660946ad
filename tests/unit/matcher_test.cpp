#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/wildcard.hpp"
#include "waybill/target.hpp"

namespace waybill {
namespace {

struct Row {
    std::string_view pattern{};
    std::string_view text{};
    bool matched = false;
};

TEST(Matches, Table) {
    const Row rows[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"***", "", true},
        {"*", "anything at all", true},
        {"a", "", false},
        {"order.placed", "order.placed", true},
        {"order.placed", "order.place", false},
        {"order.placed", "order.placed2", false},
        {"order.placed", "Order.PLACED", true},
        {"ORDER.*", "order.placed", true},
        {"order.*", "order.", true},
        {"order.*", "order", false},
        {"order.*", "orders.placed", false},
        {"*.placed", "order.placed", true},
        {"*.placed", ".placed", true},
        {"*.placed", "order.placed.twice", false},
        {"*placed*", "placed", true},
        {"o*r", "or", true},
        {"o*r", "o", false},
        {"o*o", "o", false},  // one character is not both ends
        {"ab*ba", "aba", false},
        {"ab*ba", "abba", true},
        {"a*b*c", "a-b-b-c-c", true},
        {"a*b*c", "a-c-b", false},
        {"*ab", "aab", true},  // the star must give up its first idea
        {"*aab*", "aaab", true},
        {"*a*b*a*", "bbaabb", false},
        {"a**b", "ab", true},
        {"a**b", "axxb", true},
        {".", "x", false},  // nothing but the star is special
        {"?", "x", false},
        {"[a-z]", "x", false},
        {"\\*", "*", false},
        {"\\*", "\\anything", true},
        {"*", "*", true},
        {"[", "{", false},  // neighbours of the letters are not letters
        {"@", "`", false},
        {"Z", "z", true},
        {"\xC3\x84", "\xC3\xA4", false},  // only ASCII has case: Ä is not ä
        {"k\xC3\xA4*", "K\xC3\xA4se", true},
    };
    for (const auto& [pattern, text, matched] : rows) {
        EXPECT_EQ(matches(pattern, text), matched) << '"' << pattern << "\" on \"" << text << '"';
    }
}

TEST(Matches, ANulIsACharacterLikeAnyOther) {
    EXPECT_TRUE(matches(std::string_view{"a\0b", 3}, std::string_view{"a\0b", 3}));
    EXPECT_FALSE(matches(std::string_view{"a\0b", 3}, std::string_view{"a\0c", 3}));
    EXPECT_FALSE(matches("a", std::string_view{"a\0", 2}));
}

TEST(Matcher, WantsEverythingUnlessTold) {
    EXPECT_TRUE(matches(Matcher{}, Message{}));
}

TEST(Matcher, WantsTypeSourceAndTenantAllThree) {
    const Matcher matcher{.type = "invoice.*", .source = "stripe", .tenant = "acme"};
    Message message;
    message.type = "invoice.paid";
    message.source = "Stripe";
    message.tenant = "ACME";
    EXPECT_TRUE(matches(matcher, message));

    Message other_type = message;
    other_type.type = "charge.paid";
    EXPECT_FALSE(matches(matcher, other_type));

    Message other_source = message;
    other_source.source = "github";
    EXPECT_FALSE(matches(matcher, other_source));

    Message other_tenant = message;
    other_tenant.tenant = "";
    EXPECT_FALSE(matches(matcher, other_tenant));
}

TEST(Matcher, AnEmptyTenantIsMatchedByItselfAndByStars) {
    EXPECT_TRUE(matches(Matcher{.tenant = ""}, Message{}));
    EXPECT_TRUE(matches(Matcher{.tenant = "**"}, Message{}));
    EXPECT_FALSE(matches(Matcher{.tenant = "a*"}, Message{}));
}

/// Counts what is looked at, and stops what would go on for ever.
class CountingText {
public:
    CountingText(std::string text, std::size_t looks_max)
        : text_(std::move(text)), looks_max_(looks_max) {}

    std::size_t size() const { return text_.size(); }
    char operator[](std::size_t index) const {
        if (++looks_ > looks_max_) throw std::runtime_error("too many steps");
        return text_.at(index);
    }

private:
    std::string text_;
    std::size_t looks_max_;
    mutable std::size_t looks_ = 0;
};

std::string repeated(std::string_view part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) {
        text += part;
    }
    return text;
}

TEST(Matches, ManyStarsOnALongTextTakeStepsInProportionToTheText) {
    const std::string pattern = repeated("a*", 100) + "b";
    const std::size_t length = 100'000;
    const CountingText text{std::string(length, 'a'), 3 * length};

    EXPECT_FALSE(detail::wildcard_match(pattern, text));
}

TEST(Matches, ManyStarsWithoutALastFitTakeStepsInProportionToTheText) {
    const std::string pattern = "*" + repeated("a*", 100) + "b*";
    const std::size_t length = 100'000;
    const CountingText text{std::string(length, 'a'), 3 * length};

    EXPECT_FALSE(detail::wildcard_match(pattern, text));
}

TEST(Matches, TheWorstPatternTakesNoMoreThanTextTimesPattern) {
    const std::string pattern = "*" + std::string(100, 'a') + "b";
    const std::size_t length = 10'000;
    const CountingText text{std::string(length, 'a'), length * pattern.size()};

    EXPECT_FALSE(detail::wildcard_match(pattern, text));
}

/// Obviously right, and exponential.
bool slow_matches(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern[0] == '*') {
        return slow_matches(pattern.substr(1), text) ||
               (!text.empty() && slow_matches(pattern, text.substr(1)));
    }
    return !text.empty() && detail::lower(pattern[0]) == detail::lower(text[0]) &&
           slow_matches(pattern.substr(1), text.substr(1));
}

std::string short_text(const std::string& letters, std::size_t length_max) {
    const auto length = *rc::gen::inRange<std::size_t>(0, length_max + 1);
    return *rc::gen::container<std::string>(length, rc::gen::elementOf(letters));
}

RC_GTEST_PROP(Matches, AgreesWithTheSlowWay, ()) {
    const std::string pattern = short_text("aAb*", 8);
    const std::string text = short_text("aBb", 10);

    RC_CLASSIFY(slow_matches(pattern, text));
    RC_ASSERT(matches(pattern, text) == slow_matches(pattern, text));
}

TEST(Matches, AgreesWithTheSlowWayOnEveryShortPatternAndText) {
    const std::string_view letters = "ab*";
    std::vector<std::string> all{""};
    for (std::size_t i = 0; all[i].size() < 5; ++i) {
        for (const char letter : letters) {
            all.push_back(all[i] + letter);
        }
    }

    for (const std::string& pattern : all) {
        for (const std::string& text : all) {
            ASSERT_EQ(matches(pattern, text), slow_matches(pattern, text))
                << '"' << pattern << "\" on \"" << text << '"';
        }
    }
}

}  // namespace
}  // namespace waybill
