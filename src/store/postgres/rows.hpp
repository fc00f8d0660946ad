#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "boxes.hpp"
#include "recent.hpp"
#include "waybill/work.hpp"

/// From rows to what the seams speak of.
namespace waybill::postgres {

/// A connection and what is known of the boxes behind it.
struct Session {
    Database& db;
    Boxes& boxes;
    /// Null: nothing was appended by whoever reads.
    Recent* recent = nullptr;
};

/// A row of open work without its message.
struct OpenRow {
    Entry entry{};
    Uuid id{};
    /// The sequence of its message row.
    Sequence message = 0;
};

/// waybill.lane_number(): the first 8 bytes of SHA-256.
std::int64_t lane_number(std::string_view lane);

/// The columns of open work from `first` on.
OpenRow open_row(const Rows& rows, int first = 0);
/// The column `progress`; nothing for none.
std::optional<std::string> progress_literal(const std::vector<Progress>& progress);

/// The column `attributes`: name, value; and again. Nothing for none.
std::optional<std::string> attributes_literal(const Attributes& attributes);

struct MessageRow {
    /// Null when the row is gone.
    MessagePtr message{};
    Sequence sequence = 0;
    PartitionId partition = 0;
    StoreTime appended_at{};
};
/// Where a message is: its id says in which table.
struct MessageRef {
    Uuid id{};
    Sequence sequence = 0;
};
/// In the order asked for, as many as `bytes_max` holds, one at least.
std::vector<MessageRow> load_messages(Session session, std::span<const MessageRef> wanted,
                                      std::uint64_t bytes_max);
/// The current row's message, whose columns begin at `first`.
MessageRow message_row(Session session, const Rows& rows, int first = 0);

}  // namespace waybill::postgres
