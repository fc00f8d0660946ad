#include <algorithm>

#include "core/engine/machine.hpp"

/// Whose turn it is: who has work, does not rest, and is within its limits; and who waits for a place.
namespace waybill::engine {

/// A handler has a thread, a request has none: unless a box says otherwise there are few places for handlers, in each
/// box, and many for requests, in all boxes together.
void Machine::give_places(BoxState& box) {
    const std::uint32_t said = box.box->options.concurrency;
    TargetFamily* const family = box.box->family;
    box.places.limit = said != 0 ? said : handlers_at_once;
    if (family == nullptr) {
        return;
    }
    box.requests = &box.places;
    if (said == 0) {
        box.requests = &requests_[family];
        box.requests->limit = std::max(1U, family->at_once());
    }
}

void Machine::push_ready(Work& work, std::uint32_t delivery) {
    Delivery& of = work.deliveries[delivery];
    of.queued = true;
    ++work.queued;
    ++work.partition->waiting;
    box_of(work).targets[of.target].ready.push(work, delivery);
    join_rotation(work.partition->box, of.target);
}

void Machine::join_rotation(std::uint32_t box, std::uint32_t index) {
    TargetState& target = boxes_[box]->targets[index];
    if (!target.in_rotation && !target.ready.empty() && !rests(target) &&
        has_room_for_one({box, index})) {
        target.in_rotation = true;
        // Behind those that wait: whoever has just ended a run would come first for ever.
        auto& waiting = target.places->waiting;
        (waiting.empty() ? rotation_ : waiting).emplace_back(box, index);
    }
}

bool Machine::rests(const TargetState& target) const {
    return target.options.held || now_ < target.rests_until;
}

/// After it had its turn. True: it is still in the rotation, and another one will come round to it.
bool Machine::take_turn_again(TargetPlace place, bool started) {
    TargetState& target = boxes_[place.first]->targets[place.second];
    Places& places = *target.places;
    // One that is full comes back when a run of it ends.
    target.in_rotation = !target.ready.empty() && !rests(target) && has_room_for_one(place);
    const bool waits = places.free() == 0 || (started && !places.waiting.empty());
    if (target.in_rotation) {
        (waits ? places.waiting : rotation_).push_back(place);
    }
    wake_waiting(places);
    return target.in_rotation && !waits;
}

/// One at a time: its turn wakes the next, as long as there is room.
void Machine::wake_waiting(Places& places) {
    if (places.free() > 0 && !places.waiting.empty()) {
        rotation_.push_back(places.waiting.front());
        places.waiting.pop_front();
    }
}

/// There is room for another.
void Machine::run_ended(const RunState& run) {
    TargetState& target = boxes_[run.box]->targets[run.target];
    --in_flight_;
    --target.running;
    --target.places->running;
    target.places->busy -= target.running == 0 ? 1 : 0;
    join_rotation(run.box, run.target);
    wake_waiting(*target.places);
    wake_bound(*target.places);
}

/// There are places enough again: one of those that had their share, for each run that ends.
void Machine::wake_bound(Places& places) {
    if (places.bound.empty() || places.share()) {
        return;
    }
    const auto [box, index] = places.bound.front();
    places.bound.pop_front();
    boxes_[box]->targets[index].is_bound = false;
    join_rotation(box, index);
}

/// The registry may have brought targets, and their options with them.
void Machine::follow_routes(BoxState& box) {
    const std::vector<RouteTarget>& routes = box.routes.targets();
    const std::vector<LocalTarget>& locals = box.box->targets;
    for (std::size_t i = box.targets.size(); i < routes.size(); ++i) {
        TargetState& target = box.targets.emplace_back();
        target.is_subscription = routes[i].local != no_executor && routes[i].local >= locals.size();
        target.places = target.is_subscription ? box.requests : &box.places;
        if (routes[i].local < locals.size()) {
            target.options = locals[routes[i].local].options;
        } else if (routes[i].local != no_executor) {
            target.options = box.box->family->options_of(routes[i].target.key);
        }
    }
    box.chain_bytes.resize(box.routes.chains());
}

void Machine::follow_families() {
    for (std::uint32_t index = 0; index < boxes_.size(); ++index) {
        BoxState& box = *boxes_[index];
        TargetFamily* const family = box.box->family;
        if (family == nullptr || family->version() == box.family_version) {
            continue;
        }
        box.family_version = family->version();
        // Whoever changed it may have registered it too, and may have mended what made one rest.
        next_beat_ = std::min(next_beat_, now_);
        for (std::uint32_t i = 0; i < box.targets.size(); ++i) {
            const RouteTarget& route = box.routes.targets()[i];
            if (route.local != no_executor && route.local >= box.box->targets.size()) {
                box.targets[i].options = family->options_of(route.target.key);
                box.targets[i].rests_until = LocalTime::min();
                join_rotation(index, i);
            }
        }
    }
}

void Machine::wake_rested() {
    while (const auto rested = rests_.pop(now_)) {
        join_rotation(rested->first, rested->second);
    }
}

/// By its own limit; and as one of many that have to leave room for each other: one that answers gets places as it
/// gives them back, and more with every answer; one that hangs keeps a share and no more.
bool Machine::has_room_for_one(TargetPlace place) {
    const BoxState& box = *boxes_[place.first];
    TargetState& target = boxes_[place.first]->targets[place.second];
    const std::uint32_t limit = target.options.concurrency;
    if (limit != 0 && target.running >= std::max<std::uint32_t>(1, limit / box.live)) {
        return false;
    }
    const auto share = target.is_subscription ? target.places->share() : std::nullopt;
    if (!share || target.running < *share || target.unanswered < std::max(2U, *share)) {
        return true;
    }
    // Nothing of its own need end before others leave it more.
    if (!target.is_bound) {
        target.is_bound = true;
        target.places->bound.push_back(place);
    }
    return false;
}

/// A token bucket of a tenth of a second, so that a limit holds over any second.
bool Machine::take_rate_token(TargetState& target, const TargetOptions& options,
                              std::uint32_t live) {
    if (options.rate <= 0.0) {
        target.tokens = 1.0;
        return true;
    }
    const double rate = options.rate / static_cast<double>(live);
    const double elapsed = std::chrono::duration<double>(now_ - target.refilled_at).count();
    target.tokens = std::min(1.0 + rate * 0.1, target.tokens + std::max(0.0, elapsed) * rate);
    target.refilled_at = now_;
    if (target.tokens < 1.0) {
        const double wait = (1.0 - target.tokens) / rate;
        rate_tick_ = std::min(
            rate_tick_, now_ + std::chrono::ceil<Duration>(std::chrono::duration<double>(wait)));
        return false;
    }
    target.tokens -= 1.0;
    return true;
}

}  // namespace waybill::engine
