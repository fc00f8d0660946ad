#include <algorithm>

#include "core/engine/machine.hpp"

/// Order: who is the head of a lane, when it may run, and when the next one may.
namespace waybill::engine {

/// Its not-before has passed: from now on it has a place in its lanes.
void Machine::enter(Work& work) {
    work.entered = true;
    for (Delivery& delivery : work.deliveries) {
        clear_timer(delivery);
    }
    for (const std::uint32_t chain : chains_of(work.deliveries)) {
        if (!is_attached(work.deliveries, chain)) {
            continue;
        }
        if (work.lane_hash != 0 && !lane_admits(*work.partition, work.sequence, row_due(work),
                                                work.lane_hash, chain, Via::due)) {
            detach(work, chain);
            continue;
        }
        enter_lane(work, chain);
        advance(work, chain);
    }
    retire(work);
}

/// False: its turn is after another's.
bool Machine::enter_lane(Work& work, std::uint32_t chain) {
    if (work.lane_hash == 0 || !chain_is_open(work, chain)) {
        return true;
    }
    SequenceQueue<Work>& queue = lane_at(*work.partition, lane_key(work.lane_hash, chain)).queue;
    queue.insert(work.sequence, work);
    if (queue.front() == &work) {
        return true;
    }
    if (queue.front()->settle == Work::Settle::dirty) {
        settle_pace_.hurry();  // nobody waited for it until now
    }
    return false;
}

void Machine::leave_lane(Work& work, std::uint32_t chain) {
    Partition& partition = *work.partition;
    if (work.lane_hash == 0 || partition.dropping) {
        return;
    }
    const std::uint64_t key = lane_key(work.lane_hash, chain);
    Lane* lane = partition.lanes.find(key);
    const bool may_be_blocked =
        lane == nullptr || lane->blocked_head != 0 || partition.blocked.size() > 0;
    if (may_be_blocked && !chain_is_open(work, chain) && !chain_is_halted(work, chain)) {
        lift_block(partition, key, work.sequence);
        lane = partition.lanes.find(key);
    }
    if (lane == nullptr) {
        return;
    }
    lane->queue.erase(work.sequence);
    settle_lane(partition, key, chain, work.message->lane);
}

/// Finds it or makes it.
Lane& Machine::lane_at(Partition& partition, std::uint64_t key) {
    if (Lane* found = partition.lanes.find(key)) {
        return *found;
    }
    window_used_ += lane_bytes;
    return partition.lanes.insert(key);
}

void Machine::forget_lane(Partition& partition, std::uint64_t key) {
    window_used_ -= lane_bytes;
    partition.lanes.erase(key);
}

/// If the lane was blocked by this head, it is so no longer: what comes after it is read next.
void Machine::lift_block(Partition& partition, std::uint64_t key, Sequence head) {
    if (const auto blocked = partition.blocked.find(key)) {
        if (blocked->head == head) {
            const bool more = blocked->more;
            partition.blocked.erase(key);
            if (more) {
                lane_at(partition, key).skip_from(head + 1);
            }
        }
    } else if (Lane* lane = partition.lanes.find(key);
               lane != nullptr && lane->blocked_head == head) {
        lane->blocked_head = 0;
        lane->skipped_from = head + 1;
    }
}

void Machine::settle_lane(Partition& partition, std::uint64_t key, std::uint32_t chain,
                          const std::string& text) {
    if (const Lane* moved = partition.lanes.find(key); moved != nullptr && !moved->queue.empty()) {
        advance(*moved->queue.front(), chain);  // which may itself move or end the lane
    }
    Lane* found = partition.lanes.find(key);
    if (found == nullptr) {
        return;
    }
    Lane& lane = *found;
    if (lane.blocked_head != 0) {
        if (lane.queue.empty() && lane.running == 0) {
            const Sequence head = lane.blocked_head;
            forget_lane(partition, key);
            partition.blocked.set(key, head, true);
        }
        return;
    }
    if (lane.skipped_from != 0 && !lane.reading && wants_more(partition, lane)) {
        lane.reading = true;
        lane_reads_.push_back({partition.id, key, text, chain, lane.skipped_from});
    }
    if (lane.queue.empty() && lane.skipped_from == 0 && lane.running == 0 && !lane.reading) {
        forget_lane(partition, key);
    }
}

/// What of it waits in the store is needed: it comes first, or memory has little of it left. Not
/// while its head backs off.
bool Machine::wants_more(const Partition& partition, const Lane& lane) const {
    if (lane.queue.empty()) {
        return true;
    }
    if (lane.queue.first_sequence() >= lane.skipped_from) {
        return true;
    }
    const Work& front = *lane.queue.front();
    const bool stuck =
        boxes_[partition.box]->box->options.lanes == Lanes::strict && row_due(front) > store_now();
    return !stuck && lane.queue.size() <= config_.options.lane_rows / 4;
}

/// The head of this lane waits in the store: nothing behind it is worth keeping.
void Machine::block_lane(Partition& partition, std::uint64_t key, std::uint32_t chain,
                         Sequence head, const std::string& text) {
    bool more = false;
    if (const Lane* known = partition.lanes.find(key)) {
        const std::vector<Work*> queue = known->queue.copy();
        for (auto it = queue.rbegin(); it != queue.rend() && (*it)->sequence > head; ++it) {
            if (is_quiet(**it, chain)) {
                more = true;
                partition.lanes.at(key).skip_from((*it)->sequence);
                detach(**it, chain);
                retire(**it);
            }
        }
    }
    if (Lane* known = partition.lanes.find(key)) {
        Lane& lane = *known;
        lane.queue.erase(head);
        if (lane.skipped_from != 0 && lane.skipped_from < head) {
            // Something before it is in the store too: the lane reads on from there and meets it again.
            return settle_lane(partition, key, chain, text);
        }
        if (!lane.queue.empty() || lane.running > 0) {
            // Something of it is in flight, and nothing behind the head may follow it.
            lane.skipped_from = lane.blocked_head = head;
            return;
        }
        more = more || lane.skipped_from != 0;
        forget_lane(partition, key);
    }
    if (const auto blocked = partition.blocked.find(key)) {
        more = more || blocked->more || blocked->head != head;
        head = std::min(head, blocked->head);
    }
    partition.blocked.set(key, head, more);
}

bool Machine::chain_is_open(const Work& work, std::uint32_t chain) const {
    return any_unsettled(work.deliveries, chain);
}

bool Machine::chain_is_halted(const Work& work, std::uint32_t chain) const {
    return work.halted && any_halting(work.deliveries, chain);
}

bool Machine::predecessor_done(const Work& work, const Delivery& delivery) const {
    const Routes& routes = box_of(work).routes;
    const std::uint32_t predecessor = routes.predecessor(delivery.target);
    if (predecessor == UINT32_MAX) {
        return true;
    }
    const auto found = std::ranges::find_if(
        work.deliveries, [&](const Delivery& other) { return other.target == predecessor; });
    if (found == work.deliveries.end()) {
        return true;  // the message was not for it
    }
    return found->is_settled() &&
           (found->state == Delivery::State::done ||
            routes.targets()[delivery.target].target.after_dead == AfterDead::go_on);
}

bool Machine::predecessor_is_terminal(const Work& work, const Delivery& delivery) const {
    const std::uint32_t predecessor = box_of(work).routes.predecessor(delivery.target);
    return std::ranges::none_of(work.deliveries, [&](const Delivery& other) {
        return other.target == predecessor && !other.is_terminal();
    });
}

/// Puts every delivery of the chain that may run into its target's ready queue.
void Machine::advance(Work& work, std::uint32_t chain) {
    if (!work.entered || work.collapsed || chain_is_halted(work, chain) ||
        work.partition->dropping) {
        return;
    }
    const bool overtakable =
        box_of(work).box->options.lanes == Lanes::exclusive && work.lane_hash != 0;
    bool waits = false;
    for (std::uint32_t i = 0; i < work.deliveries.size(); ++i) {
        const Delivery& delivery = work.deliveries[i];
        // What happened to it must be durable before it happens again.
        if (delivery.chain != chain || !delivery.attached || delivery.queued || delivery.changed ||
            delivery.sent || delivery.state != Delivery::State::ready ||
            !predecessor_done(work, delivery)) {
            continue;
        }
        if (delivery.due > store_now()) {
            if (delivery.timer == 0) {
                set_timer(work, i, delivery.due);
            }
            waits = true;
        } else if (may_run(work, delivery)) {
            push_ready(work, i);
        }
    }
    if (waits && overtakable && work.running == 0) {
        leave_lane(work, chain);
    }
}

/// It has run and is not done. Somebody may have come in before it meanwhile: then the turn is theirs.
void Machine::advance_after_run(Work& work, std::uint32_t chain) {
    advance(work, chain);
    const Lane* lane =
        work.lane_hash == 0 ? nullptr : work.partition->lanes.find(lane_key(work.lane_hash, chain));
    if (lane != nullptr && !lane->queue.empty() && lane->running == 0 &&
        lane->queue.first_sequence() < work.sequence) {
        advance(*lane->queue.front(), chain);
    }
}

/// The lane's turn is its, and no older run of it, or of its lane, is still alive here.
bool Machine::may_run(const Work& work, const Delivery& delivery) const {
    const Partition& partition = *work.partition;
    if (!partition.confirmed ||
        box_of(work).routes.targets()[delivery.target].local == no_executor) {
        return false;
    }
    if (!ghosts_.empty() && ghosts_.contains(delivery_ghost(work.message->id, delivery.target))) {
        return false;
    }
    if (work.lane_hash == 0) {
        return true;
    }
    // All that is before it in its lane must be known, or it is not sure to be the head.
    if (work.unproven != 0 || work.sequence > partition.cursors[delivery.chain]) {
        return false;
    }
    const std::uint64_t key = lane_key(work.lane_hash, delivery.chain);
    if (!ghosts_.empty() && ghosts_.contains(lane_ghost(partition.id, key))) {
        return false;
    }
    const Lane* lane = partition.lanes.find(key);
    if (lane == nullptr || lane->queue.empty() || lane->queue.front() != &work ||
        (lane->skipped_from != 0 && work.sequence >= lane->skipped_from)) {
        return false;
    }
    if (lane->running == 0) {
        return true;
    }
    const auto own = std::ranges::count_if(work.deliveries, [&](const Delivery& other) {
        return other.chain == delivery.chain && other.state == Delivery::State::running;
    });
    return lane->running == static_cast<std::uint32_t>(own);
}

void Machine::set_timer(Work& work, std::uint32_t delivery, StoreTime due) {
    Delivery& of = work.deliveries[delivery];
    clear_timer(of);
    of.timer = ++timer_serial_;
    of.timer_due = due;
    timers_.emplace(std::pair{due, of.timer}, std::pair{&work, delivery});
}

void Machine::clear_timer(Delivery& delivery) {
    if (delivery.timer != 0) {
        timers_.erase({delivery.timer_due, delivery.timer});
        delivery.timer = 0;
    }
}

void Machine::fire_timers() {
    while (!timers_.empty() && timers_.begin()->first.first <= store_now()) {
        const auto [work, index] = timers_.begin()->second;
        Delivery& delivery = work->deliveries[index];
        const std::uint32_t chain = delivery.chain;
        clear_timer(delivery);
        if (!work->entered) {
            enter(*work);
            continue;
        }
        if (box_of(*work).box->options.lanes == Lanes::exclusive) {
            enter_lane(*work, chain);
        }
        advance(*work, chain);
    }
}

StoreTime Machine::row_due(const Work& work) const {
    return earliest_due(work.deliveries, box_of(work).routes, work.halted);
}

}  // namespace waybill::engine
