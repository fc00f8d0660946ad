#include "waybill/slot.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/slot_vectors.hpp"

namespace waybill {
namespace {

TEST(Slot, OfALaneIsWhatSha256sumSays) {
    for (const auto& [lane, slot] : test::lane_slots) {
        EXPECT_EQ(slot_of(lane), slot) << lane;

        Message message;
        message.lane = lane;
        EXPECT_EQ(slot_of(message), slot) << lane;
    }
}

TEST(Slot, WithoutALaneIsThatOfTheSixteenBytesOfTheId) {
    for (const auto& [id, slot] : test::id_slots) {
        Message message;
        message.id = parse_uuid(id).value();
        EXPECT_EQ(slot_of(message), slot) << id;
    }
}

TEST(Slot, OfAMessageWithALaneDoesNotDependOnItsId) {
    Message message;
    message.lane = "order-42";
    const std::uint32_t with_nil_id = slot_of(message);

    message.id = parse_uuid("919108f7-52d1-4320-9bac-f847db4148a8").value();

    EXPECT_EQ(slot_of(message), with_nil_id);
}

TEST(Slot, OfNothingIsDefinedToo) {
    EXPECT_EQ(slot_of(std::string_view{}), 910U);
}

TEST(Slot, AllOfThemAreUsedAndNoneMuchMoreThanOthers) {
    std::vector<int> hits(slot_count);

    for (int i = 0; i < 102'400; ++i) {
        ++hits.at(slot_of("lane-" + std::to_string(i)));
    }

    for (const int count : hits) {
        EXPECT_GT(count, 50);
        EXPECT_LT(count, 160);
    }
}

RC_GTEST_PROP(Slot, IsAlwaysOneOfThem, (const std::string& key)) {
    RC_ASSERT(slot_of(key) < slot_count);
}

}  // namespace
}  // namespace waybill
