#include "boxes.hpp"

#include "error_map.hpp"
#include "waybill/slot.hpp"

namespace waybill::sqlite {

PartitionId BoxRow::partition_of(const Message& message) const {
    const std::size_t count = partitions.size();
    return count == 1 ? partitions.front() : partitions[slot_of(message) * count / slot_count];
}

const BoxRow* Session::box(const std::string& name) {
    if (const auto known = boxes_.find(name); known != boxes_.end()) return &known->second;

    BoxRow row{.name = name};
    {
        Rows rows = db.query(sql::box_by_name, name);
        if (!rows.next()) return nullptr;
        row.id = rows.integer(0);
        row.dedup_window = Duration{rows.integer(1)};
        row.body_bytes_max = rows.number<std::uint64_t>(2);
    }
    Rows rows = db.query(sql::partitions_of_box, row.id);
    while (rows.next()) row.partitions.push_back(rows.number<PartitionId>(0));
    const BoxRow& placed = boxes_.emplace(name, std::move(row)).first->second;
    for (const PartitionId partition : placed.partitions) by_partition_[partition] = &placed;
    return &placed;
}

const BoxRow& Session::box_of(PartitionId partition) {
    if (const auto known = by_partition_.find(partition); known != by_partition_.end()) {
        return *known->second;
    }
    std::string name;
    {
        Rows rows = db.query(sql::box_of_partition, partition);
        if (rows.next()) name = rows.string(1);
    }
    if (const BoxRow* row = name.empty() ? nullptr : box(name)) return *row;
    throw error_of(SQLITE_CORRUPT, "partition " + std::to_string(partition) + " has no box",
                   "box_of_partition", sqlite3_db_filename(db.handle(), "main"));
}

const std::string& Session::generation() {
    if (generation_.empty()) generation_ = store_row(db).generation;
    return generation_;
}

void Session::forget() {
    by_partition_.clear();
    boxes_.clear();
    generation_.clear();
}

StoreRow store_row(Database& db) {
    Rows rows = db.query(sql::store_row);
    if (!rows.next()) {
        throw error_of(SQLITE_CORRUPT, "waybill_store has no row", "store_row",
                       sqlite3_db_filename(db.handle(), "main"));
    }
    return {rows.string(0), rows.number<std::uint64_t>(1)};
}

}  // namespace waybill::sqlite
