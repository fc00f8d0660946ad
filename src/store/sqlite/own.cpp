#include <algorithm>

#include "calls.hpp"
#include "pack.hpp"
#include "waybill/slot.hpp"

namespace waybill::sqlite {
namespace {

/// As many as fit into the place of a row.
constexpr std::int64_t kPartitionsMax = 65'535;

PartitionState::Owner owner_state(const Uuid& owner, const Instances& instances) {
    using enum PartitionState::Owner;
    if (owner.is_nil()) return none;
    return instances.is_alive(owner) ? alive : dead;
}

/// A partition as it is in the file.
struct PartitionRow {
    Token token{};
    bool stopping = false;
    std::uint32_t unclean_ends = 0;
    std::optional<StoreTime> unclean_at{};
};

std::optional<PartitionRow> partition_row(Session& session, PartitionId id) {
    const std::string& generation = session.generation();
    Rows rows = session.db.query(sql::partition_row, id);
    if (!rows.next()) return std::nullopt;
    PartitionRow row{.token = {rows.uuid(0), rows.number<std::uint64_t>(1), generation},
                     .stopping = rows.flag(2),
                     .unclean_ends = rows.number<std::uint32_t>(3)};
    if (!rows.is_null(4)) row.unclean_at = rows.time(4);
    return row;
}

void create_box(Session& session, const BoxDeclaration& box, std::uint32_t default_partitions) {
    session.db.execute(sql::insert_box, box.name, box.options.dedup_window,
                       box.options.body_bytes_max);
    const std::int64_t id = session.db.last_row();
    const std::uint32_t asked = box.options.partitions;
    const std::uint32_t count = asked == 0 ? default_partitions : asked;
    for (std::uint32_t i = 0; i < count; ++i) {
        // Slot s belongs to partition s × count / 1,024, rounded down.
        const std::uint32_t first_slot = (i * slot_count + count - 1) / count;
        const std::uint32_t last_slot = ((i + 1) * slot_count + count - 1) / count - 1;
        session.db.execute(sql::insert_partition, id, first_slot, last_slot, Uuid{});
        if (session.db.last_row() <= kPartitionsMax) continue;
        throw StoreError{Reaction::bad_data, "box \"" + box.name +
                                                 "\": the file has 65,535 partitions already; use "
                                                 "fewer per box, or another file"};
    }
}

/// The six columns of a target from `first` on.
Target read_target(const Rows& rows, std::string box, std::string key, int first) {
    return {.box = std::move(box),
            .key = std::move(key),
            .matcher = {rows.string(first), rows.string(first + 1), rows.string(first + 2)},
            .legacy_keys = unpack_texts(rows.bytes(first + 3)),
            .after = rows.string(first + 4),
            .after_dead = static_cast<AfterDead>(rows.integer(first + 5))};
}

bool is_registered(Database& db, std::int64_t box, const Target& target) {
    Rows rows = db.query(sql::target_row, box, target.key);
    return rows.next() && read_target(rows, target.box, target.key, 0) == target;
}

void register_target(Session& session, const Target& target) {
    const BoxRow* box = session.box(target.box);
    if (box == nullptr) {
        throw StoreError{Reaction::bad_data, "target \"" + target.key + "\": box \"" + target.box +
                                                 "\" is not declared; declare it first"};
    }
    if (is_registered(session.db, box->id, target)) return;
    const std::string legacy_keys = pack(target.legacy_keys);
    session.db.execute(sql::put_target, box->id, target.key, target.matcher.type,
                       target.matcher.source, target.matcher.tenant, OptionalBlob{legacy_keys},
                       target.after, target.after_dead);
    session.db.execute(sql::next_registry_version);
}

void tell_box(Session& session, const std::string& name, const Instances& instances,
              BeatReply& reply) {
    Rows rows = session.db.query(sql::box_state, name);
    bool is_paused = false;
    while (rows.next()) {
        is_paused = rows.flag(6);
        const Uuid owner = rows.uuid(3);
        reply.partitions.push_back(
            {.id = rows.number<PartitionId>(0),
             .box = name,
             .first_slot = rows.number<std::uint32_t>(1),
             .last_slot = rows.number<std::uint32_t>(2),
             .state = owner_state(owner, instances),
             .token = {owner, rows.number<std::uint64_t>(4), reply.generation},
             .heir = rows.uuid(5)});
    }
    if (is_paused) reply.paused_boxes.push_back(name);
}

Taken hand_over(Session& session, StoreTime now, PartitionId id, PartitionRow row,
                const Uuid& self) {
    const Uuid& previous = row.token.owner;
    const bool unclean = !previous.is_nil() && previous != self && !row.stopping;
    if (row.unclean_at && now - *row.unclean_at >= crash_quiet) row.unclean_ends = 0;
    if (unclean) {
        ++row.unclean_ends;
        row.unclean_at = now;
    }
    const Token token{self, row.token.epoch + 1, row.token.generation};
    session.db.execute(sql::take_partition, id, self, token.epoch, Uuid{}, row.unclean_ends,
                       row.unclean_at);
    return {.partition = id,
            .token = token,
            .unclean = unclean,
            .unclean_ends = row.unclean_ends,
            .quiet_for = row.unclean_at ? std::max(now - *row.unclean_at, Duration{}) : forever};
}

}  // namespace

void declare(Session& session, std::span<const BoxDeclaration> boxes,
             std::span<const Target> targets, std::uint32_t default_partitions) {
    for (const BoxDeclaration& box : boxes) {
        if (session.box(box.name) == nullptr) {
            create_box(session, box, default_partitions);
        } else {
            session.db.execute(sql::update_box, box.name, box.options.dedup_window,
                               box.options.body_bytes_max);
        }
    }
    for (const Target& target : targets) register_target(session, target);
}

BeatReply beat(Session& session, StoreTime now, const InstanceState& state,
               const Instances& instances) {
    const ReadTransaction snapshot{session.db};
    const StoreRow store = store_row(session.db);
    BeatReply reply{.now = now,
                    .generation = store.generation,
                    .peers = instances.peers(),
                    .registry_version = store.registry_version};
    for (const std::string& name : state.boxes) tell_box(session, name, instances, reply);
    if (store.registry_version > state.registry_version) {
        reply.registry = targets(session.db);
        std::erase_if(reply.registry, [&](const Target& target) {
            return std::ranges::find(state.boxes, target.box) == state.boxes.end();
        });
    }
    return reply;
}

std::vector<Taken> take(Session& session, StoreTime now, const Uuid& self,
                        std::span<const TakeRequest> wanted, const Instances& instances) {
    std::vector<Taken> taken;
    for (const TakeRequest& request : wanted) {
        const auto row = partition_row(session, request.partition);
        if (!row || row->token != request.seen) continue;
        // What the taker saw with its last beat may be old: its owner may have come since.
        const bool is_own = row->token.owner == self;
        const auto owner = owner_state(row->token.owner, instances);
        if (owner == PartitionState::Owner::alive && !is_own) continue;
        taken.push_back(hand_over(session, now, request.partition, *row, self));
    }
    return taken;
}

void give(Session& session, std::span<const GiveRequest> partitions) {
    for (const GiveRequest& request : partitions) {
        const auto row = partition_row(session, request.partition);
        if (!row || row->token != request.token || row->token.owner.is_nil()) continue;
        session.db.execute(sql::give_partition, request.partition, Uuid{}, request.heir);
    }
}

std::vector<Target> targets(Database& db) {
    std::vector<Target> all;
    Rows rows = db.query(sql::list_targets);
    while (rows.next()) all.push_back(read_target(rows, rows.string(0), rows.string(1), 2));
    return all;
}

bool forget_target(Session& session, const std::string& box, const std::string& key) {
    if (session.db.execute(sql::delete_target, box, key) == 0) return false;
    session.db.execute(sql::next_registry_version);
    return true;
}

bool holds(Session& session, const Fence& fence) {
    const auto row = partition_row(session, fence.partition);
    return row && row->token == fence.token;
}

}  // namespace waybill::sqlite
