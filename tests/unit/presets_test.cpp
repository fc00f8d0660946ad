#include "waybill/presets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace waybill {
namespace {

using namespace std::chrono_literals;

Duration least(const Preset& preset, std::uint32_t failures) {
    return delay_after(preset.target.retry.backoff, failures, 0.0);
}

TEST(Presets, AllPassTheirOwnChecks) {
    Target target;
    target.box = "orders";
    target.key = "billing";
    for (const Preset& preset :
         {presets::inbox(), presets::outbox(), presets::inbox_net(), presets::outbox_net(),
          presets::vulthil_inbox(), presets::vulthil_outbox(), presets::ratatoskr(),
          presets::rh_inbox()}) {
        EXPECT_THAT(check("orders", preset.box), testing::IsEmpty());
        EXPECT_THAT(check(target, preset.target), testing::IsEmpty());
    }
}

TEST(Presets, InboxIsTheSaferDefaults) {
    const Preset preset = presets::inbox();

    EXPECT_EQ(preset.box, BoxOptions{});
    EXPECT_EQ(preset.box.lanes, Lanes::strict);
    EXPECT_EQ(preset.box.unmatched, Unmatched::park);
    EXPECT_EQ(preset.box.keep_dead, forever);
}

TEST(Presets, OutboxDiffersFromInboxOnlyInWhatNobodyWants) {
    Preset preset = presets::outbox();
    EXPECT_EQ(preset.box.unmatched, Unmatched::done);

    preset.box.unmatched = Unmatched::park;
    EXPECT_EQ(preset, presets::inbox());
}

TEST(Presets, InboxNetIsAChainThatGoesOnPastTheDead) {
    const Preset preset = presets::inbox_net();

    EXPECT_EQ(preset.arrangement, Preset::Arrangement::chain);
    EXPECT_EQ(preset.after_dead, AfterDead::go_on);
    EXPECT_EQ(preset.target.retry.max_attempts, 5U);
    EXPECT_EQ(least(preset, 1), 4s);
    EXPECT_EQ(least(preset, 20), 240s);
    EXPECT_EQ(preset.box.lanes, Lanes::exclusive);
    EXPECT_EQ(preset.box.unmatched, Unmatched::done);
    EXPECT_EQ(preset.box.dedup_window, 168h);
    EXPECT_EQ(preset.box.keep_done, 168h);
    EXPECT_EQ(preset.box.keep_dead, 168h);
}

TEST(Presets, OutboxNetMakesSixAttempts) {
    const Preset preset = presets::outbox_net();

    EXPECT_EQ(preset.arrangement, Preset::Arrangement::independent);
    EXPECT_EQ(preset.target.retry.max_attempts, 6U);
    EXPECT_EQ(preset.target.timeout, 30s);
    EXPECT_EQ(least(preset, 2), 8s);
    EXPECT_EQ(preset.box.lanes, Lanes::exclusive);
    EXPECT_EQ(preset.box.unmatched, Unmatched::done);
    EXPECT_EQ(preset.box.keep_done, forever);
    EXPECT_EQ(preset.box.keep_dead, forever);
}

TEST(Presets, VulthilInboxRunsInlineAndKeepsOnlyTheDedupRecord) {
    const Preset preset = presets::vulthil_inbox();

    EXPECT_EQ(preset.target.calls, Calls::inline_single);
    EXPECT_EQ(preset.box.lanes, Lanes::strict);
    EXPECT_EQ(preset.box.dedup_window, forever);
    EXPECT_EQ(preset.box.keep_done, 0s);
    EXPECT_EQ(preset.box.keep_dead, forever);
}

TEST(Presets, VulthilOutboxTriesThreeTimesAtOnceWithoutOrder) {
    const Preset preset = presets::vulthil_outbox();

    EXPECT_EQ(preset.target.retry.max_attempts, 3U);
    EXPECT_EQ(least(preset, 1), delay_floor);
    EXPECT_EQ(least(preset, 3), delay_floor);
    EXPECT_EQ(preset.box.lanes, Lanes::none);
    EXPECT_EQ(preset.box.keep_done, forever);
}

TEST(Presets, RatatoskrWaitsWithEqualJitter) {  // T32
    const Preset preset = presets::ratatoskr();

    EXPECT_EQ(preset.target.retry.max_attempts, 5U);
    EXPECT_EQ(least(preset, 1), 1s);
    EXPECT_EQ(least(preset, 2), 2s);
    EXPECT_EQ(least(preset, 20), 150s);
    EXPECT_EQ(preset.box.lanes, Lanes::none);
    EXPECT_EQ(preset.box.unmatched, Unmatched::dead);
    EXPECT_EQ(preset.box.keep_dead, forever);
}

TEST(Presets, RhInboxTriesThreeTimesAndForgetsWhatIsDoneButNotWhatIsDead) {
    const Preset preset = presets::rh_inbox();

    EXPECT_EQ(preset.target.retry.max_attempts, 3U);
    EXPECT_EQ(least(preset, 1), delay_floor);
    EXPECT_EQ(preset.box.lanes, Lanes::exclusive);
    EXPECT_EQ(preset.box.unmatched, Unmatched::dead);
    EXPECT_EQ(preset.box.keep_done, 0s);
    EXPECT_EQ(preset.box.keep_dead, forever);
    EXPECT_EQ(preset.box.concurrency, 1U);
}

}  // namespace
}  // namespace waybill
