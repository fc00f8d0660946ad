#include <algorithm>

#include "core/engine/machine.hpp"

/// What may start, in fair turns, within every limit.
namespace waybill::engine {

void Machine::start_runs() {
    follow_families();
    wake_rested();
    rate_tick_ = rests_.first();
    const std::uint32_t limit = in_flight_limit();
    const bool fused = limit != UINT32_MAX;
    if (fused != was_fused_) {
        was_fused_ = fused;
        emit({.kind = Event::Kind::fused, .count = fused ? limit : 0});
    }
    if (!may_start()) {
        return;
    }
    std::size_t fruitless = 0;
    while (fruitless < rotation_.size() && in_flight_ < limit) {
        const TargetPlace place = rotation_.front();
        rotation_.pop_front();
        const bool started = start_one(place.first, place.second, limit);
        const bool stays = take_turn_again(place, started);
        fruitless = started ? 0 : fruitless + (stays ? 1 : 0);
    }
}

bool Machine::start_one(std::uint32_t box_index, std::uint32_t index, std::uint32_t limit) {
    BoxState& box = *boxes_[box_index];
    TargetState& target = box.targets[index];
    const std::uint32_t local = box.routes.targets()[index].local;
    const bool solo = limit == 1;
    if (box.paused || local == no_executor || (solo && (!runs_.empty() || solo_ != nullptr))) {
        return false;
    }
    if (box.box->options.lanes != Lanes::none && due_lags()) {
        return false;  // what it does not know of may come first in its lane
    }
    const TargetOptions& options = target.options;
    if (rests(target) || target.places->free() == 0 || !has_room_for_one({box_index, index}) ||
        !take_rate_token(target, options, box.live)) {
        return false;
    }
    const bool shares = options.calls != Calls::batch && somebody_is_hungry();
    while (!target.ready.empty()) {
        if (shares) {
            target.ready.prefer(&Machine::kept_here);
        }
        const ReadyQueue::Item item = target.ready.pop();
        if (!still_startable(item)) {
            continue;
        }
        if (solo) {
            begin_solo(*item.work, item.delivery);
            return true;
        }
        starting_.assign(1, item);
        if (options.calls == Calls::batch) {
            extend_batch(options, target.ready, starting_);
        }
        launch(box_index, index, starting_);
        return true;
    }
    target.tokens += 1.0;  // nothing started after all
    return false;
}

/// An idle instance asks for work.
bool Machine::somebody_is_hungry() const {
    return std::ranges::any_of(beat_.peers, [&](const Peer& peer) {
        return peer.incarnation != self_ && peer.hungry > 0;
    });
}

/// How much would stay here with it: a partition that runs something cannot be given, so its other
/// work comes first, and what starts last is what others can take.
std::uint64_t Machine::kept_here(const ReadyQueue::Item& item) {
    if (item.work->gone) {
        return 0;
    }
    const Partition& partition = *item.work->partition;
    return partition.running > 0 ? UINT64_MAX : partition.waiting;
}

/// Takes the item out of the books of the ready queue; true if what made it ready still holds.
bool Machine::still_startable(const ReadyQueue::Item& item) {
    Work& work = *item.work;
    --work.queued;
    if (work.gone) {
        if (work.queued == 0) {
            spare_works_.keep(std::move(gone_.extract(&work).mapped()));
        }
        return false;
    }
    Delivery& delivery = work.deliveries[item.delivery];
    delivery.queued = false;
    --work.partition->waiting;
    if (work.collapsed || delivery.state != Delivery::State::ready || !delivery.attached ||
        delivery.changed || delivery.sent || delivery.due > store_now() ||
        !predecessor_done(work, delivery) || !may_run(work, delivery)) {
        advance(work, delivery.chain);  // the store's clock may have stepped back
        return false;
    }
    collapse_if_pointless(work);
    return !work.collapsed;
}

/// More messages of the same type: the following ones of its lane, or others without a lane. One
/// that failed before goes alone, so that a poison cannot take a batch with it for ever.
void Machine::extend_batch(const TargetOptions& options, ReadyQueue& ready,
                           std::vector<ReadyQueue::Item>& items) {
    const Work& first = *items.front().work;
    const Delivery& head = first.deliveries[items.front().delivery];
    const auto alike = [&](const Work& work, std::uint32_t index) {
        return work.partition == first.partition && work.message->type == first.message->type &&
               work.deliveries[index].failures == 0;
    };
    if (head.failures > 0) {
        return;
    }
    if (first.lane_hash == 0) {
        ReadyQueue::Item item;
        const auto accept = [&](const ReadyQueue::Item& next) {
            return next.work->gone ||
                   (next.work->lane_hash == 0 && alike(*next.work, next.delivery));
        };
        while (items.size() < options.batch_max && ready.pop_more(item, accept)) {
            if (still_startable(item)) {
                items.push_back(item);
            }
        }
        return;
    }
    const Routes& routes = box_of(first).routes;
    const bool alone_in_chain =
        std::ranges::count_if(routes.targets(), [&](const RouteTarget& target) {
            return target.chain == head.chain && !target.forgotten;
        }) == 1;
    const Lane& lane = first.partition->lanes.at(lane_key(first.lane_hash, head.chain));
    for (std::size_t i = 1;
         alone_in_chain && i < lane.queue.size() && items.size() < options.batch_max; ++i) {
        Work& work = *lane.queue[i];
        const auto found = std::ranges::find_if(
            work.deliveries, [&](const Delivery& other) { return other.target == head.target; });
        if (found == work.deliveries.end() || found->state != Delivery::State::ready ||
            found->changed || found->sent || found->due > store_now() || work.collapsed ||
            work.unproven != 0 || work.sequence > work.partition->cursors[head.chain] ||
            (lane.skipped_from != 0 && work.sequence >= lane.skipped_from)) {
            return;
        }
        const auto index = static_cast<std::uint32_t>(found - work.deliveries.begin());
        if (!alike(work, index)) {
            return;
        }
        items.push_back({&work, index});
    }
}

/// The mark that it runs alone must be durable before it runs.
void Machine::begin_solo(Work& work, std::uint32_t delivery) {
    solo_ = &work;
    solo_delivery_ = delivery;
    work.solo_epoch = work.partition->token.epoch;
    mark_dirty(work);
}

void Machine::launch_solo() {
    Work& work = *solo_;
    const std::uint32_t index = solo_delivery_;
    solo_ = nullptr;
    const Delivery& delivery = work.deliveries[index];
    if (may_start() && !box_of(work).paused && runs_.empty() &&
        delivery.state == Delivery::State::ready && delivery.attached && may_run(work, delivery) &&
        (work.lane_hash == 0 || !due_lags())) {
        const ReadyQueue::Item item{&work, index};
        launch(work.partition->box, delivery.target, {&item, 1});
        return;
    }
    work.solo_epoch = 0;
    mark_dirty(work);
}

void Machine::launch(std::uint32_t box_index, std::uint32_t index,
                     std::span<const ReadyQueue::Item> items) {
    BoxState& box = *boxes_[box_index];
    TargetState& target = box.targets[index];
    const RouteTarget& route = box.routes.targets()[index];
    const TargetOptions& options = target.options;
    Partition& partition = *items.front().work->partition;
    RunState& run = spare_runs_.insert(runs_, ++last_run_);
    run.box = box_index;
    run.target = index;
    run.partition = partition.id;
    run.message = items.front().work->message->id;
    run.started_at = now_;
    run.deadline = later(now_, options.timeout);
    Run& command = commands_.runs.emplace_back();
    command.id = last_run_;
    command.box = box_index;
    command.target = route.local;
    command.attempts_log = box.box->options.attempts_log;
    if (route.local >= box.box->targets.size()) {
        command.key = route.target.key;
    }
    command.fence = {partition.id, partition.token};
    command.deadline = run.deadline;
    command.items.reserve(items.size());
    for (const ReadyQueue::Item& item : items) {
        Work& work = *item.work;
        Delivery& delivery = work.deliveries[item.delivery];
        delivery.state = Delivery::State::running;
        ++work.running;
        work.inline_running += options.calls == Calls::inline_single ? 1U : 0U;
        if (work.lane_hash != 0) {
            run.lane = lane_key(work.lane_hash, delivery.chain);
            run.in_lane = &partition.lanes.at(run.lane);
            ++run.in_lane->running;
        }
        run.parts.push_back({&work, item.delivery, work.message->id});
        command.items.push_back(
            {work.message, work.sequence, delivery.failures + 1, work.requeues});
        emit(Event::Kind::started, work, route.target.key, {}, delivery.failures + 1);
    }
    ++in_flight_;
    ++target.places->running;
    target.places->busy += target.running == 0 ? 1 : 0;
    ++target.running;
    target.unanswered += target.unanswered < UINT32_MAX ? 1 : 0;
    ++partition.running;
    partition.started = true;
    deadlines_.add(options.timeout, run.deadline, command.id);
    deadlines_.tidy(runs_.size(), [this](RunId id) { return !runs_.contains(id); });
}

bool Machine::may_work() const {
    // Asked in the middle of an event too, before the turn has noticed that the lease ran out.
    return started_ && !stopping_ && !resigned_ && !late_ && !beat_.peers.empty() &&
           now_ < lease_until_;
}

bool Machine::may_start() const {
    return may_work() && !owned_.empty();
}

/// After the second unclean end in a row at most 8 run, after the third one at a time, for the whole
/// instance: only then does a death tell which message was guilty.
std::uint32_t Machine::in_flight_limit() const {
    // What was started alone, and is marked so in the store, stays alone to its end, also when the partition that was the
    // reason for it is given away meanwhile: or a death would blame it for what ran beside it.
    if (runs_.size() == 1 && !runs_.begin()->second.ghost &&
        runs_.begin()->second.parts.front().work->solo_epoch != 0) {
        return 1;
    }
    std::uint32_t ends = 0;
    for (const auto& [id, partition] : owned_) {
        if (now_ < partition->quiet_at) {
            ends = std::max(ends, partition->unclean_ends);
        }
    }
    if (ends >= 3) {
        return 1;
    }
    return ends == 2 ? 8 : std::numeric_limits<std::uint32_t>::max();
}

}  // namespace waybill::engine
