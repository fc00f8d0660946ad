#include "shelf.hpp"

#include <algorithm>

#include <waybill/slot.hpp>
#include <waybill/system.hpp>

using namespace waybill;

namespace {

StoreTime time_now() {
    return system_clock().wall();
}

/// Another history of the same store (a restored backup, a promoted standby) has another name.
constexpr const char* generation = "shelf";

}  // namespace

// [capabilities]
Capabilities Shelf::capabilities() const {
    return {.many_instances = true, .survives_restart = false, .default_partitions = 1};
}
// [/capabilities]

// [append]
std::vector<AppendResult> Shelf::append(std::span<const Append> batch) {
    std::vector<AppendResult> results;
    std::function<void()> wake;
    {
        const std::lock_guard transaction{mutex_};
        const StoreTime now = time_now();
        for (const Append& item : batch) results.push_back(append_one(item, now));
        wake = wake_;
    }
    if (wake) wake();  // After the commit, never before it.
    return results;
}

AppendResult Shelf::append_one(const Append& item, StoreTime now) {
    const Message& message = *item.message;
    const auto key = std::pair{item.dedup_scope, message.dedup_key};
    if (!message.dedup_key.empty()) {
        const auto known = dedup_.find(key);
        if (known != dedup_.end() && known->second.until > now) {
            const bool same = known->second.body_hash == item.body_hash;
            return {
                .status = same ? AppendResult::Status::duplicate : AppendResult::Status::conflict,
                .id = known->second.id};
        }
        dedup_[key] = {message.id, item.body_hash, later(now, item.dedup_window)};
    }
    const auto partition = std::ranges::find(partitions_, message.box, &Partition::box);
    Entry row{.partition = static_cast<PartitionId>(partition - partitions_.begin() + 1),
              .sequence = ++last_sequence_,
              .message = item.message,
              .due = message.not_before};
    const AppendResult result{
        .id = message.id, .sequence = row.sequence, .partition = row.partition};
    rows_.emplace(row.sequence, std::move(row));
    return result;
}
// [/append]

void Shelf::declare(std::span<const BoxDeclaration> boxes, std::span<const Target> targets) {
    const std::lock_guard transaction{mutex_};
    for (const BoxDeclaration& box : boxes) {
        const bool is_known =
            std::ranges::find(partitions_, box.name, &Partition::box) != partitions_.end();
        if (!is_known) partitions_.push_back({box.name, Token{.generation = generation}});
    }
    for (const Target& target : targets) {
        const auto known = std::ranges::find_if(registry_, [&](const Target& other) {
            return other.box == target.box && other.key == target.key;
        });
        if (known != registry_.end() && *known == target) continue;
        if (known != registry_.end()) registry_.erase(known);
        registry_.push_back(target);
        ++registry_version_;
    }
}

PartitionState::Owner Shelf::owner_state(const Uuid& owner, StoreTime now) {
    if (owner.is_nil()) return PartitionState::Owner::none;
    const auto instance = instances_.find(owner);
    const bool is_alive = instance != instances_.end() && instance->second.alive_until > now;
    return is_alive ? PartitionState::Owner::alive : PartitionState::Owner::dead;
}

// [beat]
BeatReply Shelf::beat(const InstanceState& state) {
    const std::lock_guard transaction{mutex_};
    const StoreTime now = time_now();
    const bool owns_any = std::ranges::any_of(partitions_, [&](const Partition& partition) {
        return partition.token.owner == state.incarnation;
    });
    if (state.stopping && !owns_any) {
        instances_.erase(state.incarnation);
    } else {
        instances_[state.incarnation] = {state, later(now, state.lease)};
    }

    BeatReply reply{.now = now, .generation = generation};
    for (const auto& [incarnation, instance] : instances_) {
        if (instance.alive_until <= now) continue;
        const InstanceState& is = instance.state;
        reply.peers.push_back({is.incarnation, is.name, is.stopping, is.guest, is.hungry, is.boxes,
                               is.executes, is.running, is.waiting});
    }
    for (PartitionId id = 1; id <= partitions_.size(); ++id) {
        const Partition& partition = partitions_[id - 1];
        if (std::ranges::find(state.boxes, partition.box) == state.boxes.end()) continue;
        reply.partitions.push_back({.id = id,
                                    .box = partition.box,
                                    .last_slot = slot_count - 1,
                                    .state = owner_state(partition.token.owner, now),
                                    .token = partition.token});
    }
    reply.registry_version = registry_version_;
    if (registry_version_ > state.registry_version) reply.registry = registry_;
    return reply;
}
// [/beat]

// [take]
std::vector<Taken> Shelf::take(const Uuid& self, std::span<const TakeRequest> wanted) {
    const std::lock_guard transaction{mutex_};
    std::vector<Taken> taken;
    for (const TakeRequest& request : wanted) {
        Token& token = partitions_.at(request.partition - 1).token;
        // What the taker saw may be a second old: ask again.
        if (token != request.seen) continue;
        const auto owner = owner_state(token.owner, time_now());
        if (owner == PartitionState::Owner::alive && token.owner != self) continue;
        const bool unclean = owner == PartitionState::Owner::dead;
        token = {self, token.epoch + 1, generation};
        taken.push_back({.partition = request.partition,
                         .token = token,
                         .unclean = unclean,
                         .unclean_ends = unclean ? 1U : 0U});
    }
    return taken;
}

void Shelf::give(std::span<const GiveRequest> partitions) {
    const std::lock_guard transaction{mutex_};
    for (const GiveRequest& request : partitions) {
        Token& token = partitions_.at(request.partition - 1).token;
        if (token == request.token) token.owner = {};
    }
}
// [/take]

// [read]
ReadPage Shelf::read(const ReadRequest& request) {
    const std::lock_guard transaction{mutex_};
    ReadPage page{.generation = generation, .now = time_now()};
    const auto among = [](const auto& list, PartitionId id) {
        return std::ranges::find(list, id) != list.end();
    };
    // The mutex makes the sequence the order of commit, so a position is the last sequence seen. In
    // a database it is not: see docs/guides/writing-a-store.md.
    const Sequence seen = request.position.empty() ? last_sequence_ : std::stoll(request.position);
    const auto wants = [&](const Entry& row) {
        switch (request.kind) {
            case ReadRequest::Kind::increment:
                return !row.parked && among(request.partitions, row.partition) &&
                       row.sequence > seen;
            case ReadRequest::Kind::scan:
                return !row.parked && row.partition == request.partition &&
                       row.sequence > request.after;
            case ReadRequest::Kind::parked:
                return row.parked && row.partition == request.partition &&
                       row.sequence > request.after;
            case ReadRequest::Kind::due:
                return !row.parked && among(request.partitions, row.partition) &&
                       std::pair{row.due, row.sequence} >
                           std::pair{request.due_from, request.after} &&
                       row.due <= request.due_until;
            case ReadRequest::Kind::lanes: return false;
        }
        return false;
    };
    std::vector<Entry> found;
    for (const auto& [sequence, row] : rows_) {
        if (wants(row)) found.push_back(row);
    }
    for (const LaneRef& lane : request.lanes) {
        std::uint32_t left = request.lane_rows;
        for (auto row = rows_.lower_bound(lane.from); row != rows_.end() && left > 0; ++row) {
            const Entry& entry = row->second;
            if (entry.parked || entry.message->lane != lane.lane) continue;
            found.push_back(entry);
            --left;
        }
    }
    if (request.kind == ReadRequest::Kind::due) {
        std::ranges::sort(found, {}, [](const Entry& row) {
            return std::pair{row.due, row.sequence};
        });
    }
    page.more = found.size() > request.rows_max;
    if (page.more) found.resize(request.rows_max);
    page.position = std::to_string(page.more ? found.back().sequence : last_sequence_);
    page.entries = std::move(found);
    return page;
}
// [/read]

bool Shelf::holds(const Fence& fence) const {
    return partitions_.at(fence.partition - 1).token == fence.token;
}

// [settle]
SettleReply Shelf::settle(const SettleBatch& batch) {
    const std::lock_guard transaction{mutex_};
    if (batch.registry_version < registry_version_) return {.registry_stale = true};
    SettleReply reply;
    for (const Fence& fence : batch.fences) {
        if (!holds(fence)) reply.lost.push_back(fence.partition);
    }
    for (const Settlement& item : batch.items) {
        const bool is_lost = std::ranges::find(reply.lost, item.partition) != reply.lost.end();
        if (!is_lost) apply(item);
    }
    return reply;
}

/// Absolute values: applying them twice is applying them once.
void Shelf::apply(const Settlement& item) {
    const auto found = rows_.find(item.sequence);
    if (found == rows_.end()) return;  // Applied before; its answer was lost.
    for (const DeadLetter& letter : item.dead) dead_.insert({letter.message, letter.target});
    if (item.finish) {
        rows_.erase(found);
        return;
    }
    Entry& row = found->second;
    for (const Progress& change : item.progress) {
        const auto known = std::ranges::find(row.progress, change.target, &Progress::target);
        if (known == row.progress.end()) {
            row.progress.push_back(change);
        } else {
            *known = change;
        }
    }
    row.due = item.due;
    row.halted = item.halted;
    row.parked = item.parked;
    row.strikes = item.strikes;
    row.solo_epoch = item.solo_epoch;
    row.requeues = item.requeues;
}
// [/settle]

void Shelf::on_wake(std::function<void()> wake) {
    const std::lock_guard transaction{mutex_};
    wake_ = std::move(wake);
}

std::size_t Shelf::open_rows() {
    const std::lock_guard transaction{mutex_};
    return rows_.size();
}

std::size_t Shelf::dead_letters() {
    const std::lock_guard transaction{mutex_};
    return dead_.size();
}
