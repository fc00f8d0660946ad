#include "rows.hpp"

#include "core/siphash.hpp"
#include "pack.hpp"

namespace waybill::sqlite {
namespace {

/// In the file, so it must never change. Collisions on purpose cost a reader a few rows, no more.
constexpr HashKey kLaneKey{0x7761'7962'696C'6C00, 0x6C61'6E65};

}  // namespace

OpenRow open_row(const Rows& rows) {
    OpenRow row;
    Entry& entry = row.entry;
    entry.partition = rows.number<PartitionId>(0);
    entry.sequence = rows.integer(1);
    row.id = rows.uuid(2);
    entry.due = rows.time(3);
    row.message = rows.is_null(4) ? entry.sequence : rows.integer(4);
    entry.requeues = rows.number<std::uint32_t>(5);
    entry.halted = rows.flag(6);
    entry.parked = rows.flag(7);
    entry.strikes = rows.number<std::uint32_t>(8);
    entry.solo_epoch = rows.number<std::uint64_t>(9);
    if (!rows.is_null(10)) entry.progress = unpack_progress(rows.bytes(10));
    if (!rows.is_null(11)) entry.only = unpack_texts(rows.bytes(11));
    return row;
}

std::optional<OpenRow> find_open(Database& db, PartitionId partition, Sequence sequence) {
    Rows rows = db.query(sql::open_row, partition, sequence);
    if (!rows.next()) return std::nullopt;
    return open_row(rows);
}

MessageRow load_message(Session& session, Sequence sequence) {
    Rows rows = session.db.query(sql::message_row, sequence);
    if (!rows.next()) return {};
    auto message = std::make_shared<Message>();
    MessageRow row{.partition = rows.number<PartitionId>(1), .appended_at = rows.time(2)};
    message->id = rows.uuid(0);
    message->box = session.box_of(row.partition).name;
    message->not_before = rows.time(3);
    message->type = rows.text(4);
    message->source = rows.text(5);
    message->content_type = rows.text(6);
    message->tenant = rows.text(7);
    message->user = rows.text(8);
    message->correlation_id = rows.text(9);
    message->lane = rows.text(10);
    message->dedup_key = rows.text(11);
    message->collapse_key = rows.text(12);
    if (!rows.is_null(13)) message->attributes = unpack_attributes(rows.bytes(13));
    message->body = rows.bytes(14);
    message->occurred_at = rows.time(15);
    row.requeues = rows.number<std::uint32_t>(16);
    row.message = std::move(message);
    return row;
}

std::optional<Place> place_of(Database& db, const Uuid& id) {
    Rows rows = db.query(sql::place_by_id, id);
    if (!rows.next()) return std::nullopt;
    return Place{rows.integer(0), rows.number<PartitionId>(1)};
}

Left what_is_left(Database& db, const Place& message) {
    Rows rows = db.query(sql::message_has, message.partition, message.sequence);
    rows.next();
    return {rows.flag(0), rows.flag(1)};
}

std::optional<std::int64_t> lane_hash(const std::string& lane) {
    if (lane.empty()) return std::nullopt;
    return static_cast<std::int64_t>(siphash(kLaneKey, lane));
}

}  // namespace waybill::sqlite
