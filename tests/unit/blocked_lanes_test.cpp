#include "core/engine/blocked_lanes.hpp"

#include <map>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace waybill::engine {
namespace {

using Model = std::map<std::uint64_t, std::pair<Sequence, bool>>;

bool same(const BlockedLanes& lanes, const Model& model, std::uint64_t key) {
    const auto found = lanes.find(key);
    const auto known = model.find(key);
    if (!found || known == model.end()) return !found && known == model.end();
    return found->head == known->second.first && found->more == known->second.second;
}

/// Spread like hashes are, and the same in every run.
std::uint64_t mixed(std::uint64_t number) {
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9ULL;
    number = (number ^ number >> 27) * 0x94D049BB133111EBULL;
    return number ^ number >> 31;
}

TEST(BlockedLanes, KnowNothingAtFirst) {
    BlockedLanes lanes;

    EXPECT_FALSE(lanes.find(7));
    lanes.erase(7);
    EXPECT_EQ(lanes.size(), 0U);
    EXPECT_EQ(lanes.bytes(), 0U);
}

TEST(BlockedLanes, KeepTheHeadAndWhetherThereIsMore) {
    BlockedLanes lanes;
    const Sequence largest = INT64_MAX;

    lanes.set(1, largest, false);
    lanes.set(2, 5, false);
    lanes.set(2, 6, true);

    EXPECT_EQ(lanes.size(), 2U);
    EXPECT_EQ(lanes.find(1)->head, largest);
    EXPECT_FALSE(lanes.find(1)->more);
    EXPECT_EQ(lanes.find(2)->head, 6);
    EXPECT_TRUE(lanes.find(2)->more);
}

TEST(BlockedLanes, TakeAKeyThatIsZeroToo) {
    BlockedLanes lanes;

    lanes.set(0, 9, true);
    ASSERT_TRUE(lanes.find(0));
    EXPECT_EQ(lanes.find(0)->head, 9);

    lanes.erase(0);
    EXPECT_FALSE(lanes.find(0));
}

/// Keys from a few neighbouring places, so that runs form, wrap around the end and shift back.
RC_GTEST_PROP(BlockedLanes, AreAMap, ()) {
    BlockedLanes lanes;
    Model model;
    const auto steps = *rc::gen::container<std::vector<std::pair<std::uint64_t, int>>>(
        rc::gen::pair(rc::gen::inRange<std::uint64_t>(1, 40), rc::gen::inRange(0, 3)));

    Sequence head = 0;
    for (const auto& [number, action] : steps) {
        // Every fourth key has the same home as the one before it.
        const std::uint64_t key = number % 4 == 0 ? (number / 8) | 1ULL << 60 : number * 3;
        if (action == 0) {
            lanes.erase(key);
            model.erase(key);
        } else {
            lanes.set(key, ++head, action == 2);
            model[key] = {head, action == 2};
        }
        RC_ASSERT(lanes.size() == model.size());
    }

    for (std::uint64_t key = 1; key < 120; ++key) RC_ASSERT(same(lanes, model, key));
    for (std::uint64_t key = 0; key < 6; ++key) RC_ASSERT(same(lanes, model, key | 1ULL << 60));
}

RC_GTEST_PROP(BlockedLanes, AreAMapWhileTheyGrowAndShrink, (std::uint64_t seed)) {
    BlockedLanes lanes;
    Model model;
    for (std::uint64_t i = 0; i < 600; ++i) {
        const std::uint64_t key = mixed(seed + i);
        lanes.set(key, static_cast<Sequence>(i), i % 3 == 0);
        model[key] = {static_cast<Sequence>(i), i % 3 == 0};
    }
    for (std::uint64_t i = 0; i < 600; ++i) {
        const std::uint64_t key = mixed(seed + i * 7 % 600);
        RC_ASSERT(same(lanes, model, key));
        if (i % 8 == 0) continue;
        lanes.erase(key);
        model.erase(key);
    }

    RC_ASSERT(lanes.size() == model.size());
    for (std::uint64_t i = 0; i < 600; ++i) RC_ASSERT(same(lanes, model, mixed(seed + i)));
}

TEST(BlockedLanes, AMillionFitIn33MiB) {
    BlockedLanes lanes;
    constexpr std::uint64_t kLanes = 1'000'000;

    for (std::uint64_t i = 0; i < kLanes; ++i) {
        lanes.set(mixed(i), static_cast<Sequence>(i), i % 2 == 0);
    }

    EXPECT_EQ(lanes.size(), kLanes);
    EXPECT_LE(lanes.bytes(), 33ULL << 20);
    for (std::uint64_t i = 0; i < kLanes; ++i) {
        ASSERT_EQ(lanes.find(mixed(i))->head, static_cast<Sequence>(i));
    }
    for (std::uint64_t i = 0; i < kLanes; ++i) lanes.erase(mixed(i));
    EXPECT_EQ(lanes.size(), 0U);
    EXPECT_LE(lanes.bytes(), 1024U) << "a table that was large once gives its memory back";
}

}  // namespace
}  // namespace waybill::engine
