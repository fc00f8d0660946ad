#include "core/engine/roster.hpp"

#include <algorithm>

namespace waybill::engine {
namespace {

bool attends(const Peer& peer, std::string_view box) {
    return std::ranges::find(peer.boxes, box) != peer.boxes.end();
}

bool counts_for(const Peer& peer, std::string_view box) {
    return !peer.guest && !peer.stopping && attends(peer, box);
}

std::uint32_t partitions_of(const BeatReply& beat, std::string_view box) {
    return static_cast<std::uint32_t>(std::ranges::count_if(
        beat.partitions, [&](const PartitionState& partition) { return partition.box == box; }));
}

std::uint32_t owned_by(const BeatReply& beat, const Uuid& instance, std::string_view box) {
    return static_cast<std::uint32_t>(
        std::ranges::count_if(beat.partitions, [&](const PartitionState& partition) {
            return partition.box == box && partition.state == PartitionState::Owner::alive &&
                   partition.token.owner == instance;
        }));
}

/// Rounded up, so that two instances and three partitions do not pass one back and forth.
std::uint32_t share_of(const BeatReply& beat, std::string_view box) {
    const std::uint32_t live = live_instances(beat, box);
    return (partitions_of(beat, box) + live - 1) / live;
}

bool is_alive(const BeatReply& beat, const Uuid& instance) {
    return std::ranges::any_of(beat.peers, [&](const Peer& peer) {
        return peer.incarnation == instance && !peer.stopping;
    });
}

/// Free slots, less what others have given it and it has not taken yet.
std::uint32_t hunger_of(const BeatReply& beat, const Peer& peer) {
    const auto coming = static_cast<std::uint32_t>(
        std::ranges::count_if(beat.partitions, [&](const PartitionState& partition) {
            return partition.state == PartitionState::Owner::none &&
                   partition.heir == peer.incarnation;
        }));
    return peer.hungry - std::min(peer.hungry, coming);
}

bool runs_all(const Peer& peer, std::span<const std::uint64_t> targets) {
    return std::ranges::all_of(targets, [&](std::uint64_t target) {
        return std::ranges::binary_search(peer.executes, target);
    });
}

bool runs_any(const Peer& peer, std::span<const std::uint64_t> targets) {
    return std::ranges::any_of(targets, [&](std::uint64_t target) {
        return std::ranges::binary_search(peer.executes, target);
    });
}

}  // namespace

std::uint32_t live_instances(const BeatReply& beat, std::string_view box) {
    const auto live =
        std::ranges::count_if(beat.peers, [&](const Peer& peer) { return counts_for(peer, box); });
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(live));
}

std::vector<TakeRequest> choose_takes(const BeatReply& beat, const TakeRules& rules,
                                      std::span<const PartitionId> owned, SeenFree& seen_free) {
    using Owner = PartitionState::Owner;
    std::vector<TakeRequest> takes;
    std::map<std::string_view, std::uint32_t> mine;
    for (const PartitionState& partition : beat.partitions) {
        if (std::ranges::find(owned, partition.id) != owned.end()) {
            ++mine[partition.box];
        }
    }
    for (const PartitionState& partition : beat.partitions) {
        if (std::ranges::find(owned, partition.id) != owned.end()) {
            seen_free.erase(partition.id);
            continue;
        }
        // Ours by the store's books but not by ours: an answer was lost. Taking again settles it.
        const bool forgotten =
            partition.state != Owner::none && partition.token.owner == rules.self;
        const bool dead = partition.state == Owner::dead && rules.may_take_dead;
        const bool left_to_us = partition.state == Owner::none && partition.heir == rules.self;
        const bool free = partition.state == Owner::none &&
                          (partition.heir.is_nil() || !is_alive(beat, partition.heir));
        if (!forgotten && !dead && !left_to_us && !free) {
            seen_free.erase(partition.id);
            continue;
        }
        const std::uint32_t beats_free = ++seen_free[partition.id];
        std::uint32_t& count = mine[partition.box];
        const bool within_share = count < share_of(beat, partition.box);
        if (forgotten || left_to_us || rules.guest || within_share || beats_free > 2) {
            takes.push_back({partition.id, partition.token});
            ++count;
        }
    }
    return takes;
}

std::optional<GiveRequest> choose_give(const BeatReply& beat, const Uuid& self,
                                       std::span<const Holding> holdings) {
    for (const Holding& holding : holdings) {
        if (!holding.may_go || holding.busy || holding.foreign.empty()) {
            continue;
        }
        for (const Peer& peer : beat.peers) {
            if (peer.incarnation != self && counts_for(peer, holding.box) &&
                runs_any(peer, holding.foreign)) {
                return GiveRequest{holding.id, holding.token, peer.incarnation};
            }
        }
    }
    for (const Holding& holding : holdings) {
        if (!holding.may_go || holding.busy || !holding.waiting) {
            continue;
        }
        const Peer* hungriest = nullptr;
        for (const Peer& peer : beat.peers) {
            const std::uint32_t hunger = hunger_of(beat, peer);
            if (peer.incarnation != self && counts_for(peer, holding.box) && hunger > 0 &&
                runs_all(peer, holding.executes) &&
                (hungriest == nullptr || hunger > hunger_of(beat, *hungriest))) {
                hungriest = &peer;
            }
        }
        if (hungriest != nullptr) {
            return GiveRequest{holding.id, holding.token, hungriest->incarnation};
        }
    }
    for (const Holding& holding : holdings) {
        const std::uint32_t share = share_of(beat, holding.box);
        if (!holding.may_go || holding.busy || holding.waiting ||
            owned_by(beat, self, holding.box) <= share) {
            continue;
        }
        for (const Peer& peer : beat.peers) {
            if (peer.incarnation != self && counts_for(peer, holding.box) &&
                owned_by(beat, peer.incarnation, holding.box) < share &&
                runs_all(peer, holding.executes)) {
                return GiveRequest{holding.id, holding.token, peer.incarnation};
            }
        }
    }
    return std::nullopt;
}

}  // namespace waybill::engine
