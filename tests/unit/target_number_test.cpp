#include <gtest/gtest.h>

#include "waybill/ownership.hpp"

namespace waybill {
namespace {

TEST(TargetNumber, IsWhatSha256sumSaysOfBoxNulAndKey) {
    EXPECT_EQ(target_number("orders", "billing.charge"), 0xC43075A880707995U);
    EXPECT_EQ(target_number("orders", "mail.receipt"), 0x5024438F7699A7ABU);
}

TEST(TargetNumber, DependsOnWhereTheBoxEndsAndTheKeyBegins) {
    EXPECT_EQ(target_number("ordersb", "illing.charge"), 0x8E6963E43F2C2AB8U);
}

}  // namespace
}  // namespace waybill
