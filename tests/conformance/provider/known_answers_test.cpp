#include <gtest/gtest.h>

#include "waybill/providers.hpp"

namespace waybill::providers {
namespace {

TEST(ProviderKnownAnswers, EveryProviderTakesARightRequestAndRefusesAChangedOne) {
    EXPECT_EQ(self_test(), Problems{});
}

TEST(ProviderKnownAnswers, ThereAreProvidersEnough) {
    EXPECT_GE(keys().size(), 50U);
}

}  // namespace
}  // namespace waybill::providers
