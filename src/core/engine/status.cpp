#include <algorithm>

#include "core/engine/machine.hpp"

/// What is to be said of it from outside.
namespace waybill::engine {

bool Machine::is_idle() const {
    if (!declared_ || beat_.partitions.empty() || outstanding_ || !takes_.empty() ||
        !gives_.empty() || !runs_.empty() || !dirty_.empty() || !sent_.empty() ||
        !settled_.empty()) {
        return false;
    }
    if (owned_.empty()) {
        return true;
    }
    if (increment_wanted_ || position_.empty() || now_ < channel_after_ || !lane_reads_.empty() ||
        !waiting_commands_.empty() || due_lags()) {
        return false;
    }
    // What a paused box has ready, or a target that rests, waits for others, not for us.
    const auto is_for_us = [&](const auto& turn) {
        const BoxState& box = *boxes_[turn.first];
        return !box.paused && !rests(box.targets[turn.second]);
    };
    if (std::ranges::any_of(rotation_, is_for_us)) {
        return false;
    }
    for (const auto& [id, partition] : owned_) {
        if (!partition->scanned || partition->parked_cursor != tail) {
            return false;
        }
    }
    return timers_.empty() || timers_.begin()->first.first > store_now();
}

Status Machine::status() const {
    Status status;
    status.ready = started_ && !stopping_ && !resigned_ && !late_ && !beat_.peers.empty();
    status.resigned = resigned_;
    status.late = late_;
    status.partitions = static_cast<std::uint32_t>(owned_.size());
    status.window_used = window_used_;
    status.entries = works_;
    status.running = in_flight_;
    status.ghosts = runs_.size() - in_flight_;
    status.unsettled = dirty_.size() + sent_.size() + settled_.size();
    status.reconciled = reconciled_;
    status.in_flight_max = in_flight_limit();
    status.refused = refused();
    for (const auto& [id, partition] : owned_) {
        status.blocked_lanes += partition->blocked.size();
        status.window_used += partition->blocked.bytes();
        const Routes& routes = boxes_[partition->box]->routes;
        for (std::uint32_t chain = 0; chain < partition->cursors.size(); ++chain) {
            if (routes.chain_is_local(chain) && partition->cursors[chain] != tail) {
                ++status.chains_behind;
            }
        }
    }
    return status;
}

}  // namespace waybill::engine
