#include "waybill/halted_lanes.hpp"

#include <string>

#include <gtest/gtest.h>

#include "waybill/testkit.hpp"

namespace waybill {
namespace {

class HaltedLanesTest : public testing::Test {
protected:
    HaltedLanesTest() {
        kit.app.inbox("orders", {.on_dead = OnDead::halt})
            .on("*", "bill", [this](const Message& m) { return judge(m); })
            .on("*", "mail", [](const Message&) {}, {.after = "bill"})
            .on("*", "audit", [this](const Message& m) { return judge(m); });
    }
    Outcome judge(const Message& message) {
        handled += message.body;
        if (!mended && message.body == "1") return Dead{"broken"};
        return Done{};
    }
    Uuid append(const std::string& body, const std::string& lane) {
        return kit.app.append({.type = "t", .body = body, .lane = lane}).id;
    }
    HaltedLanes lanes() { return HaltedLanes{kit.app.catalogue()}; }

    testkit::Kit kit;
    bool mended = false;
    std::string handled;
};

TEST_F(HaltedLanesTest, ALaneHeldByTwoTargetsIsListedOnceAcrossPages) {
    const Uuid head = append("1", "L");
    append("2", "L");
    append("3", "other");
    kit.run_until_idle();

    std::vector<HaltedLane> all;
    std::string cursor;
    do {
        const auto page = lanes().list({}, cursor, 1);
        all.insert(all.end(), page.items.begin(), page.items.end());
        cursor = page.next;
    } while (!cursor.empty());

    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].lane, "L");
    EXPECT_EQ(all[0].message, head);
    EXPECT_EQ(all[0].reason, "broken");
    EXPECT_EQ(all[0].targets, (std::vector<std::string>{"audit", "bill"}))
        << "mail died because of bill and comes back with it";
    EXPECT_EQ(lanes().list({.target = "bill"}).items.size(), 1U);
    EXPECT_EQ(lanes().list({.reason = "broken"}).items.size(), 1U);
    EXPECT_TRUE(lanes().list({.target = "mail"}).items.empty());
    EXPECT_TRUE(lanes().list({.box = "elsewhere"}).items.empty());
}

TEST_F(HaltedLanesTest, AResumeRunsAllThatHoldTheLaneAgain) {
    const Uuid head = append("1", "L");
    append("2", "L");
    kit.run_until_idle();
    ASSERT_EQ(handled, "11");
    mended = true;

    const auto numbers = lanes().resume(head);
    kit.run_until_idle();

    ASSERT_EQ(numbers.size(), 2U);
    for (const std::uint64_t number : numbers) {
        const auto answer = kit.app.catalogue().command_result(number);
        ASSERT_TRUE(answer);
        EXPECT_TRUE(answer->carried_out) << answer->text;
    }
    EXPECT_EQ(handled.substr(0, 4), "1111");
    EXPECT_EQ(handled.size(), 6U);
    EXPECT_TRUE(lanes().list().items.empty());
    EXPECT_EQ(kit.app.dead_letters().count(), 0U);
}

TEST_F(HaltedLanesTest, ASkippedHeadHoldsNothingAndIsNoLongerListed) {
    const Uuid head = append("1", "L");
    const Uuid next = append("2", "L");
    kit.run_until_idle();

    EXPECT_EQ(lanes().skip(head).size(), 1U);
    kit.run_until_idle();

    EXPECT_EQ(kit.state_of(next), Filter::State::done);
    EXPECT_TRUE(lanes().list().items.empty());
    EXPECT_EQ(kit.app.dead_letters().count(), 3U);
    EXPECT_TRUE(lanes().skip(head).empty());
    EXPECT_TRUE(lanes().resume(next).empty());
}

}  // namespace
}  // namespace waybill
