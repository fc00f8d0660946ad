#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "waybill/testkit.hpp"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using State = Filter::State;
using Steps = std::vector<std::string>;

class Chains : public testing::Test {
protected:
    /// A link that notes its calls and dies or fails as told.
    auto link(std::string name) {
        return [this, name](const Message&, Context& context) -> Outcome {
            steps.push_back(name);
            if (dying == name) return Dead{"no"};
            if (failing_once == name && context.attempt() == 1) throw std::runtime_error{"once"};
            return Done{};
        };
    }

    testkit::Kit kit;
    Steps steps;
    std::string dying;
    std::string failing_once;
};

TEST_F(Chains, GoOnWhereTheyFailed) {
    kit.app.inbox("orders")
        .on("*", "a", link("a"))
        .on("*", "b", link("b"), {.after = "a"})
        .on("*", "c", link("c"), {.after = "b"});
    failing_once = "b";

    const Uuid id = kit.app.append({.type = "t"}).id;

    EXPECT_EQ(kit.run_until_done(id), State::done);
    EXPECT_EQ(steps, (Steps{"a", "b", "b", "c"}));
}

TEST_F(Chains, BehindADeadLinkOneThatBlocksDiesAndOneThatGoesOnRuns) {
    kit.app.inbox("orders")
        .on("*", "a", link("a"))
        .on("*", "blocks", link("blocks"), {.after = "a"})
        .on("*", "behind it", link("behind it"), {.after = "blocks"})
        .on("*", "goes on", link("goes on"), {.after = "a", .after_dead = AfterDead::go_on});
    dying = "a";

    const Uuid id = kit.app.append({.type = "t"}).id;

    EXPECT_EQ(kit.run_until_done(id), State::dead);
    EXPECT_EQ(steps, (Steps{"a", "goes on"}));
    EXPECT_EQ(kit.app.dead_letters().count(), 3U);

    dying.clear();
    steps.clear();
    EXPECT_TRUE(kit.app.dead_letters().requeue({id, "a"}).carried_out);
    EXPECT_EQ(kit.run_until_done(id), State::done);
    EXPECT_EQ(steps, (Steps{"a", "blocks", "behind it"})) << "what was done is not run again";
}

TEST_F(Chains, OfALaneTheNextMessageWaitsForAllLinksOfTheOneBefore) {
    const auto note = [&](std::string name) {
        return [&, name](const Message& m) { steps.push_back(name + m.body); };
    };
    kit.app.inbox("orders").on("*", "a", note("a")).on("*", "b", note("b"), {.after = "a"});
    kit.app.append(
        {{.type = "t", .body = "1", .lane = "x"}, {.type = "t", .body = "2", .lane = "x"}});

    kit.run_until_idle();

    EXPECT_EQ(steps, (Steps{"a1", "b1", "a2", "b2"}));
}

TEST_F(Chains, AStepUnderAFormerKeyIsNotRepeatedUnderItsNewOne) {
    auto root = memory::open();
    failing_once = "second";
    {
        Waybill old{{.store = root->connect(), .background = false}};
        old.inbox("orders")
            .on("*", "first-v1", link("first"))
            .on("*", "second", link("second"), {.after = "first-v1", .backoff = {.base = 10ms}});
        old.append({.type = "t"});
        ASSERT_TRUE(old.run_until_idle());
    }
    EXPECT_EQ(steps, (Steps{"first", "second"}));

    Waybill renamed{{.store = root->connect(), .background = false}};
    renamed.inbox("orders")
        .on("*", "first", link("first"), {.legacy_keys = {"first-v1"}})
        .on("*", "second", link("second"), {.after = "first"});
    renamed.start();
    ASSERT_TRUE(renamed.wait_done());

    EXPECT_EQ(steps, (Steps{"first", "second", "second"}));
}

}  // namespace
}  // namespace waybill
