#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(StoreConformance, MigratingAgainChangesNothing) {
    declare_box();
    append(order(1));
    Host host = owner();

    upkeep().migrate();
    host.connection().upkeep->migrate();

    EXPECT_THAT(bodies(host.scan()), ElementsAre("order 1"));
    EXPECT_THAT(host.settle({}).lost, IsEmpty());
}

TEST_P(StoreConformance, AFreshStoreIsHealthyAndEmpty) {
    const StoreHealth health = upkeep().health();

    EXPECT_TRUE(health.reachable);
    EXPECT_EQ(health.open + health.parked + health.dead, 0U);
    EXPECT_EQ(health.oldest_open, 0s);
}

TEST_P(StoreConformance, TheSettingsUnderTestBreakNoPromise) {
    EXPECT_THAT(upkeep().check_settings(), IsEmpty());
}

}  // namespace
}  // namespace waybill::test
