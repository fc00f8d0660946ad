#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Target billing{.box = "orders",
                     .key = "billing",
                     .matcher = {.type = "order.*", .source = "shop", .tenant = "a*"},
                     .legacy_keys = {"invoices"},
                     .after = "stock",
                     .after_dead = AfterDead::go_on};

TEST_P(StoreConformance, ARegisteredTargetIsToldWithTheNextBeat) {
    declare_box();
    declare_target(billing);

    const BeatReply reply = host(1).beat();

    EXPECT_GT(reply.registry_version, 0U);
    EXPECT_THAT(reply.registry, ElementsAre(billing));
}

TEST_P(StoreConformance, TheRegistryIsNotToldAgainToWhoKnowsIt) {
    declare_box();
    declare_target(billing);
    Host host = this->host(1);
    host.state.registry_version = host.beat().registry_version;

    const BeatReply reply = host.beat();

    EXPECT_EQ(reply.registry_version, host.state.registry_version);
    EXPECT_THAT(reply.registry, IsEmpty());
}

TEST_P(StoreConformance, DeclaringTheSameAgainChangesNothing) {
    declare_box();
    declare_target(billing);
    const auto version = host(1).beat().registry_version;

    declare_target(billing);

    EXPECT_EQ(host(1).beat().registry_version, version);
}

TEST_P(StoreConformance, AChangedMatcherReplacesTheRegisteredOne) {
    declare_box();
    declare_target(billing);
    const auto version = host(1).beat().registry_version;
    Target changed = billing;
    changed.matcher.type = "invoice.*";

    declare_target(changed);

    const BeatReply reply = host(1).beat();
    EXPECT_GT(reply.registry_version, version);
    EXPECT_THAT(reply.registry, ElementsAre(changed));
}

TEST_P(StoreConformance, AnInstanceThatDoesNotKnowATargetDoesNotRemoveIt) {
    declare_box();
    declare_target(billing);

    declare_target({.box = "orders", .key = "mail"});

    EXPECT_EQ(host(1).beat().registry.size(), 2U);
    EXPECT_EQ(catalogue().targets().size(), 2U);
}

TEST_P(StoreConformance, AForgottenTargetIsNoLongerRegistered) {
    declare_box();
    declare_target(billing);
    declare_target({.box = "orders", .key = "mail"});
    const auto version = host(1).beat().registry_version;

    EXPECT_TRUE(catalogue().forget_target("orders", "mail"));
    EXPECT_FALSE(catalogue().forget_target("orders", "mail"));

    const BeatReply reply = host(1).beat();
    EXPECT_GT(reply.registry_version, version);
    EXPECT_THAT(reply.registry, ElementsAre(billing));
}

TEST_P(StoreConformance, TheRegistryIsToldForAttendedBoxesOnly) {
    declare_box();
    declare_box({}, "mails");
    declare_target(billing);
    declare_target({.box = "mails", .key = "billing"});

    EXPECT_THAT(host(1).beat().registry, ElementsAre(billing));
}

TEST_P(StoreConformance, AnExistingBoxKeepsItsPartitions) {
    declare_box({.partitions = 4});
    const auto before = host(1).beat().partitions;

    declare_box({.partitions = 16});

    EXPECT_EQ(host(1).beat().partitions, before);
    EXPECT_EQ(before.size(), 4U);
}

TEST_P(StoreConformance, ABoxThatDoesNotSayHasTheStoresNumberOfPartitions) {
    const BoxDeclaration box{.name = "orders"};

    store().declare({&box, 1}, {});

    EXPECT_EQ(host(1).beat().partitions.size(), store().capabilities().default_partitions);
}

TEST_P(StoreConformance, APausedBoxIsToldWithTheBeatUntilItGoesOn) {
    declare_box();

    catalogue().pause_box("orders", true);
    const auto paused = host(1).beat().paused_boxes;
    catalogue().pause_box("orders", false);
    const auto resumed = host(1).beat().paused_boxes;

    EXPECT_THAT(paused, ElementsAre("orders"));
    EXPECT_THAT(resumed, IsEmpty());
}

TEST_P(StoreConformance, WhoDoesNotKnowTheNewestRegistrySettlesNothing) {
    declare_box();
    append(order(1));
    Host host = owner();
    const auto number = catalogue().command({.kind = Command::Kind::cancel, .message = id_of(1)});
    declare_target(billing);

    const SettleReply stale =
        host.settle({finished(only_row(host))}, {{number, host.partition(), true, "cancelled"}});

    EXPECT_TRUE(stale.registry_stale);
    EXPECT_THAT(stale.lost, IsEmpty());
    EXPECT_EQ(host.scan().size(), 1U);
    EXPECT_FALSE(catalogue().command_result(number).has_value());
}

TEST_P(StoreConformance, WhoHasLearntTheRegistrySettlesAgain) {
    declare_box();
    append(order(1));
    Host host = owner();
    declare_target(billing);
    host.finish(only_row(host));

    host.beat();
    const SettleReply reply = host.finish(only_row(host));

    EXPECT_FALSE(reply.registry_stale);
    EXPECT_THAT(host.scan(), IsEmpty());
}

}  // namespace
}  // namespace waybill::test
