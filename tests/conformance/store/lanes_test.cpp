#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Kind = ReadRequest::Kind;

ReadRequest lanes(std::vector<LaneRef> refs, std::uint32_t lane_rows = 64) {
    return {.kind = Kind::lanes, .lanes = std::move(refs), .lane_rows = lane_rows};
}

TEST_P(StoreConformance, ALaneIsReadInSequenceOrder) {
    declare_box();
    append_all({order(1, "a"), order(2, "b"), order(3, "a"), order(4), order(5, "a")});
    Host host = owner();

    const ReadPage page = host.read(lanes({{host.partition(), "a", 0}}));

    EXPECT_THAT(bodies(page.entries), ElementsAre("order 1", "order 3", "order 5"));
    EXPECT_FALSE(page.more);
}

TEST_P(StoreConformance, ALaneIsReadFromTheGivenSequenceOn) {
    declare_box();
    const auto results = append_all({order(1, "a"), order(2, "a"), order(3, "a")});
    Host host = owner();

    const ReadPage page = host.read(lanes({{host.partition(), "a", results[1].sequence}}));

    EXPECT_THAT(bodies(page.entries), ElementsAre("order 2", "order 3"));
}

TEST_P(StoreConformance, OnlyTheFirstRowsOfEachLaneAreRead) {
    declare_box();
    append_all({order(1, "a"), order(2, "a"), order(3, "a"), order(4, "b"), order(5, "b")});
    Host host = owner();

    const ReadPage page =
        host.read(lanes({{host.partition(), "a", 0}, {host.partition(), "b", 0}}, 2));

    EXPECT_THAT(bodies(page.entries),
                testing::UnorderedElementsAre("order 1", "order 2", "order 4", "order 5"));
}

TEST_P(StoreConformance, ALongLaneInFrontDoesNotHideAnother) {
    declare_box();
    std::vector<Message> messages;
    for (int number = 1; number <= 500; ++number) messages.push_back(order(number, "long"));
    messages.push_back(order(501, "short"));
    append_all(messages);
    Host host = owner();

    const ReadPage page = host.read(lanes({{host.partition(), "short", 0}}));

    EXPECT_THAT(bodies(page.entries), ElementsAre("order 501"));
}

TEST_P(StoreConformance, AFinishedHeadLeavesItsLane) {
    declare_box();
    append_all({order(1, "a"), order(2, "a")});
    Host host = owner();

    host.finish(host.scan()[0]);

    const ReadPage page = host.read(lanes({{host.partition(), "a", 0}}));
    EXPECT_THAT(bodies(page.entries), ElementsAre("order 2"));
}

TEST_P(StoreConformance, AFailedHeadKeepsItsPlaceInItsLane) {
    declare_box();
    append_all({order(1, "a"), order(2, "a")});
    Host host = owner();
    Settlement later = unchanged(host.scan()[0]);
    later.due = now() + 1h;

    host.settle({later});

    const ReadPage page = host.read(lanes({{host.partition(), "a", 0}}));
    EXPECT_THAT(bodies(page.entries), ElementsAre("order 1", "order 2"));
}

TEST_P(StoreConformance, AParkedRowDoesNotHoldItsLaneUntilItIsUnparked) {
    declare_box();
    append_all({order(1, "a"), order(2, "a")});
    Host host = owner();
    const Entry head = host.scan()[0];

    host.park(head);
    const ReadPage without = host.read(lanes({{host.partition(), "a", 0}}));
    host.park(head, false);
    const ReadPage with = host.read(lanes({{host.partition(), "a", 0}}));

    EXPECT_THAT(bodies(without.entries), ElementsAre("order 2"));
    EXPECT_THAT(bodies(with.entries), ElementsAre("order 1", "order 2"));
}

TEST_P(StoreConformance, AnUnknownLaneIsEmpty) {
    declare_box();
    append(order(1, "a"));
    Host host = owner();

    EXPECT_THAT(host.read(lanes({{host.partition(), "b", 0}})).entries, IsEmpty());
}

TEST_P(StoreConformance, AReadOfLanesThatDoesNotFitSaysSo) {
    declare_box();
    append_all({order(1, "a"), order(2, "a"), order(3, "b")});
    Host host = owner();
    ReadRequest request = lanes({{host.partition(), "a", 0}, {host.partition(), "b", 0}});
    request.rows_max = 2;

    const ReadPage page = host.read(request);

    EXPECT_EQ(page.entries.size(), 2U);
    EXPECT_TRUE(page.more);
}

}  // namespace
}  // namespace waybill::test
