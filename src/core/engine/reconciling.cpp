#include <algorithm>

#include "core/engine/machine.hpp"

/// The slow look back: every few minutes all open work is compared with what memory accounts for.
namespace waybill::engine {

bool Machine::read_reconcile(ReadRequest& request) {
    if (now_ >= next_reconcile_ && suspects_.may_look()) {
        next_reconcile_ = later(now_, config_.options.reconcile);
        suspects_.look();
        for (auto& [id, partition] : owned_) {
            const bool is_looked_at = partition->scanned && suspects_.looks_at(id);
            partition->reconcile_cursor = is_looked_at ? 0 : tail;
        }
    }
    for (const auto& [id, partition] : owned_) {
        if (partition->reconcile_cursor != tail) {
            request.kind = ReadRequest::Kind::scan;
            request.partition = id;
            request.after = partition->reconcile_cursor;
            reconcile_read_ = true;
            return true;
        }
    }
    if (suspects_.has_news()) {
        next_reconcile_ = now_;
        return read_reconcile(request);
    }
    return false;
}

/// A row that was lost track of: that is a bug, it is counted, and the row is taken in.
void Machine::on_reconcile(const ReadRequest& request, ReadPage& page) {
    Partition* partition = current(request.partition);
    if (partition == nullptr) {
        return;
    }
    for (Entry& entry : page.entries) {
        if (is_known(*partition, entry)) {
            continue;
        }
        const Sequence sequence = entry.sequence;
        if (suspects_.meet(partition->id, sequence, now_, reads_issued_)) {
            ++reconciled_;
            emit({.kind = Event::Kind::reconciled,
                  .partition = partition->id,
                  .sequence = sequence});
            load(*partition, entry, Via::forced);
        } else {
            increment_wanted_ = true;
        }
    }
    partition->reconcile_cursor = page.more ? page.entries.back().sequence : tail;
}

bool Machine::is_known(const Partition& partition, const Entry& entry) const {
    if (partition.works.contains(entry.sequence) || entry.parked) {
        return true;
    }
    if (entry.missing) {
        return false;
    }
    const BoxState& box = *boxes_[partition.box];
    std::vector<Delivery> deliveries;
    route(box, entry, deliveries);
    if (comes_back(box, entry, deliveries)) {
        return true;
    }
    const std::uint64_t lane_hash = lane_hash_of(box, *entry.message);
    return std::ranges::all_of(chains_of(deliveries), [&](std::uint32_t chain) {
        if (!wants_chain(partition, entry.sequence, entry.halted, deliveries, chain, Via::due)) {
            return true;  // behind, foreign, halted or finished
        }
        if (lane_hash == 0) {
            return false;
        }
        const std::uint64_t key = lane_key(lane_hash, chain);
        if (const auto blocked = partition.blocked.find(key)) {
            return blocked->head == entry.sequence ||
                   (blocked->more && entry.sequence > blocked->head);
        }
        const Lane* lane = partition.lanes.find(key);
        return lane != nullptr && lane->skipped_from != 0 && entry.sequence >= lane->skipped_from;
    });
}

}  // namespace waybill::engine
