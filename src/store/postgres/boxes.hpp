#pragma once

#include <list>
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
    PartitionId partition_at(std::uint32_t slot) const;
};

/// What is known of the boxes of a server: they are only ever added to, and every message asks for its own.
///
/// Thread safety: any thread. Rows live as long as this.
class Boxes {
public:
    /// Of the server that a connection leads to. Another one (a standby that was promoted, a backup) may have
    /// lost boxes, and given their numbers to others since: what was known of the last one is forgotten.
    void belong_to(const std::string& generation);
    /// Null: not declared.
    const BoxRow* box(Database& db, const std::string& name);
    /// Throws when the partition belongs to no box: somebody deleted rows.
    const BoxRow& box_of(Database& db, PartitionId partition);

private:
    void load(Database& db);

    struct Known {
        std::map<std::string, BoxRow, std::less<>> boxes{};
        std::unordered_map<PartitionId, const BoxRow*> by_partition{};
    };
    std::mutex mutex_{};  ///< guards the two below
    std::string generation_{};
    /// The last one counts; somebody may still look at a row of one before.
    std::list<Known> known_{Known{}};
};

}  // namespace waybill::postgres
