#include <algorithm>

#include "harness.hpp"
#include "support/slot_vectors.hpp"
#include "waybill/slot.hpp"

namespace waybill::test {
namespace {

PartitionId partition_with(const std::vector<PartitionState>& partitions, std::uint32_t slot) {
    const auto found = std::ranges::find_if(partitions, [&](const PartitionState& partition) {
        return partition.first_slot <= slot && slot <= partition.last_slot;
    });
    return found == partitions.end() ? 0 : found->id;
}

TEST_P(StoreConformance, ThePartitionsOfABoxCoverEverySlotOnce) {
    for (const std::uint32_t count : {1U, 2U, 3U, 7U, 32U, 1000U, 1024U}) {
        const std::string box = "box-" + std::to_string(count);
        declare_box({.partitions = count}, box);
        Host host = this->host(1);
        host.state.boxes = {box};

        auto partitions = host.beat().partitions;
        std::ranges::sort(partitions, {}, &PartitionState::first_slot);

        ASSERT_EQ(partitions.size(), count);
        std::uint32_t next = 0;
        for (const PartitionState& partition : partitions) {
            EXPECT_EQ(partition.first_slot, next);
            EXPECT_GE(partition.last_slot, partition.first_slot);
            next = partition.last_slot + 1;
        }
        EXPECT_EQ(next, slot_count);
    }
}

TEST_P(StoreConformance, AMessageWithALaneIsInThePartitionOfItsLanesSlot) {
    int number = 0;
    for (const std::uint32_t count : {3U, 32U, 1024U}) {
        const std::string box = "box-" + std::to_string(count);
        declare_box({.partitions = count}, box);
        Host host = this->host(1);
        host.state.boxes = {box};
        const auto partitions = host.beat().partitions;

        for (const auto& [lane, slot] : lane_slots) {
            Message message = order(++number, std::string(lane));
            message.box = box;
            EXPECT_EQ(append(message).partition, partition_with(partitions, slot)) << lane;
        }
    }
}

TEST_P(StoreConformance, AMessageWithoutALaneIsInThePartitionOfItsIdsSlot) {
    declare_box({.partitions = 32});
    const auto partitions = host(1).beat().partitions;

    for (const auto& [id, slot] : id_slots) {
        Message message = order(1);
        message.id = parse_uuid(id).value();
        EXPECT_EQ(append(message).partition, partition_with(partitions, slot)) << id;
    }
}

TEST_P(StoreConformance, ALaneStaysInOnePartition) {
    declare_box({.partitions = 32});

    std::vector<PartitionId> seen;
    for (int number = 1; number <= 20; ++number) {
        seen.push_back(append(order(number, "order-42")).partition);
    }

    EXPECT_TRUE(std::ranges::all_of(seen, [&](PartitionId id) { return id == seen[0]; }));
}

TEST_P(StoreConformance, ARequeuedMessageStaysInItsPartition) {
    declare_box({.partitions = 32});
    const PartitionId home = append(order(1)).partition;
    Host host = owner();
    host.die(only_row(host), "billing");
    const DeliveryRef delivery{id_of(1), "billing"};

    catalogue().requeue({&delivery, 1});

    EXPECT_EQ(only_row(host).partition, home);
}

TEST_P(StoreConformance, PartitionsOfDifferentBoxesAreDifferent) {
    declare_box({.partitions = 4});
    declare_box({.partitions = 4}, "mails");
    Host host = this->host(1);
    host.state.boxes = {"orders", "mails"};

    std::vector<PartitionId> ids;
    for (const PartitionState& partition : host.beat().partitions) ids.push_back(partition.id);
    std::ranges::sort(ids);

    EXPECT_EQ(ids.size(), 8U);
    EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

}  // namespace
}  // namespace waybill::test
