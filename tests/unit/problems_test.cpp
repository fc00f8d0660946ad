#include "waybill/problems.hpp"

#include <gtest/gtest.h>

namespace waybill {
namespace {

TEST(ConfigError, SaysAllProblemsOnePerLine) {
    const ConfigError error{{"the first", "the second", "the third"}};

    EXPECT_STREQ(error.what(), "the first\nthe second\nthe third");
    EXPECT_EQ(error.problems(), (Problems{"the first", "the second", "the third"}));
}

TEST(ConfigError, OfOneProblemIsThatProblem) {
    EXPECT_STREQ(ConfigError{{"the only one"}}.what(), "the only one");
}

}  // namespace
}  // namespace waybill
