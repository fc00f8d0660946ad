#include "core/wording.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace waybill::detail {
namespace {

using namespace std::chrono_literals;

TEST(Grouped, HasACommaBeforeEveryThreeDigits) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1'000), "1,000");
    EXPECT_EQ(grouped(100'000), "100,000");
    EXPECT_EQ(grouped(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(Readable, UsesTheLargestUnitThatLeavesNoRest) {
    EXPECT_EQ(readable(0us), "0 s");
    EXPECT_EQ(readable(1us), "1 us");
    EXPECT_EQ(readable(1500us), "1,500 us");
    EXPECT_EQ(readable(10ms), "10 ms");
    EXPECT_EQ(readable(90s), "90 s");
    EXPECT_EQ(readable(5min), "5 min");
    EXPECT_EQ(readable(24h), "24 h");
    EXPECT_EQ(readable(-5s), "-5 s");
    EXPECT_EQ(readable(forever), "forever");
    EXPECT_EQ(readable(Duration::min()), "-9,223,372,036,854,775,808 us");
}

TEST(InQuotes, IsFitForOneLine) {
    EXPECT_EQ(in_quotes("orders"), "\"orders\"");
    EXPECT_EQ(in_quotes("K\xE4se"), "\"K\xEF\xBF\xBDse\"");
    EXPECT_EQ(in_quotes(std::string(500, 'x')), '"' + std::string(77, 'x') + "\xE2\x80\xA6\"");
    EXPECT_EQ(in_quotes("two\nlines"), "\"two lines\"");
}

}  // namespace
}  // namespace waybill::detail
