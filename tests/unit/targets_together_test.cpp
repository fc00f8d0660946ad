#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "waybill/target.hpp"

namespace waybill {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Target target(std::string key, std::string after = "", std::vector<std::string> legacy_keys = {}) {
    Target made;
    made.box = "orders";
    made.key = std::move(key);
    made.after = std::move(after);
    made.legacy_keys = std::move(legacy_keys);
    return made;
}

Problems together(std::vector<Target> targets) {
    return check_together(targets);
}

TEST(TargetsTogether, NoneOrOneOrManyIndependentOnesAreFine) {
    EXPECT_THAT(together({}), IsEmpty());
    EXPECT_THAT(together({target("a")}), IsEmpty());
    EXPECT_THAT(together({target("a"), target("b"), target("c")}), IsEmpty());
}

TEST(TargetsTogether, AChainInAnyOrderAndAForkAreFine) {
    EXPECT_THAT(together({target("c", "b"), target("a"), target("b", "a"), target("d", "a")}),
                IsEmpty());
}

TEST(TargetsTogether, AKeyUsedTwiceIsToldOncePerExtraUse) {
    EXPECT_THAT(together({target("a"), target("b"), target("a")}),
                ElementsAre(AllOf(HasSubstr("box \"orders\""), HasSubstr("\"a\" is the key of"))));
    EXPECT_EQ(together({target("a"), target("a"), target("a")}).size(), 2U);
}

TEST(TargetsTogether, KeysDifferByCase) {
    EXPECT_THAT(together({target("a"), target("A")}), IsEmpty());
}

TEST(TargetsTogether, ALegacyKeyThatIsSomeonesKeyIsToldWhicheverComesFirst) {
    const auto is_told = ElementsAre(
        HasSubstr("\"old\" is the key of a target and again a legacy key of target \"new\""));

    EXPECT_THAT(together({target("new", "", {"old"}), target("old")}), is_told);
    EXPECT_THAT(together({target("old"), target("new", "", {"old"})}), is_told);
}

TEST(TargetsTogether, ALegacyKeyOfTwoIsTold) {
    EXPECT_THAT(together({target("a", "", {"old"}), target("b", "", {"old"})}),
                ElementsAre(AllOf(HasSubstr("\"old\" is a legacy key of target \"a\""),
                                  HasSubstr("again a legacy key of target \"b\""))));
}

TEST(TargetsTogether, ALegacyKeyListedTwiceOrEqualToItsOwnKeyIsTold) {
    EXPECT_EQ(together({target("a", "", {"old", "old"})}).size(), 1U);
    EXPECT_EQ(together({target("a", "", {"a"})}).size(), 1U);
}

TEST(TargetsTogether, AnUnknownPredecessorIsTold) {
    EXPECT_THAT(together({target("a"), target("b", "nobody")}),
                ElementsAre(AllOf(HasSubstr("target \"b\": after is \"nobody\""),
                                  HasSubstr("no such target"))));
}

TEST(TargetsTogether, APredecessorUnderItsLegacyKeyIsToldWithItsName) {
    EXPECT_THAT(together({target("a", "", {"old"}), target("b", "old")}),
                ElementsAre(AllOf(HasSubstr("target \"b\": after is \"old\""),
                                  HasSubstr("legacy key of target \"a\""))));
}

TEST(TargetsTogether, AfterItselfIsACircle) {
    EXPECT_THAT(together({target("a", "a")}), ElementsAre(HasSubstr("circle: \"a\" after \"a\"")));
}

TEST(TargetsTogether, ACircleIsToldOnceAndNotByThoseThatOnlyLeadIntoIt) {
    EXPECT_THAT(together({target("x", "c"), target("b", "a"), target("a", "c"), target("c", "b")}),
                ElementsAre(HasSubstr("circle: \"b\" after \"a\" after \"c\" after \"b\"")));
}

TEST(TargetsTogether, TwoCirclesAreToldEach) {
    EXPECT_EQ(
        together({target("a", "b"), target("b", "a"), target("c", "d"), target("d", "c")}).size(),
        2U);
}

TEST(TargetsTogether, BoxesDoNotMeet) {
    Target elsewhere = target("a", "", {"b"});
    elsewhere.box = "mails";

    EXPECT_THAT(together({target("a"), target("b"), elsewhere}), IsEmpty());

    Target reaching_over = target("c", "b");
    reaching_over.box = "mails";
    EXPECT_EQ(together({target("b"), reaching_over}).size(), 1U);
}

}  // namespace
}  // namespace waybill
