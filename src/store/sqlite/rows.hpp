#pragma once

#include <string>

#include "boxes.hpp"
#include "waybill/work.hpp"

/// From rows to what the seams speak of.
namespace waybill::sqlite {

/// A row of open work without its message.
struct OpenRow {
    Entry entry{};
    Uuid id{};
    /// The sequence of its message row.
    Sequence message = 0;
};

/// The current row of one of the reading statements.
OpenRow open_row(const Rows& rows);
/// Null: no such row, ready or parked.
std::optional<OpenRow> find_open(Database& db, PartitionId partition, Sequence sequence);

struct MessageRow {
    MessagePtr message{};
    PartitionId partition = 0;
    StoreTime appended_at{};
    std::uint32_t requeues = 0;
};
/// Its message is null when the row is gone.
MessageRow load_message(Session& session, Sequence sequence);

/// Where a message is; nothing when there is none.
struct Place {
    Sequence sequence = 0;
    PartitionId partition = 0;
};
std::optional<Place> place_of(Database& db, const Uuid& id);

/// What is left of a message.
struct Left {
    bool open = false;
    bool dead = false;
};
Left what_is_left(Database& db, const Place& message);

/// The column `lane` of open work: null for none.
std::optional<std::int64_t> lane_hash(const std::string& lane);

}  // namespace waybill::sqlite
