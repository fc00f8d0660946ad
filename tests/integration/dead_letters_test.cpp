#include "waybill/dead_letters.hpp"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "waybill/testkit.hpp"

namespace waybill {
namespace {

using namespace std::chrono_literals;

class DeadLetterTest : public testing::Test {
protected:
    DeadLetterTest() {
        kit.app.inbox("orders", {.lanes = Lanes::none})
            .on("*", "bill",
                [this](const Message& m) -> Outcome {
                    ++calls;
                    if (mended) return Done{};
                    return Dead{"broken: " + m.body};
                })
            .on("*", "mail", [](const Message&) {}, {.after = "bill"});
    }
    void let_die(int count) {
        std::vector<Message> messages;
        for (int i = 0; i < count; ++i) {
            messages.push_back({.type = i % 2 == 0 ? "even" : "odd", .body = std::to_string(i)});
        }
        kit.app.append(std::move(messages));
        ASSERT_TRUE(kit.run_until_idle());
        calls = 0;
    }
    DeadLetters dead() { return kit.app.dead_letters(); }

    testkit::Kit kit;
    bool mended = false;
    int calls = 0;
};

TEST_F(DeadLetterTest, AreListedOldestFirstWithReasonAndBody) {
    let_die(5);

    const auto first = dead().list({.target = "bill"}, {}, 3);
    const auto rest = dead().list({.target = "bill"}, first.next, 3);

    ASSERT_EQ(first.items.size(), 3U);
    ASSERT_EQ(rest.items.size(), 2U);
    EXPECT_TRUE(rest.next.empty());
    EXPECT_EQ(first.items[0].message->body, "0");
    EXPECT_EQ(rest.items[1].letter.reason, "broken: 4");
    EXPECT_EQ(dead().count(), 10U) << "what runs after them died with them";
    EXPECT_EQ(dead().count({.reason = "broken"}), 5U);
}

TEST_F(DeadLetterTest, RequeuedRunAgainAtOnceWithWhatDiedBecauseOfThem) {
    let_die(1);
    const Uuid id = dead().list().items[0].letter.message;
    mended = true;

    EXPECT_TRUE(dead().requeue({id, "bill"}).carried_out);
    EXPECT_FALSE(dead().requeue({id, "bill"}).carried_out) << "it is no longer dead";
    kit.run_until_idle();

    EXPECT_EQ(kit.state_of(id), Filter::State::done);
    EXPECT_EQ(dead().count(), 0U);
}

TEST_F(DeadLetterTest, AnOrderByFilterNamesSomethingThatIsDead) {
    let_die(2);

    EXPECT_THROW(dead().requeue_matching(Filter{}), InvalidFilter);
    EXPECT_THROW(dead().discard_matching(Filter{.state = Filter::State::dead}), InvalidFilter);
    EXPECT_THROW(dead().discard_matching({.state = Filter::State::open, .box = "orders"}),
                 InvalidFilter);
    EXPECT_EQ(dead().count(), 4U);
}

TEST_F(DeadLetterTest, ACappedOrderSaysHowManyAreLeftAndGoesOnWhenItIsRepeated) {
    let_die(5);
    mended = true;
    const Filter broken{.target = "bill"};

    const BulkResult first = dead().requeue_matching(broken, 2);
    const BulkResult second = dead().requeue_matching(broken, 2);
    const BulkResult third = dead().requeue_matching(broken, 2);
    kit.run_until_idle();

    EXPECT_EQ(first, (BulkResult{.carried_out = 2, .remaining = 3, .capped = true}));
    EXPECT_EQ(second, (BulkResult{.carried_out = 2, .remaining = 1, .capped = true}));
    EXPECT_EQ(third, (BulkResult{.carried_out = 1, .remaining = 0, .capped = false}));
    EXPECT_EQ(calls, 5) << "each once";
    EXPECT_EQ(dead().requeue_matching(broken, 2), BulkResult{});
}

TEST_F(DeadLetterTest, AnOrderOverManyGoesInBatchesAndMeansWhatMatches) {
    let_die(500);
    mended = true;

    const BulkResult result = dead().requeue_matching({.type = "even", .target = "bill"});
    kit.run_until_idle();

    EXPECT_EQ(result.carried_out, 250U);
    EXPECT_FALSE(result.capped);
    EXPECT_EQ(calls, 250);
    EXPECT_EQ(dead().count({.type = "even"}), 0U);
    EXPECT_EQ(dead().count({.target = "bill"}), 250U);
}

TEST_F(DeadLetterTest, WhatDiesAgainIsNotTakenTwiceByOneOrder) {
    let_die(150);

    const BulkResult result = dead().requeue_matching({.target = "bill"});
    kit.run_until_idle();

    EXPECT_EQ(result.carried_out, 150U);
    EXPECT_EQ(calls, 150);
    EXPECT_EQ(dead().count({.target = "bill"}), 150U);
    for (const auto& item : dead().list({.target = "bill"}, {}, 1'000).items) {
        EXPECT_EQ(item.letter.requeues, 1U);
    }
}

TEST_F(DeadLetterTest, DiscardedAreGone) {
    let_die(4);
    const Uuid id = dead().list().items[0].letter.message;

    EXPECT_TRUE(dead().discard({id, "bill"}).carried_out);
    EXPECT_EQ(dead().discard_matching({.type = "odd"}).carried_out, 4U);

    EXPECT_EQ(dead().count({.type = "odd"}), 0U);
    EXPECT_EQ(dead().count(), 3U);
}

TEST_F(DeadLetterTest, TheAttemptLogTellsHowItCameToThat) {
    kit.app.inbox("mails").on(
        "*", "smtp",
        [](const Message&, Context& context) {
            throw std::runtime_error{"try " + std::to_string(context.attempt())};
        },
        {.max_attempts = 3});
    const Uuid id = kit.app.append({.box = "mails", .type = "t"}).id;
    ASSERT_EQ(kit.run_until_done(id), Filter::State::dead);

    const auto attempts = dead().attempts(id, "smtp");

    ASSERT_EQ(attempts.size(), 3U);
    EXPECT_EQ(attempts[0].error, "try 1");
    EXPECT_EQ(attempts[2].result, Attempt::Result::dead);
    EXPECT_TRUE(dead().attempts(id, "nobody").empty());
    EXPECT_TRUE(dead().attempts(Uuid{}).empty());
}

}  // namespace
}  // namespace waybill
