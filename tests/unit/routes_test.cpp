#include "core/engine/routes.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace waybill::engine {
namespace {

using Change = Routes::Change;

constexpr std::uint32_t kNone = UINT32_MAX;

Target target(const std::string& key, const std::string& after = "") {
    return {.box = "orders", .key = key, .after = after};
}

/// The box "orders" with code for these targets.
LocalBox box_of(const std::vector<Target>& targets) {
    LocalBox box{.name = "orders"};
    for (const Target& each : targets) box.targets.push_back({.target = each});
    return box;
}

std::uint32_t chain_of(const Routes& routes, const std::string& key) {
    return routes.targets().at(routes.find(key)).chain;
}

TEST(Routes, KnowTheirOwnTargetsBeforeTheRegistryArrives) {
    const LocalBox box = box_of({target("billing"), target("mail", "billing")});

    const Routes routes{box};

    ASSERT_EQ(routes.targets().size(), 2U);
    EXPECT_EQ(routes.targets()[0].local, 0U);
    EXPECT_EQ(routes.targets()[1].local, 1U);
    EXPECT_EQ(routes.targets()[0].number, target_number("orders", "billing"));
    EXPECT_EQ(routes.find("nobody"), kNone);
}

TEST(Routes, ATargetAloneIsAChainOfItsOwn) {
    const LocalBox box = box_of({target("billing"), target("stock")});

    const Routes routes{box};

    EXPECT_NE(chain_of(routes, "billing"), chain_of(routes, "stock"));
    EXPECT_EQ(routes.predecessor(routes.find("billing")), kNone);
}

TEST(Routes, TargetsLinkedByAfterShareAChain) {
    const LocalBox box = box_of(
        {target("archive", "mail"), target("billing"), target("mail", "billing"), target("stock")});

    const Routes routes{box};

    EXPECT_EQ(chain_of(routes, "archive"), chain_of(routes, "billing"));
    EXPECT_EQ(chain_of(routes, "mail"), chain_of(routes, "billing"));
    EXPECT_NE(chain_of(routes, "stock"), chain_of(routes, "billing"));
    EXPECT_EQ(routes.predecessor(routes.find("archive")), routes.find("mail"));
    EXPECT_EQ(routes.predecessor(routes.find("mail")), routes.find("billing"));
    EXPECT_LT(chain_of(routes, "stock"), routes.chains());
}

TEST(Routes, AChainIsLocalIfAnyOfItsTargetsHasItsCodeHere) {
    const LocalBox box = box_of({target("mail", "billing")});
    Routes routes{box};

    routes.update(std::vector{target("mail", "billing"), target("billing"), target("stock")});

    EXPECT_EQ(routes.targets()[routes.find("billing")].local, no_executor);
    EXPECT_TRUE(routes.chain_is_local(chain_of(routes, "billing")));
    EXPECT_FALSE(routes.chain_is_local(chain_of(routes, "stock")));
}

TEST(Routes, TheSameRegistryChangesNothing) {
    const LocalBox box = box_of({target("billing")});
    Routes routes{box};

    EXPECT_EQ(routes.update(std::vector{target("billing")}), Change::none);
}

TEST(Routes, TargetsOfOtherBoxesAreNotOurs) {
    const LocalBox box = box_of({target("billing")});
    Routes routes{box};
    Target other = target("mail");
    other.box = "mails";

    EXPECT_EQ(routes.update(std::vector{target("billing"), other}), Change::none);
    EXPECT_EQ(routes.find("mail"), kNone);
}

TEST(Routes, ANewTargetMovesNoOther) {
    const LocalBox box = box_of({target("billing"), target("stock")});
    Routes routes{box};
    const std::uint32_t billing = routes.find("billing");
    const std::uint32_t chain = chain_of(routes, "billing");

    const Change change = routes.update(
        std::vector{target("a new one", "billing"), target("stock"), target("billing")});

    EXPECT_EQ(change, Change::targets);
    EXPECT_EQ(routes.find("billing"), billing);
    EXPECT_EQ(chain_of(routes, "billing"), chain);
    EXPECT_EQ(chain_of(routes, "a new one"), chain);
}

TEST(Routes, AnotherMatcherIsAChangeOfTargets) {
    const LocalBox box = box_of({target("billing")});
    Routes routes{box};
    Target changed = target("billing");
    changed.matcher.type = "order.*";

    EXPECT_EQ(routes.update(std::vector{changed}), Change::targets);
    EXPECT_EQ(routes.targets()[0].target.matcher.type, "order.*");
}

TEST(Routes, AnotherAfterOfAKnownTargetIsAChangeOfChains) {
    const LocalBox box = box_of({target("billing"), target("mail")});
    Routes routes{box};

    EXPECT_EQ(routes.update(std::vector{target("billing"), target("mail", "billing")}),
              Change::chains);
    EXPECT_EQ(chain_of(routes, "mail"), chain_of(routes, "billing"));
    EXPECT_EQ(routes.update(std::vector{target("billing"), target("mail")}), Change::chains);
    EXPECT_NE(chain_of(routes, "mail"), chain_of(routes, "billing"));
}

TEST(Routes, AForgottenTargetKeepsItsIndexAndIsNotFound) {
    const LocalBox box = box_of({target("billing"), target("mail")});
    Routes routes{box};

    EXPECT_EQ(routes.update(std::vector{target("mail")}), Change::targets);

    EXPECT_EQ(routes.find("billing"), kNone);
    EXPECT_EQ(routes.find("mail"), 1U);
    EXPECT_TRUE(routes.targets()[0].forgotten);
    EXPECT_FALSE(routes.chain_is_local(routes.targets()[0].chain));
}

TEST(Routes, AForgottenTargetThatIsRegisteredAgainIsTheSame) {
    const LocalBox box = box_of({target("billing"), target("mail")});
    Routes routes{box};
    routes.update(std::vector{target("mail")});

    EXPECT_EQ(routes.update(std::vector{target("billing"), target("mail")}), Change::targets);

    EXPECT_EQ(routes.find("billing"), 0U);
    EXPECT_EQ(routes.targets().size(), 2U);
}

TEST(Routes, ATargetWhosePredecessorWasForgottenStandsAlone) {
    const LocalBox box = box_of({target("billing"), target("mail", "billing")});
    Routes routes{box};

    EXPECT_EQ(routes.update(std::vector{target("mail", "billing")}), Change::chains);
    EXPECT_EQ(routes.predecessor(routes.find("mail")), kNone);
}

TEST(Routes, ATargetThatListsAFormerKeyTakesItsPlaceAtOnce) {
    Target renamed = target("billing.v2");
    renamed.legacy_keys = {"billing"};
    const LocalBox box = box_of({renamed});
    Routes routes{box};

    EXPECT_EQ(routes.update(std::vector{target("billing"), renamed}), Change::none);

    EXPECT_EQ(routes.targets().size(), 1U);
    EXPECT_EQ(routes.find("billing"), routes.find("billing.v2"));
}

TEST(Routes, AnOldInstanceHearsThatItsTargetWasSuperseded) {
    const LocalBox box = box_of({target("billing")});
    Routes routes{box};
    Target renamed = target("billing.v2");
    renamed.legacy_keys = {"billing"};

    EXPECT_EQ(routes.update(std::vector{target("billing"), renamed}), Change::targets);

    EXPECT_TRUE(routes.targets()[0].forgotten);
    EXPECT_EQ(routes.find("billing"), routes.find("billing.v2"));
    EXPECT_EQ(routes.targets()[routes.find("billing")].local, no_executor);
}

TEST(Routes, AfterAFormerKeyIsAfterItsSuccessor) {
    Target renamed = target("billing.v2");
    renamed.legacy_keys = {"billing"};
    const LocalBox box = box_of({renamed, target("mail", "billing")});

    const Routes routes{box};

    EXPECT_EQ(routes.predecessor(routes.find("mail")), routes.find("billing.v2"));
}

TEST(Routes, ACircleOfAnotherVersionEnds) {
    const LocalBox box = box_of({target("stock")});
    Routes routes{box};

    routes.update(std::vector{target("a", "b"), target("b", "a"), target("stock")});

    EXPECT_LT(chain_of(routes, "a"), routes.chains());
    EXPECT_NE(chain_of(routes, "stock"), chain_of(routes, "a"));
}

}  // namespace
}  // namespace waybill::engine
