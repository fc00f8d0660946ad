#include <algorithm>

#include "calls.hpp"
#include "waybill/slot.hpp"

namespace waybill::memory {
namespace {

/// A lease that reaches further than one lease from now was written before the clock stepped back:
/// it must not keep a dead owner alive until the clock has caught up.
bool is_alive(const Instance& instance, StoreTime now) {
    return instance.until > now && instance.until <= later(now, instance.state.lease);
}

const Instance* instance(const Tables& tables, const Uuid& incarnation) {
    const auto found = tables.instances.find(incarnation);
    return found == tables.instances.end() ? nullptr : &found->second;
}

PartitionState::Owner owner_state(const Tables& tables, StoreTime now, const Uuid& owner) {
    using enum PartitionState::Owner;
    if (owner.is_nil()) return none;
    const Instance* row = instance(tables, owner);
    return row != nullptr && is_alive(*row, now) ? alive : dead;
}

bool owns_any(const Tables& tables, const Uuid& incarnation) {
    return std::ranges::any_of(tables.partitions,
                               [&](const Partition& p) { return p.token.owner == incarnation; });
}

/// The dead are listed only while a partition still names them.
void bury(Tables& tables, StoreTime now) {
    std::erase_if(tables.instances, [&](const auto& item) {
        return !is_alive(item.second, now) && !owns_any(tables, item.first);
    });
}

Peer peer(const InstanceState& state) {
    return {.incarnation = state.incarnation,
            .name = state.name,
            .stopping = state.stopping,
            .guest = state.guest,
            .hungry = state.hungry,
            .boxes = state.boxes,
            .executes = state.executes,
            .running = state.running,
            .waiting = state.waiting};
}

void tell_box(const Tables& tables, StoreTime now, const Box& box, BeatReply& reply) {
    if (box.paused) reply.paused_boxes.push_back(box.name);
    for (const PartitionId id : box.partitions) {
        const Partition& partition = tables.partitions[id - 1];
        reply.partitions.push_back({.id = id,
                                    .box = box.name,
                                    .first_slot = partition.first_slot,
                                    .last_slot = partition.last_slot,
                                    .state = owner_state(tables, now, partition.token.owner),
                                    .token = partition.token,
                                    .heir = partition.heir});
    }
}

void create_box(Tables& tables, const BoxDeclaration& declaration) {
    const std::uint32_t asked = declaration.options.partitions;
    const std::uint32_t count = asked == 0 ? tables.options.partitions : asked;
    Box box{.name = declaration.name};
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto id = static_cast<PartitionId>(tables.partitions.size() + 1);
        Partition& partition = tables.partitions.emplace_back();
        partition.id = id;
        partition.box = declaration.name;
        // Slot s belongs to partition s × count / 1,024, rounded down.
        partition.first_slot = (i * slot_count + count - 1) / count;
        partition.last_slot = ((i + 1) * slot_count + count - 1) / count - 1;
        partition.token.generation = generation;
        box.partitions.push_back(id);
    }
    tables.boxes.emplace(declaration.name, std::move(box));
}

Taken hand_over(Tables& tables, StoreTime now, Partition& partition, const Uuid& self) {
    const Uuid previous = partition.token.owner;
    const Instance* row = instance(tables, previous);
    const bool was_stopping = row != nullptr && row->state.stopping;
    const bool unclean = !previous.is_nil() && previous != self && !was_stopping;

    if (partition.unclean_at && now - *partition.unclean_at >= crash_quiet)
        partition.unclean_ends = 0;
    if (unclean) {
        ++partition.unclean_ends;
        partition.unclean_at = now;
    }
    partition.heir = {};
    partition.token = {.owner = self, .epoch = partition.token.epoch + 1, .generation = generation};
    return {.partition = partition.id,
            .token = partition.token,
            .unclean = unclean,
            .unclean_ends = partition.unclean_ends,
            .quiet_for =
                partition.unclean_at ? std::max(now - *partition.unclean_at, Duration{}) : forever};
}

}  // namespace

void declare(Tables& tables, std::span<const BoxDeclaration> boxes,
             std::span<const Target> targets) {
    for (const Target& target : targets) {
        const bool is_new =
            std::ranges::find(boxes, target.box, &BoxDeclaration::name) != boxes.end();
        if (is_new || tables.boxes.contains(target.box)) continue;
        throw StoreError{Reaction::bad_data, "target \"" + target.key + "\": box \"" + target.box +
                                                 "\" is not declared; declare it first"};
    }
    for (const BoxDeclaration& box : boxes) {
        if (!tables.boxes.contains(box.name)) create_box(tables, box);
    }
    for (const Target& target : targets) {
        const auto [place, is_new] = tables.targets.try_emplace({target.box, target.key}, target);
        if (!is_new && place->second == target) continue;
        place->second = target;
        ++tables.registry_version;
    }
}

BeatReply beat(Tables& tables, StoreTime now, const InstanceState& state) {
    if (state.stopping && !owns_any(tables, state.incarnation)) {
        tables.instances.erase(state.incarnation);
    } else {
        tables.instances.insert_or_assign(state.incarnation,
                                          Instance{state, later(now, state.lease)});
    }
    bury(tables, now);

    BeatReply reply{.now = now, .generation = generation};
    for (const auto& [incarnation, row] : tables.instances) {
        if (is_alive(row, now)) reply.peers.push_back(peer(row.state));
    }
    std::ranges::sort(reply.peers, {}, &Peer::incarnation);
    for (const std::string& name : state.boxes) {
        const auto box = tables.boxes.find(name);
        if (box != tables.boxes.end()) tell_box(tables, now, box->second, reply);
    }
    reply.registry_version = tables.registry_version;
    if (tables.registry_version > state.registry_version) {
        for (const auto& [key, target] : tables.targets) {
            if (std::ranges::find(state.boxes, target.box) != state.boxes.end()) {
                reply.registry.push_back(target);
            }
        }
    }
    return reply;
}

std::vector<Taken> take(Tables& tables, StoreTime now, const Uuid& self,
                        std::span<const TakeRequest> wanted) {
    std::vector<Taken> taken;
    for (const TakeRequest& request : wanted) {
        Partition* partition = tables.partition(request.partition);
        if (partition == nullptr || partition->token != request.seen) continue;
        // What the taker saw with its last beat may be old: its owner may have renewed since.
        const bool is_own = partition->token.owner == self;
        const auto owner = owner_state(tables, now, partition->token.owner);
        if (owner == PartitionState::Owner::alive && !is_own) continue;
        taken.push_back(hand_over(tables, now, *partition, self));
    }
    return taken;
}

void give(Tables& tables, std::span<const GiveRequest> partitions) {
    for (const GiveRequest& request : partitions) {
        Partition* partition = tables.partition(request.partition);
        if (partition == nullptr || partition->token != request.token) continue;
        if (partition->token.owner.is_nil()) continue;
        partition->token.owner = {};
        partition->heir = request.heir;
    }
}

}  // namespace waybill::memory
