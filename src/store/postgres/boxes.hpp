#pragma once

#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "database.hpp"
#include "waybill/message.hpp"
#include "waybill/ownership.hpp"

namespace waybill::postgres {

struct BoxRow {
    std::int32_t id = 0;
    std::string name{};
    /// By slot.
    std::vector<PartitionId> partitions{};
    Duration dedup_window = forever;
    std::uint64_t body_bytes_max = 0;

    PartitionId partition_of(const Message& message) const;
};

/// What is known of the boxes: they are only ever added to, and every message asks for its own.
///
/// Thread safety: any thread. Rows live as long as this.
class Boxes {
public:
    /// Null: not declared.
    const BoxRow* box(Database& db, const std::string& name);
    /// Throws when the partition belongs to no box: somebody deleted rows.
    const BoxRow& box_of(Database& db, PartitionId partition);

private:
    void load(Database& db);

    std::mutex mutex_{};  ///< guards the two below
    std::map<std::string, BoxRow, std::less<>> boxes_{};
    std::unordered_map<PartitionId, const BoxRow*> by_partition_{};
};

}  // namespace waybill::postgres
