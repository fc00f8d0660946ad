#include "calls.hpp"
#include "pack.hpp"

namespace waybill::sqlite {
namespace {

using Status = AppendResult::Status;

AppendResult known(Session& session, const Uuid& first, bool same_body) {
    AppendResult result{.status = same_body ? Status::duplicate : Status::conflict, .id = first};
    if (const auto place = place_of(session.db, first)) {
        const Left left = what_is_left(session.db, *place);
        result.first_is_dead = left.dead && !left.open;
    }
    return result;
}

/// The answer when there is a message with this id.
std::optional<AppendResult> by_id(Session& session, const Message& message) {
    bool same_body = false;
    {
        Rows rows = session.db.query(sql::body_by_id, message.id);
        if (!rows.next()) return std::nullopt;
        same_body = rows.bytes(2) == message.body;
    }
    return known(session, message.id, same_body);
}

std::optional<StoreTime> end_of_window(StoreTime now, Duration window) {
    const StoreTime until = later(now, window);
    return until == store_never ? std::nullopt : std::optional{until};
}

/// The answer when the item's key is remembered; otherwise its key is, from now on.
std::optional<AppendResult> by_key(Session& session, StoreTime now, const Append& item) {
    Database& db = session.db;
    const Message& message = *item.message;
    const auto until = end_of_window(now, item.dedup_window);
    if (db.execute(sql::insert_dedup, item.dedup_scope, message.dedup_key, message.id,
                   Blob{item.body_hash}, until) == 1) {
        return std::nullopt;
    }
    Uuid first;
    bool same_body = false;
    bool has_expired = false;
    {
        Rows rows = db.query(sql::dedup_row, item.dedup_scope, message.dedup_key);
        rows.next();
        first = rows.uuid(0);
        same_body = rows.bytes(1) == item.body_hash;
        has_expired = !rows.is_null(2) && rows.time(2) <= now;
    }
    if (!has_expired) {
        db.execute(sql::count_duplicate, item.dedup_scope, message.dedup_key);
        return known(session, first, same_body);
    }
    // Its own message may still be there: then the old record stays as it was.
    if (auto answer = by_id(session, message)) return answer;
    db.execute(sql::renew_dedup, item.dedup_scope, message.dedup_key, message.id,
               Blob{item.body_hash}, until);
    return std::nullopt;
}

bool insert_message(Database& db, StoreTime now, PartitionId partition, const Message& m) {
    const std::string attributes = pack(m.attributes);
    return db.execute(sql::insert_message, m.id, partition, now, m.occurred_at, m.not_before,
                      m.type, m.source, m.content_type, m.tenant, m.user, m.correlation_id, m.lane,
                      m.dedup_key, m.collapse_key, OptionalBlob{attributes}, Blob{m.body}) == 1;
}

AppendResult append_one(Session& session, StoreTime now, const BoxRow& box, const Append& item) {
    const Message& message = *item.message;
    const bool has_key = !message.dedup_key.empty();
    if (has_key) {
        if (auto answer = by_key(session, now, item)) return *answer;
    }
    const PartitionId partition = box.partition_of(message);
    if (!insert_message(session.db, now, partition, message)) {
        // A new key for a message that is there already stands for nothing.
        if (has_key) session.db.execute(sql::delete_dedup, item.dedup_scope, message.dedup_key);
        return *by_id(session, message);
    }
    const Sequence sequence = session.db.last_row();
    session.db.execute(sql::insert_open, partition, sequence, message.id, lane_hash(message.lane),
                       message.not_before);
    return {.id = message.id, .sequence = sequence, .partition = partition};
}

}  // namespace

void insert_work(Session& session, const Place& message, const Uuid& id, const std::string& lane,
                 const Entry& work) {
    session.db.execute(sql::draw_sequence);
    Sequence sequence = 0;
    {
        Rows rows = session.db.query(sql::last_sequence);
        rows.next();
        sequence = rows.integer(0);
    }
    const std::string only = pack(work.only);
    session.db.execute(sql::insert_requeued, message.partition, sequence, id, lane_hash(lane),
                       message.sequence, work.requeues, OptionalBlob{only});
}

std::vector<AppendResult> append(Session& session, StoreTime now, std::span<const Append> batch) {
    std::vector<AppendResult> results;
    results.reserve(batch.size());
    const BoxRow* box = nullptr;
    for (const Append& item : batch) {
        const std::string& name = item.message->box;
        if (box == nullptr || box->name != name) box = session.box(name);
        if (box == nullptr) {
            throw StoreError{Reaction::bad_data,
                             "box \"" + name + "\" is not declared; declare it before appending"};
        }
        results.push_back(append_one(session, now, *box, item));
    }
    return results;
}

}  // namespace waybill::sqlite
