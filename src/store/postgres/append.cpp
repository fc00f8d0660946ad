#include <algorithm>
#include <set>

#include "calls.hpp"
#include "error_map.hpp"

namespace waybill::postgres {
namespace {

using Status = AppendResult::Status;

/// The columns of a batch.
struct Batch {
    Uuids ids{};
    Ints partitions{};
    Longs occurred_at{};
    Longs not_before{};
    Texts types{};
    Texts sources{};
    Texts content_types{};
    Texts tenants{};
    Texts users{};
    Texts correlation_ids{};
    Texts lanes{};
    Texts dedup_keys{};
    Texts collapse_keys{};
    Texts attributes{};
    Blobs bodies{};
    Texts scopes{};
    Longs windows{};
    Blobs hashes{};

    void add(const Append& item, PartitionId partition) {
        const Message& m = *item.message;
        ids.add(m.id);
        partitions.add(partition);
        occurred_at.add(m.occurred_at);
        not_before.add(m.not_before);
        types.add(m.type);
        sources.add(m.source);
        content_types.add(m.content_type);
        tenants.add(m.tenant);
        users.add(m.user);
        correlation_ids.add(m.correlation_id);
        lanes.add(m.lane);
        dedup_keys.add(m.dedup_key);
        collapse_keys.add(m.collapse_key);
        attributes.add(attributes_literal(m.attributes));
        bodies.add(m.body);
        scopes.add(item.dedup_scope);
        // What ends after the end of time never ends.
        constexpr Duration too_long = std::chrono::hours{24 * 365 * 10'000};
        windows.add(item.dedup_window >= too_long ? std::nullopt
                                                  : std::optional{item.dedup_window});
        hashes.add(item.body_hash);
    }
};

/// The first item from `begin` on that shares an id or a key with one before it: what the statement
/// answers must not depend on what it does.
std::size_t end_of_round(std::span<const Append> batch, std::size_t begin) {
    if (begin + 1 >= batch.size()) return batch.size();
    std::set<Uuid> ids;
    std::set<std::pair<std::string_view, std::string_view>> keys;
    for (std::size_t i = begin; i < batch.size(); ++i) {
        const Message& message = *batch[i].message;
        if (!ids.insert(message.id).second) return i;
        if (message.dedup_key.empty()) continue;
        if (!keys.emplace(batch[i].dedup_scope, message.dedup_key).second) return i;
    }
    return batch.size();
}

void append_round(Database& db, std::span<const Append> items,
                  std::span<const PartitionId> partitions, std::vector<AppendResult>& results) {
    Batch b;
    for (std::size_t i = 0; i < items.size(); ++i) b.add(items[i], partitions[i]);
    Rows rows =
        db.write(sql::append, b.ids, b.partitions, b.occurred_at, b.not_before, b.types, b.sources,
                 b.content_types, b.tenants, b.users, b.correlation_ids, b.lanes, b.dedup_keys,
                 b.collapse_keys, b.attributes, b.bodies, b.scopes, b.windows, b.hashes);
    for (std::size_t i = 0; rows.next(); ++i) {
        if (!rows.is_null(1)) {
            results.push_back({.id = items[i].message->id,
                               .sequence = rows.integer(1),
                               .partition = partitions[i]});
        } else {
            results.push_back({.status = rows.flag(3) ? Status::duplicate : Status::conflict,
                               .id = rows.uuid(2),
                               .first_is_dead = rows.flag(4)});
        }
    }
}

std::vector<AppendResult> append_rounds(Database& db, std::span<const Append> batch,
                                        std::span<const PartitionId> partitions) {
    std::vector<AppendResult> results;
    results.reserve(batch.size());
    for (std::size_t begin = 0; begin < batch.size();) {
        const std::size_t end = end_of_round(batch, begin);
        append_round(db, batch.subspan(begin, end - begin), partitions.subspan(begin, end - begin),
                     results);
        begin = end;
    }
    return results;
}

std::vector<AppendResult> append_once(Database& db, std::span<const Append> batch,
                                      std::span<const PartitionId> partitions) {
    // One statement is one commit, and one round trip. Who is inside a transaction shares its fate.
    if (db.in_transaction() || end_of_round(batch, 0) == batch.size()) {
        return append_rounds(db, batch, partitions);
    }
    Transaction transaction{db};
    auto results = append_rounds(db, batch, partitions);
    transaction.commit();
    return results;
}

}  // namespace

std::vector<AppendResult> append(Session session, std::span<const Append> batch) {
    std::vector<PartitionId> partitions;
    partitions.reserve(batch.size());
    const BoxRow* box = nullptr;
    for (const Append& item : batch) {
        const std::string& name = item.message->box;
        if (box == nullptr || box->name != name) box = session.boxes.box(session.db, name);
        if (box == nullptr) {
            throw StoreError{Reaction::bad_data,
                             "box \"" + name + "\" is not declared; declare it before appending"};
        }
        partitions.push_back(box->partition_of(*item.message));
    }
    // Inside somebody's transaction an error has ended it; only its owner can begin again.
    const int tries_max = session.db.in_transaction() ? 1 : collision_tries_max;
    for (int tries = 1;; ++tries) {
        try {
            return append_once(session.db, batch, partitions);
        } catch (const ServerError& error) {
            if (!error.is_collision() || tries >= tries_max) throw;
        }
    }
}

}  // namespace waybill::postgres
