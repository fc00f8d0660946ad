#include <algorithm>

#include "core/engine/machine.hpp"

/// How rows of the store become work in memory.
namespace waybill::engine {
namespace {

constexpr std::uint32_t kStrikesMax = 3;

}  // namespace

Loaded Machine::load(Partition& partition, Entry& entry, Via via, std::uint32_t only_chain) {
    BoxState& box = *boxes_[partition.box];
    const auto found = partition.works.find(entry.sequence);
    Work* work = found == partition.works.end() ? nullptr : &found->second;
    if (entry.missing) {
        return work != nullptr ? Loaded::accounted : take_unrouted(partition, entry, via);
    }
    if (work == nullptr) {
        route(box, entry, routed_);
        note_foreign(partition, box, routed_);
        const bool nothing_open = std::ranges::all_of(routed_, &Delivery::is_terminal);
        if (nothing_open && !entry.halted) {
            return entry.parked && routed_.empty() ? Loaded::accounted
                                                   : take_unrouted(partition, entry, via);
        }
    }
    if (work == nullptr && via == Via::parked) {
        return unpark(partition, entry);
    }
    const std::vector<Delivery>& deliveries = work != nullptr ? work->deliveries : routed_;
    const std::uint64_t lane_hash = lane_hash_of(box, *entry.message);
    const bool far = work == nullptr && via != Via::forced && via != Via::lanes &&
                     comes_back(box, entry, routed_);
    // What has entered stays in, also when the store's clock steps back.
    const bool entered = work != nullptr ? work->entered : entry.message->not_before <= store_now();
    const bool holds_lane = lane_hash != 0 && entered && box.box->options.lanes == Lanes::strict;
    std::vector<std::uint32_t>& wanted = wanted_;
    wanted.clear();
    for (const std::uint32_t chain : chains_of(deliveries)) {
        const bool halted = work != nullptr ? chain_is_halted(*work, chain)
                                            : entry.halted && any_halting(deliveries, chain);
        if (halted && holds_lane && box.routes.chain_is_local(chain)) {
            block_lane(partition, lane_key(lane_hash, chain), chain, entry.sequence,
                       entry.message->lane);
        } else if ((only_chain == any_chain || only_chain == chain) &&
                   wants_chain(partition, entry.sequence, entry.halted, deliveries, chain, via)) {
            wanted.push_back(chain);
        }
    }
    const bool needed = work == nullptr && via == Via::forced;
    if (wanted.empty() && !needed) {
        return Loaded::accounted;
    }
    // Before its lanes hear of it: a refused row must leave no trace.
    if (work == nullptr && via != Via::forced && !make_room(entry, far, holds_lane)) {
        return refuse(partition, entry, wanted, via);
    }
    if (lane_hash != 0 && entered) {
        std::erase_if(wanted, [&](std::uint32_t chain) {
            return !lane_admits(partition, entry.sequence, far ? store_never : StoreTime{},
                                lane_hash, chain, via);
        });
    }
    if (far) {
        // It waits in the store; only its lane must remember that it is blocked.
        for (const std::uint32_t chain : wanted) {
            if (holds_lane) {
                block_lane(partition, lane_key(lane_hash, chain), chain, entry.sequence,
                           entry.message->lane);
            }
        }
        return Loaded::accounted;
    }
    if (wanted.empty() && !needed) {
        return Loaded::accounted;
    }
    if (work == nullptr) {
        work = &make_work(partition, entry, routed_, lane_hash);
    }
    take_in(*work, wanted, via);
    return Loaded::taken;
}

/// It may wait in the store: a due read brings it in time. Not if the store's due time is older than
/// the registry, because a new target can be due before it.
bool Machine::comes_back(const BoxState& box, const Entry& entry,
                         const std::vector<Delivery>& deliveries) const {
    return is_far(entry.due, entry.sequence) &&
           earliest_due(deliveries, box.routes, entry.halted) >= entry.due;
}

/// Attaches what its lanes admit, and draws the conclusions.
void Machine::take_in(Work& work, const std::vector<std::uint32_t>& chains, Via via) {
    if (work.lane_hash != 0 && via != Via::increment) {
        if (work.unproven == 0) {
            unproven_.emplace_back(work.partition->id, work.sequence);
        }
        work.unproven = reads_issued_;
        increment_wanted_ = true;
    }
    for (const std::uint32_t chain : chains) {
        attach(work, chain);
    }
    bury_orphans(work);
    judge_solo_start(work);
    collapse_older(work);
}

/// A parked row has no place in the store's lanes: it takes its place here when it has one there.
Loaded Machine::unpark(Partition& partition, Entry& entry) {
    if (!make_room(entry, false, false)) {
        return Loaded::refused;
    }
    const std::uint64_t lane_hash = lane_hash_of(*boxes_[partition.box], *entry.message);
    Work& work = make_work(partition, entry, routed_, lane_hash);
    work.unparking = true;
    mark_dirty(work);
    emit(Event::Kind::unparked, work);
    return Loaded::taken;
}

void Machine::unparked(Work& work) {
    work.unparking = false;
    std::vector<std::uint32_t> wanted;
    for (const std::uint32_t chain : chains_of(work.deliveries)) {
        if (wants_chain(*work.partition, work.sequence, work.halted, work.deliveries, chain,
                        Via::parked) &&
            (work.lane_hash == 0 || !work.entered ||
             lane_admits(*work.partition, work.sequence, row_due(work), work.lane_hash, chain,
                         Via::parked))) {
            wanted.push_back(chain);
        }
    }
    take_in(work, wanted, Via::parked);
}

bool Machine::make_room(const Entry& entry, bool far, bool holds_lane) {
    if (far) {
        return !holds_lane || blocked_bytes() <= config_.options.window_bytes / 2;
    }
    const auto cost = static_cast<std::uint32_t>(sizeof(Work) + entry.message->body.size());
    if (!has_room_for(cost)) {
        relieve();
    }
    return has_room_for(cost);
}

/// There is no room. What is new, or due by now, is left to the scan: these chains are behind and
/// meet the row again when they catch up, before they go on with their lanes. What is not due yet is
/// read again.
Loaded Machine::refuse(Partition& partition, const Entry& entry,
                       const std::vector<std::uint32_t>& chains, Via via) {
    const bool is_due = via == Via::due && entry.due <= store_now();
    if (via != Via::increment && via != Via::hand_over && !is_due) {
        return Loaded::refused;
    }
    if (chains.empty()) {
        partition.scanned = false;
        partition.scan_from = std::min(partition.scan_from, entry.sequence - 1);
    }
    for (const std::uint32_t chain : chains) {
        if (partition.cursors[chain] == tail) {
            emit({.kind = Event::Kind::behind, .partition = partition.id, .count = chain});
        }
        partition.cursors[chain] = std::min(partition.cursors[chain], entry.sequence - 1);
    }
    return is_due ? Loaded::accounted : Loaded::refused;
}

/// Nobody is left to want it: all targets are done (the last one was forgotten), or none matched, or
/// its message is gone.
Loaded Machine::take_unrouted(Partition& partition, Entry& entry, Via via) {
    if (!has_room_for(sizeof(Work)) && via != Via::forced) {
        return refuse(partition, entry, {}, via);
    }
    const bool matched = !entry.progress.empty();
    const bool missing = entry.missing;
    routed_.clear();
    Work& work =
        make_work(partition, entry, routed_, lane_hash_of(*boxes_[partition.box], *entry.message));
    work.missing = missing;
    work.halted = work.halted && !missing;
    if (missing) {
        bury_unrouted(work, "the message's row is missing");
    } else if (!matched) {
        give_up_unmatched(work);
    }
    mark_dirty(work);
    return Loaded::taken;
}

bool Machine::wants_chain(const Partition& partition, Sequence sequence, bool halted,
                          const std::vector<Delivery>& deliveries, std::uint32_t chain,
                          Via via) const {
    if (is_attached(deliveries, chain) || !boxes_[partition.box]->routes.chain_is_local(chain) ||
        !any_unsettled(deliveries, chain) || (halted && any_halting(deliveries, chain))) {
        return false;
    }
    const Sequence cursor = partition.cursors[chain];
    switch (via) {
        case Via::hand_over: return cursor == tail;
        case Via::scan: return sequence > cursor && scan_serves_[chain];
        case Via::increment:
        case Via::due:
        case Via::lanes:
        case Via::parked:
        case Via::forced: return sequence <= cursor;
    }
    return false;
}

/// False: the lane is longer than memory keeps, or its head waits in the store; the lane remembers.
bool Machine::lane_admits(Partition& partition, Sequence sequence, StoreTime due,
                          std::uint64_t lane_hash, std::uint32_t chain, Via via) {
    const std::uint64_t key = lane_key(lane_hash, chain);
    if (const auto blocked = partition.blocked.find(key)) {
        const auto [head, more] = *blocked;
        if (sequence > head) {
            partition.blocked.set(key, head, true);
            return false;
        }
        if (sequence == head && via != Via::forced && is_far(due, sequence)) {
            return false;
        }
        // Its head comes back, or something came in before it: the lane is in memory again.
        partition.blocked.erase(key);
        lane_at(partition, key).skipped_from = sequence < head ? head : more ? head + 1 : 0;
        return true;
    }
    Lane* found = partition.lanes.find(key);
    if (found == nullptr || via == Via::forced) {
        return true;
    }
    Lane& lane = *found;
    if (lane.blocked_head == sequence && !is_far(due, sequence)) {
        lane.blocked_head = 0;
        lane.skipped_from = sequence + 1;
        return true;
    }
    if (lane.skipped_from != 0 && sequence >= lane.skipped_from) {
        return false;
    }
    // While there is memory in plenty, reading a row twice costs more than keeping it.
    if (lane.queue.size() >= config_.options.lane_rows && via != Via::lanes &&
        memory_used() > config_.options.window_bytes / 2 && sequence > lane.queue.last_sequence()) {
        lane.skip_from(sequence);
        return false;
    }
    return true;
}

/// `deliveries` gets the empty vector of the work in exchange.
Work& Machine::make_work(Partition& partition, Entry& entry, std::vector<Delivery>& deliveries,
                         std::uint64_t lane_hash) {
    Work& work = spare_works_.insert(partition.works, entry.sequence);
    work.partition = &partition;
    work.sequence = entry.sequence;
    work.message = std::move(entry.message);
    work.deliveries.swap(deliveries);
    work.only = std::move(entry.only);
    work.requeues = entry.requeues;
    work.strikes = entry.strikes;
    work.solo_epoch = entry.solo_epoch;
    work.halted = entry.halted;
    work.stored_due = entry.due;
    work.lane_hash = lane_hash;
    work.collapses = !work.message->collapse_key.empty();
    work.tenanted = !work.message->tenant.empty();
    // Also by a target that was forgotten since.
    work.begun = std::ranges::any_of(
        entry.progress, [](const Progress& p) { return p.state == Progress::State::done; });
    work.bytes = bytes_of(work);
    work.entered = work.message->not_before <= store_now();
    window_used_ += work.bytes;
    ++works_;
    return work;
}

/// A target that was registered after its predecessor had died here dies with it.
void Machine::bury_orphans(Work& work) {
    const Routes& routes = box_of(work).routes;
    for (Delivery& delivery : work.deliveries) {
        const std::uint32_t predecessor = routes.predecessor(delivery.target);
        const bool orphan =
            delivery.state == Delivery::State::ready &&
            routes.targets()[delivery.target].target.after_dead == AfterDead::block &&
            std::ranges::any_of(work.deliveries, [&](const Delivery& other) {
                return other.target == predecessor && other.state == Delivery::State::dead;
            });
        if (orphan) {
            const std::string& key = routes.targets()[predecessor].target.key;
            kill(work, delivery, "predecessor \"" + key + "\" is dead", key);
        }
    }
}

/// It was started alone and its owner died: a strike. Three, and it is the message that kills.
void Machine::judge_solo_start(Work& work) {
    if (work.solo_epoch == 0 || work.solo_epoch == work.partition->token.epoch) {
        return;
    }
    // Only the owner that started it can have died of it; a later one never ran it.
    const bool its_owner_died =
        work.partition->taken_unclean && work.solo_epoch + 1 == work.partition->token.epoch;
    work.solo_epoch = 0;
    if (its_owner_died) {
        ++work.strikes;
        emit(Event::Kind::struck, work, {}, {}, work.strikes);
    }
    if (work.strikes >= kStrikesMax) {
        for (Delivery& delivery : work.deliveries) {
            if (!delivery.is_terminal() && delivery.state != Delivery::State::running) {
                kill(work, delivery,
                     "crash loop: it was alone in flight when its process died, three times");
            }
        }
    }
    mark_dirty(work);
}

void Machine::attach(Work& work, std::uint32_t chain) {
    for (std::uint32_t i = 0; i < work.deliveries.size(); ++i) {
        if (work.deliveries[i].chain == chain) {
            work.deliveries[i].attached = true;
        }
    }
    charge(work, chain, true);
    if (!work.entered) {
        for (std::uint32_t i = 0; i < work.deliveries.size(); ++i) {
            if (work.deliveries[i].chain == chain && !work.deliveries[i].is_terminal()) {
                set_timer(work, i, work.message->not_before);
            }
        }
        return;
    }
    // What was never tried and waits behind others of its lane has nothing to do yet.
    if (enter_lane(work, chain) || work.stored_due != StoreTime{}) {
        advance(work, chain);
    }
}

}  // namespace waybill::engine
