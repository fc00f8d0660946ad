#include <algorithm>

#include "simulation/sim_store.hpp"

namespace waybill::sim {

bool SimStore::is_alive(const Uuid& incarnation, bool honest) const {
    auto row = db_.instances.find(incarnation);
    if (row == db_.instances.end()) return false;
    if (is(Mutation::renewal_by_name) && !honest) {
        const std::string& name = row->second.state.name;
        for (auto other = db_.instances.begin(); other != db_.instances.end(); ++other) {
            const bool is_later = other->second.until > row->second.until;
            if (is_later && other->second.state.name == name) row = other;
        }
    }
    Duration lease = row->second.state.lease;
    StoreTime until = row->second.until;
    if (until > clock(now_) + lease) return false;  // the clock went back: void
    if (is(Mutation::lease_too_short) && !honest) until -= lease - lease / 8;
    return clock(now_) < until;
}

Duration SimStore::free_at(PartitionId partition, bool exclusive) const {
    const auto lock = locks_.find(partition);
    if (lock == locks_.end()) return {};
    const Duration until = exclusive
                               ? std::max(lock->second.exclusive_until, lock->second.shared_until)
                               : lock->second.exclusive_until;
    return until >= now_ ? until : Duration{};  // its holder may end in this very moment
}

PartitionState SimStore::describe(const PartitionRow& row) const {
    using enum PartitionState::Owner;
    return {.id = row.id,
            .box = row.box,
            .first_slot = row.first_slot,
            .last_slot = row.last_slot,
            .state = row.token.owner.is_nil()    ? none
                     : is_alive(row.token.owner) ? alive
                                                 : dead,
            .token = row.token,
            .heir = row.heir};
}

Duration SimStore::beat_waits_until(const Uuid& incarnation) const {
    const auto lock = liveness_.find(incarnation);
    return lock != liveness_.end() && lock->second >= now_ ? lock->second : Duration{};
}

BeatReply SimStore::beat(const InstanceState& state) {
    const bool owns =
        std::any_of(db_.partitions.begin(), db_.partitions.end(),
                    [&](const auto& row) { return row.second.token.owner == state.incarnation; });
    if (state.stopping && !owns) {
        db_.instances.erase(state.incarnation);
    } else {
        db_.instances[state.incarnation] = {.state = state,
                                            .until = later(clock(now_), state.lease)};
    }
    BeatReply reply{.now = clock(now_), .generation = generation()};
    reply.registry_version = db_.registry_version;
    const auto attends = [&](const std::string& box) {
        return std::find(state.boxes.begin(), state.boxes.end(), box) != state.boxes.end();
    };
    for (const auto& [id, row] : db_.instances) {
        if (!is_alive(id)) continue;
        const InstanceState& peer = row.state;
        reply.peers.push_back({.incarnation = id,
                               .name = peer.name,
                               .stopping = peer.stopping,
                               .guest = peer.guest,
                               .hungry = peer.hungry,
                               .boxes = peer.boxes,
                               .executes = peer.executes,
                               .running = peer.running,
                               .waiting = peer.waiting});
    }
    for (const auto& [id, row] : db_.partitions) {
        if (attends(row.box)) reply.partitions.push_back(describe(row));
    }
    for (const std::string& box : db_.paused) {
        if (attends(box)) reply.paused_boxes.push_back(box);
    }
    if (db_.registry_version > state.registry_version) {
        for (const Target& target : db_.registry) {
            if (attends(target.box)) reply.registry.push_back(target);
        }
    }
    return reply;
}

Duration SimStore::take_waits_until(std::span<const TakeRequest> wanted) const {
    Duration until{};
    for (const TakeRequest& want : wanted) until = std::max(until, free_at(want.partition, true));
    return until;
}

SimStore::TakeTicket SimStore::begin_take(const Uuid& self, std::span<const TakeRequest> wanted,
                                          Duration hold) {
    TakeTicket ticket{.timeline = timeline_, .self = self, .begun = now_};
    for (const TakeRequest& want : wanted) {
        const auto found = db_.partitions.find(want.partition);
        if (found == db_.partitions.end()) continue;
        const PartitionRow& row = found->second;
        const Uuid& owner = row.token.owner;
        const bool is_mine = owner == self;
        if (row.token != want.seen || (!owner.is_nil() && !is_mine && is_alive(owner))) continue;

        const auto previous = db_.instances.find(owner);
        const bool was_stopping =
            previous != db_.instances.end() && previous->second.state.stopping;
        const bool is_unclean = !owner.is_nil() && !is_mine && !was_stopping;
        Taken taken{
            .partition = row.id,
            .token = {.owner = self, .epoch = row.token.epoch + 1, .generation = generation()},
            .unclean = is_unclean};
        const bool was_quiet =
            row.unclean_ends == 0 || clock(now_) - row.last_unclean >= crash_quiet;
        taken.unclean_ends = (was_quiet ? 0 : row.unclean_ends) + (is_unclean ? 1 : 0);
        taken.quiet_for = is_unclean              ? Duration{}
                          : row.unclean_ends == 0 ? forever
                                                  : clock(now_) - row.last_unclean;
        ticket.granted.push_back(taken);
        Lock& lock = locks_[row.id];
        lock.exclusive_until = std::max(lock.exclusive_until, now_ + hold);
        if (!owner.is_nil() && !is(Mutation::takeover_beside_renewal)) {
            Duration& until = liveness_[owner];
            until = std::max(until, now_ + hold);
        }
    }
    return ticket;
}

void SimStore::blame(PartitionId partition) {
    for (auto& [sequence, row] : db_.open[partition]) {
        if (is(Mutation::crash_blames_all)) ++row.entry.strikes;
        if (!is(Mutation::crash_counts_as_failure)) continue;
        for (const Target& target : db_.registry) {
            if (target.box != row.entry.message->box ||
                !matches(target.matcher, *row.entry.message)) {
                continue;
            }
            Progress* progress = find_progress(row.entry.progress, target.key);
            if (progress == nullptr) {
                row.entry.progress.push_back({.target = target.key});
                progress = &row.entry.progress.back();
            }
            if (progress->state == Progress::State::ready) ++progress->failures;
        }
    }
}

std::optional<std::vector<Taken>> SimStore::finish_take(const TakeTicket& ticket) {
    if (ticket.timeline != timeline_) return std::nullopt;
    for (const Taken& taken : ticket.granted) {
        PartitionRow& row = db_.partitions.at(taken.partition);
        const PartitionRow before = row;
        const bool held = before.token.owner != ticket.self && is_alive(before.token.owner, true);
        row.token = taken.token;
        row.heir = {};
        row.unclean_ends = taken.unclean_ends;
        if (taken.unclean) {
            row.last_unclean = clock(now_);
            blame(taken.partition);
        }
        witness_.on_taken(before, taken, held, ticket.begun);
    }
    return ticket.granted;
}

Duration SimStore::give_waits_until(std::span<const GiveRequest> partitions) const {
    Duration until{};
    for (const GiveRequest& give : partitions)
        until = std::max(until, free_at(give.partition, true));
    return until;
}

void SimStore::give(std::span<const GiveRequest> partitions) {
    for (const GiveRequest& give : partitions) {
        const auto found = db_.partitions.find(give.partition);
        if (found == db_.partitions.end() ||
            !matches_fence({.partition = give.partition, .token = give.token})) {
            continue;
        }
        const PartitionRow before = found->second;
        found->second.token.owner = {};
        found->second.token.generation = generation();
        found->second.heir = give.heir;
        witness_.on_given(before, give);
    }
}

}  // namespace waybill::sim
