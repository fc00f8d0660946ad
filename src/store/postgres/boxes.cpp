#include "boxes.hpp"

#include "waybill/slot.hpp"
#include "waybill/store.hpp"

namespace waybill::postgres {

PartitionId BoxRow::partition_of(const Message& message) const {
    return partitions.size() == 1 ? partitions.front() : partition_at(slot_of(message));
}

PartitionId BoxRow::partition_at(std::uint32_t slot) const {
    return partitions[slot * partitions.size() / slot_count];
}

void Boxes::belong_to(const std::string& generation) {
    const std::lock_guard lock{mutex_};
    // A standby does not say.
    if (generation.empty() || generation == generation_) return;
    if (!generation_.empty()) known_.emplace_back();
    generation_ = generation;
}

void Boxes::load(Database& db) {
    std::map<std::string, BoxRow, std::less<>> found;
    Rows rows = db.read(sql::list_boxes);
    while (rows.next()) {
        BoxRow& row = found[rows.string(1)];
        row.id = rows.number<std::int32_t>(0);
        row.name = rows.text(1);
        row.dedup_window = rows.is_null(2) ? forever : Duration{rows.integer(2)};
        row.body_bytes_max = rows.number<std::uint64_t>(3);
        row.partitions.push_back(rows.number<PartitionId>(4));
    }
    const std::lock_guard lock{mutex_};
    Known& known = known_.back();
    for (auto& [name, row] : found) {
        const BoxRow& placed = known.boxes.try_emplace(name, std::move(row)).first->second;
        for (const PartitionId partition : placed.partitions) {
            known.by_partition[partition] = &placed;
        }
    }
}

const BoxRow* Boxes::box(Database& db, const std::string& name) {
    const auto known = [&]() -> const BoxRow* {
        const std::lock_guard lock{mutex_};
        const auto found = known_.back().boxes.find(name);
        return found == known_.back().boxes.end() ? nullptr : &found->second;
    };
    if (const BoxRow* row = known()) return row;
    load(db);
    return known();
}

const BoxRow& Boxes::box_of(Database& db, PartitionId partition) {
    const auto known = [&]() -> const BoxRow* {
        const std::lock_guard lock{mutex_};
        const auto& all = known_.back().by_partition;
        const auto found = all.find(partition);
        return found == all.end() ? nullptr : found->second;
    };
    if (const BoxRow* row = known()) return *row;
    load(db);
    if (const BoxRow* row = known()) return *row;
    throw StoreError{Reaction::give_up, "postgres store: partition " + std::to_string(partition) +
                                            " has no box: somebody deleted rows; restore a backup"};
}

}  // namespace waybill::postgres
