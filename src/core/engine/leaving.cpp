#include <algorithm>

#include "core/assert.hpp"
#include "core/engine/machine.hpp"

/// How work leaves memory: finished, replaced by a younger message, or waiting in the store.
namespace waybill::engine {
/// The chain leaves memory; something else (lane, due time, cursor) accounts for it.
void Machine::detach(Work& work, std::uint32_t chain) {
    bool was_attached = false;
    for (Delivery& delivery : work.deliveries) {
        if (delivery.chain == chain && delivery.attached) {
            was_attached = true;
            delivery.attached = false;
            clear_timer(delivery);
        }
    }
    if (was_attached) {
        charge(work, chain, false);
    }
    leave_lane(work, chain);  // also for a halted head that was only read to be skipped
}

std::uint64_t Machine::collapse_hash(const Message& message) const {
    return siphash(hash_key_, message.collapse_key) * 31 + siphash(hash_key_, message.lane);
}

/// A younger message with the same key makes the older one pointless, unless it has begun.
void Machine::collapse_older(Work& work) {
    // A requeue is an operator's wish: it replaces nothing and nothing replaces it.
    if (!work.collapses || work.collapsed || !work.only.empty()) {
        return;
    }
    Work*& youngest = work.partition->youngest[collapse_hash(*work.message)];
    if (youngest == nullptr || youngest == &work) {
        youngest = &work;
        return;
    }
    Work& older = youngest->sequence < work.sequence ? *youngest : work;
    if (youngest->sequence < work.sequence) {
        youngest = &work;
    }
    collapse_if_pointless(older);
}

void Machine::collapse_if_pointless(Work& work) {
    if (!work.collapses || !work.only.empty() || work.running > 0 || work.begun || work.halted ||
        work.parked) {
        return;
    }
    const auto found = work.partition->youngest.find(collapse_hash(*work.message));
    const bool untouched = std::ranges::all_of(
        work.deliveries, [](const Delivery& d) { return d.state == Delivery::State::ready; });
    if (found == work.partition->youngest.end() || found->second == nullptr ||
        found->second->sequence <= work.sequence || !untouched) {
        return;
    }
    work.collapsed = true;
    mark_dirty(work);
}

/// Leaves memory if nothing of it can happen here: what is still open of it is accounted for in the
/// store.
void Machine::retire(Work& work) {
    if (work.settle != Work::Settle::clean || work.running > 0 || &work == solo_) {
        return;
    }
    const bool open = std::ranges::any_of(
        work.deliveries, [](const Delivery& d) { return d.attached && !d.is_terminal(); });
    if (!open) {
        remove(work);
    }
}

/// A row of which nothing was left to do when it was read goes, and may have been the blocked head of
/// any chain.
void Machine::free_lanes(Work& work) {
    Partition& partition = *work.partition;
    if (work.lane_hash == 0 || partition.dropping) {
        return;
    }
    for (std::uint32_t chain = 0; chain < partition.cursors.size(); ++chain) {
        const std::uint64_t key = lane_key(work.lane_hash, chain);
        lift_block(partition, key, work.sequence);
        settle_lane(partition, key, chain, work.message->lane);
    }
}

void Machine::remove(Work& work) {
    Partition& partition = *work.partition;
    for (const std::uint32_t chain : chains_of(work.deliveries)) {
        detach(work, chain);
    }
    if (work.deliveries.empty()) {
        free_lanes(work);
    }
    if (work.collapses) {
        const auto found = partition.youngest.find(collapse_hash(*work.message));
        if (found != partition.youngest.end() && found->second == &work) {
            partition.youngest.erase(found);
        }
    }
    if (work.settle != Work::Settle::clean) {
        std::erase(dirty_, &work);
        std::ranges::replace(sent_, &work, static_cast<Work*>(nullptr));
        --partition.unsettled;
    }
    if (solo_ == &work) {
        solo_ = nullptr;
    }
    window_used_ -= work.bytes;
    --works_;
    const auto node = partition.works.find(work.sequence);
    WAYBILL_ASSERT(node != partition.works.end());
    if (work.queued > 0) {
        work.gone = true;
        partition.waiting -= work.queued;
        work.partition = nullptr;
        gone_.emplace(&work, partition.works.extract(node));  // until the ready queue gets there
    } else {
        spare_works_.erase(partition.works, node);
    }
}

}  // namespace waybill::engine
