#include <algorithm>

#include "core/engine/machine.hpp"

/// Lanes that are longer than memory keeps are read on when they move; and nothing in a lane starts
/// before an increment has shown that nothing is missing in front of it.
namespace waybill::engine {
namespace {

constexpr std::size_t kLanesPerRead = 64;

}  // namespace

bool Machine::read_lanes(ReadRequest& request) {
    if (lane_reads_.empty() || !has_slack()) {
        return false;
    }
    request.kind = ReadRequest::Kind::lanes;
    request.lane_rows = config_.options.lane_rows;
    lanes_asked_.clear();
    while (!lane_reads_.empty() && lanes_asked_.size() < kLanesPerRead) {
        LaneRead read = std::move(lane_reads_.front());
        lane_reads_.pop_front();
        // Two chains may want the same lane from different places: one page, one place.
        if (std::ranges::any_of(lanes_asked_, [&](const LaneRead& asked) {
                return asked.partition == read.partition && asked.lane == read.lane;
            })) {
            lane_reads_.push_front(std::move(read));
            break;
        }
        request.lanes.push_back({read.partition, read.lane, read.from});
        lanes_asked_.push_back(std::move(read));
    }
    return true;
}

void Machine::on_lanes(ReadPage& page) {
    const std::vector<LaneRead> asked = std::exchange(lanes_asked_, {});
    for (const LaneRead& read : asked) {
        Partition* partition = current(read.partition);
        if (partition == nullptr) {
            continue;
        }
        Lane* known = partition->lanes.find(read.key);
        // A lane that was given up and came back since was not asked for this.
        if (known == nullptr || !known->reading) {
            continue;
        }
        if (known->skipped_from != read.from || known->blocked_head != 0) {
            // Something before it is missing by now, or its head is blocked: ask again if need be.
            known->reading = false;
            settle_lane(*partition, read.key, read.chain, read.lane);
            continue;
        }
        take_lane(*partition, read, page);
    }
}

void Machine::take_lane(Partition& partition, const LaneRead& read, ReadPage& page) {
    std::uint32_t rows = 0;
    Sequence next = read.from;
    bool stopped = false;
    // What the chain has yet to catch up with is the scan's to bring, in order.
    bool behind = read.from > partition.cursors[read.chain];
    for (Entry& entry : page.entries) {
        if (entry.partition != read.partition || entry.message == nullptr ||
            entry.message->lane != read.lane) {
            continue;
        }
        const Sequence sequence = entry.sequence;
        behind = behind || sequence > partition.cursors[read.chain];
        // Making room for a row may send its whole lane back to the store, which remembers it.
        Lane* open = partition.lanes.find(read.key);
        stopped = open == nullptr || !open->reading || open->skipped_from < next;
        if (stopped || behind) {
            break;
        }
        // Open the gate as far as this row; what comes after it stays in the store for now.
        open->skipped_from = sequence + 1;
        if (load(partition, entry, Via::lanes, read.chain) == Loaded::refused) {
            if (Lane* lane = partition.lanes.find(read.key)) {
                lane->skipped_from = sequence;
            }
            stopped = true;
            break;
        }
        next = sequence + 1;
        ++rows;
    }
    Lane* found = partition.lanes.find(read.key);
    if (found == nullptr || !found->reading) {
        return;
    }
    Lane& lane = *found;
    lane.reading = false;
    if (lane.blocked_head != 0) {
        // A row of this page holds the lane, and the rest of it stays where it is.
    } else if (behind) {
        lane.skipped_from = 0;
    } else if (!stopped && lane.skipped_from >= next) {
        const bool maybe_more = page.more || rows >= config_.options.lane_rows;
        lane.skipped_from = maybe_more ? next : 0;
    }
    settle_lane(partition, read.key, read.chain, read.lane);
}

/// All that was visible when this increment began has been returned: nothing can be missing in front
/// of what earlier reads brought.
void Machine::prove_lanes(std::uint64_t before) {
    std::vector<std::pair<PartitionId, Sequence>> waiting = std::exchange(unproven_, {});
    for (const auto& [id, sequence] : waiting) {
        Partition* partition = find_partition(id);
        if (partition == nullptr || !partition->works.contains(sequence)) {
            continue;
        }
        Work& work = partition->works.at(sequence);
        if (work.unproven >= before) {
            unproven_.emplace_back(id, sequence);
            continue;
        }
        work.unproven = 0;
        for (const std::uint32_t chain : chains_of(work.deliveries)) {
            advance(work, chain);
        }
    }
    increment_wanted_ = increment_wanted_ || !unproven_.empty();
}

}  // namespace waybill::engine
