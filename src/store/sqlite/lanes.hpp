#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "rows.hpp"
#include "write_queue.hpp"

namespace waybill::sqlite {

/// Which rows are in which lane. An index on open work would be written twice for every message that
/// has a lane, and is read only for lanes that are longer than memory keeps. So the table
/// `waybill_lane` is filled when somebody asks, in bulk and in its own order, and what came after that is
/// looked through row by row.
///
/// Thread safety: any thread; `prepare` writes.
class LaneIndex {
public:
    /// Before a read of lanes: at most a few thousand rows are left to look through.
    void prepare(WriteQueue& queue, Session& reader);

private:
    bool grow(Session& writer);

    /// So many rows, and it is asked how many of them are still open. Touched only by who writes.
    std::int64_t look_at_ = 200'000;
};

/// The ready rows of lanes in one snapshot.
class LaneRows {
public:
    explicit LaneRows(Session& session);

    /// Those of this lane from a sequence on, in order, until `take` answers false.
    template <class Take>
    void each(const LaneRef& wanted, Take take) {
        const auto hash = lane_hash(wanted.lane);
        if (!hash) return;
        const auto taken = [&](Sequence sequence) {
            auto row = ready_row(wanted.partition, sequence);
            return !row || take(std::move(*row));
        };
        {
            Rows rows = session_.db.query(sql::lane_rows, *hash, wanted.partition, wanted.from);
            while (rows.next()) {
                if (!taken(rows.integer(0))) return;
            }
        }
        for (const Sequence sequence : tail(wanted.partition)[*hash]) {
            if (sequence >= wanted.from && !taken(sequence)) return;
        }
    }

private:
    using Tail = std::unordered_map<std::int64_t, std::vector<Sequence>>;

    Tail& tail(PartitionId partition);
    std::optional<OpenRow> ready_row(PartitionId partition, Sequence sequence);

    Session& session_;
    Sequence indexed_up_to_ = 0;
    std::unordered_map<PartitionId, Tail> tails_{};
};

}  // namespace waybill::sqlite
