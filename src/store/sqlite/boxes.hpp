#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "database.hpp"
#include "waybill/message.hpp"
#include "waybill/ownership.hpp"

namespace waybill::sqlite {

struct BoxRow {
    std::int64_t id = 0;
    std::string name{};
    /// By slot.
    std::vector<PartitionId> partitions{};
    Duration dedup_window{};
    std::uint64_t body_bytes_max = 0;

    PartitionId partition_of(const Message& message) const;
};

/// A connection, with what it knows of the boxes: they are only ever added to, and every message
/// asks for its own.
struct Session {
    explicit Session(const std::string& path, int flags) : db(path, flags) {}
    explicit Session(sqlite3* borrowed) : db(borrowed) {}

    Database db;

    /// Null: not declared.
    const BoxRow* box(const std::string& name);
    /// Throws when the partition belongs to no box: the file is damaged.
    const BoxRow& box_of(PartitionId partition);
    const std::string& generation();
    /// What was read in a transaction that did not commit was never so.
    void forget();

private:
    std::map<std::string, BoxRow, std::less<>> boxes_{};
    std::unordered_map<PartitionId, const BoxRow*> by_partition_{};
    std::string generation_{};
};

/// What the one row of the store says now.
struct StoreRow {
    std::string generation{};
    std::uint64_t registry_version = 0;
};
StoreRow store_row(Database& db);

}  // namespace waybill::sqlite
