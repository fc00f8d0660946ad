#include <algorithm>
#include <map>

#include "calls.hpp"
#include "migrate.hpp"

namespace waybill::postgres {
namespace {

constexpr std::size_t kRunningColumns = 3;

std::vector<std::string> running_texts(const std::vector<RunningDelivery>& running) {
    std::vector<std::string> texts;
    for (const RunningDelivery& delivery : running) {
        texts.push_back(to_string(delivery.message));
        texts.push_back(delivery.target);
        texts.push_back(std::to_string(delivery.since.count()));
    }
    return texts;
}

std::vector<RunningDelivery> running_of(const std::vector<std::string>& texts) {
    std::vector<RunningDelivery> all;
    for (std::size_t i = 0; i + kRunningColumns <= texts.size(); i += kRunningColumns) {
        all.push_back({parse_uuid(texts[i]).value_or(Uuid{}), texts[i + 1],
                       Duration{std::stoll(texts[i + 2])}});
    }
    return all;
}

void renew(Database& db, const InstanceState& state, std::optional<std::int32_t> listener) {
    Longs executes;
    for (const std::uint64_t number : state.executes) executes.add(number);
    db.write(sql::put_instance, state.incarnation, state.lease, state.stopping, state.name,
             state.guest, std::int64_t{state.hungry}, texts_of(state.boxes), executes,
             texts_of(running_texts(state.running)), static_cast<std::int64_t>(state.waiting),
             static_cast<std::int32_t>(newest_migration()), listener, state.refused);
}

bool owns_any(Database& db, const Uuid& incarnation) {
    Rows rows = db.read(sql::owns_any, incarnation);
    return rows.next() && rows.flag(0);
}

std::vector<Peer> peers(Database& db) {
    std::vector<Peer> all;
    Rows rows = db.read(sql::living_instances);
    while (rows.next()) {
        all.push_back({.incarnation = rows.uuid(0),
                       .name = rows.string(1),
                       .stopping = rows.flag(2),
                       .guest = rows.flag(3),
                       .hungry = rows.number<std::uint32_t>(4),
                       .boxes = rows.texts(5),
                       .executes = decode_numbers(rows.bytes(6)),
                       .running = running_of(rows.texts(7)),
                       .waiting = rows.number<std::uint64_t>(8)});
    }
    return all;
}

void tell_boxes(Database& db, const std::vector<std::string>& boxes, BeatReply& reply) {
    Rows rows = db.read(sql::box_states, texts_of(boxes));
    while (rows.next()) {
        using enum PartitionState::Owner;
        const Uuid owner = rows.uuid(4);
        const std::string box = rows.string(1);
        const bool is_paused = rows.flag(7);
        if (is_paused && (reply.paused_boxes.empty() || reply.paused_boxes.back() != box)) {
            reply.paused_boxes.push_back(box);
        }
        reply.partitions.push_back(
            {.id = rows.number<PartitionId>(0),
             .box = box,
             .first_slot = rows.number<std::uint32_t>(2),
             .last_slot = rows.number<std::uint32_t>(3),
             .state = owner.is_nil() ? none
                      : rows.flag(8) ? alive
                                     : dead,
             .token = {owner, rows.number<std::uint64_t>(5), reply.generation},
             .heir = rows.uuid(6)});
    }
}

/// A partition as it is now, locked.
struct PartitionRow {
    Uuid owner{};
    std::uint64_t epoch = 0;
    std::uint32_t unclean_ends = 0;
    std::optional<StoreTime> unclean_at{};
};

std::map<PartitionId, PartitionRow> lock_partitions(Database& db,
                                                    std::span<const TakeRequest> wanted) {
    Ints ids;
    for (const TakeRequest& request : wanted) ids.add(request.partition);
    std::map<PartitionId, PartitionRow> found;
    Rows rows = db.write(sql::lock_partitions, ids);
    while (rows.next()) {
        PartitionRow row{.owner = rows.uuid(1),
                         .epoch = rows.number<std::uint64_t>(2),
                         .unclean_ends = rows.number<std::uint32_t>(3)};
        if (!rows.is_null(4)) row.unclean_at = rows.time(4);
        found.emplace(rows.number<PartitionId>(0), row);
    }
    return found;
}

/// The owners of what is wanted, as they are once nobody can renew behind our back.
struct Owners {
    std::vector<Uuid> stopping{};
    std::vector<Uuid> alive{};
    StoreTime now{};
    std::string generation{};
};

Owners lock_owners(Database& db, const std::map<PartitionId, PartitionRow>& partitions) {
    Uuids owners;
    for (const auto& [id, partition] : partitions) owners.add(partition.owner);
    Owners found;
    {
        Rows rows = db.write(sql::lock_owners, owners);
        while (rows.next()) {
            if (rows.flag(1)) found.stopping.push_back(rows.uuid(0));
        }
    }
    Rows rows = db.read(sql::owners_alive, owners);
    rows.next();
    found.now = rows.time(0);
    found.generation = rows.string(1);
    found.alive = decode_uuids(rows.bytes(2));
    return found;
}

bool among(const std::vector<Uuid>& list, const Uuid& id) {
    return std::ranges::find(list, id) != list.end();
}

Taken hand_over(PartitionId id, PartitionRow& row, const Uuid& self, const Owners& owners) {
    const bool unclean =
        !row.owner.is_nil() && row.owner != self && !among(owners.stopping, row.owner);
    if (row.unclean_at && owners.now - *row.unclean_at >= crash_quiet) row.unclean_ends = 0;
    if (unclean) {
        ++row.unclean_ends;
        row.unclean_at = owners.now;
    }
    row.owner = self;
    ++row.epoch;
    return {
        .partition = id,
        .token = {self, row.epoch, owners.generation},
        .unclean = unclean,
        .unclean_ends = row.unclean_ends,
        .quiet_for = row.unclean_at ? std::max(owners.now - *row.unclean_at, Duration{}) : forever};
}

}  // namespace

BeatReply beat(Database& db, const InstanceState& state, std::optional<std::int32_t> listener) {
    // The renewal first, by itself: nothing else may hold it up.
    if (state.stopping && !owns_any(db, state.incarnation)) {
        db.write(sql::remove_instance, state.incarnation);
    } else {
        renew(db, state, listener);
    }
    db.write(sql::bury_instances);

    BeatReply reply;
    {
        Rows rows = db.read(sql::store_row);
        rows.next();
        reply.now = rows.time(0);
        reply.generation = rows.string(1);
        reply.registry_version = rows.number<std::uint64_t>(2);
    }
    reply.peers = peers(db);
    tell_boxes(db, state.boxes, reply);
    // After the version: what is read may be newer than it says, but never older.
    if (reply.registry_version > state.registry_version) {
        reply.registry = targets(db);
        std::erase_if(reply.registry, [&](const Target& target) {
            return std::ranges::find(state.boxes, target.box) == state.boxes.end();
        });
    }
    return reply;
}

std::vector<Taken> take(Database& db, const Uuid& self, std::span<const TakeRequest> wanted) {
    if (wanted.empty()) return {};
    db.write(sql::short_locks);
    auto partitions = lock_partitions(db, wanted);
    const Owners owners = lock_owners(db, partitions);

    std::vector<Taken> taken;
    Ints ids;
    Longs epochs;
    Ints unclean_ends;
    Longs unclean_at;
    for (const TakeRequest& request : wanted) {
        const auto found = partitions.find(request.partition);
        if (found == partitions.end()) continue;
        PartitionRow& row = found->second;
        if (Token{row.owner, row.epoch, owners.generation} != request.seen) continue;
        // What the taker saw with its last beat may be old: its owner may have renewed since.
        if (row.owner != self && among(owners.alive, row.owner)) continue;
        taken.push_back(hand_over(request.partition, row, self, owners));
        ids.add(request.partition);
        epochs.add(row.epoch);
        unclean_ends.add(row.unclean_ends);
        unclean_at.add(row.unclean_at);
    }
    if (!taken.empty()) {
        db.write(sql::take_partitions, ids, self, epochs, unclean_ends, unclean_at);
    }
    return taken;
}

std::vector<InstanceSeen> instances(Database& db) {
    std::vector<InstanceSeen> all;
    Rows rows = db.read(sql::all_instances);
    while (rows.next()) {
        all.push_back({.incarnation = rows.uuid(0),
                       .name = rows.string(1),
                       .alive = rows.flag(2),
                       .stopping = rows.flag(3),
                       .guest = rows.flag(4),
                       .since = rows.time(5),
                       .last_beat = rows.time(6),
                       .lease = Duration{rows.integer(7)},
                       .boxes = rows.texts(8),
                       .executes = decode_numbers(rows.bytes(9)),
                       .waiting = rows.number<std::uint64_t>(10),
                       .running = rows.number<std::uint32_t>(11),
                       .partitions = rows.number<std::uint32_t>(12),
                       .refused = rows.string(13)});
    }
    return all;
}

void give(Database& db, std::span<const GiveRequest> partitions) {
    Ints ids;
    Uuids owners;
    Longs epochs;
    Texts generations;
    Uuids heirs;
    for (const GiveRequest& request : partitions) {
        ids.add(request.partition);
        owners.add(request.token.owner);
        epochs.add(request.token.epoch);
        generations.add(request.token.generation);
        heirs.add(request.heir);
    }
    if (ids.size() > 0) db.write(sql::give_partitions, ids, owners, epochs, generations, heirs);
}

}  // namespace waybill::postgres
