#include "lanes.hpp"

#include <algorithm>

namespace waybill::sqlite {
namespace {

/// Sequences that may be left out of the index: they are looked through with every read of lanes.
constexpr Sequence kTailMax = 4'096;
/// Sequences per write transaction.
constexpr Sequence kChunk = 50'000;

struct State {
    Sequence up_to = 0;
    std::int64_t rows = 0;
    Sequence last = 0;
};

State state_of(Database& db) {
    Rows rows = db.query(sql::lanes_state);
    rows.next();
    return {rows.integer(0), rows.integer(1), rows.integer(2)};
}

/// The sequence before which nothing is open.
Sequence first_open(Database& db, Sequence last) {
    Rows rows = db.query(sql::first_open);
    rows.next();
    return rows.is_null(0) ? last + 1 : rows.integer(0);
}

std::int64_t count_open(Database& db) {
    Rows rows = db.query(sql::count_open);
    rows.next();
    return rows.integer(0) + rows.integer(1);
}

}  // namespace

void LaneIndex::prepare(WriteQueue& queue, Session& reader) {
    const State state = state_of(reader.db);
    if (state.last - state.up_to <= kTailMax) return;
    while (queue.write([this](Session& writer) { return grow(writer); })) {
    }
}

/// One chunk more. False: that was all.
bool LaneIndex::grow(Session& writer) {
    Database& db = writer.db;
    State state = state_of(db);
    const Sequence first = first_open(db, state.last);
    bool is_stale = first > state.up_to;
    if (state.rows >= look_at_) {
        is_stale = is_stale || state.rows > 2 * count_open(db);
        look_at_ = 2 * state.rows;
    }
    if (is_stale) {
        if (state.rows > 0) db.execute(sql::forget_lanes);
        state = {.up_to = first - 1, .rows = 0, .last = state.last};
    }
    const Sequence up_to = std::min(state.last, state.up_to + kChunk);
    const auto added = db.execute(sql::index_lanes, state.up_to, up_to);
    db.execute(sql::set_lanes_state, up_to, state.rows + static_cast<std::int64_t>(added));
    return up_to < state.last;
}

LaneRows::LaneRows(Session& session)
    : session_(session), indexed_up_to_(state_of(session.db).up_to) {}

LaneRows::Tail& LaneRows::tail(PartitionId partition) {
    const auto [place, is_new] = tails_.try_emplace(partition);
    if (is_new) {
        Rows rows = session_.db.query(sql::lane_tail, partition, indexed_up_to_);
        while (rows.next()) place->second[rows.integer(0)].push_back(rows.integer(1));
    }
    return place->second;
}

std::optional<OpenRow> LaneRows::ready_row(PartitionId partition, Sequence sequence) {
    Rows rows = session_.db.query(sql::ready_row, partition, sequence);
    if (!rows.next()) return std::nullopt;
    return open_row(rows);
}

}  // namespace waybill::sqlite
