#include "calls.hpp"

/// What becomes of a message when its work is over: it is kept, held by its dead letters, or dropped.
namespace waybill::sqlite {

void close_message(Session& session, StoreTime now, const Place& message, bool has_letters,
                   bool drop) {
    if (drop && !has_letters) {
        session.db.execute(sql::delete_message, message.sequence);
        session.db.execute(sql::delete_attempts, message.sequence);
        return;
    }
    const BoxRow& box = session.box_of(message.partition);
    session.db.execute(sql::insert_finished, box.id, has_letters, now, message.sequence);
}

void reopen_message(Database& db, Sequence message) {
    db.execute(sql::delete_held, message);
}

void reopen_finished(Session& session, const Place& message, StoreTime appended_at) {
    const std::int64_t box = session.box_of(message.partition).id;
    // The clock may have gone back in between.
    for (const StoreTime from : {appended_at, StoreTime{Duration::min()}}) {
        std::optional<StoreTime> at;
        {
            Rows rows = session.db.query(sql::finished_at, box, from, message.sequence);
            if (rows.next()) at = rows.time(0);
        }
        if (!at) continue;
        session.db.execute(sql::delete_finished, box, *at, message.sequence);
        return;
    }
}

bool erase_letter(Database& db, Sequence message, const std::string& target) {
    if (db.execute(sql::delete_dead, message, target) == 0) return false;
    db.execute(sql::release_finished, message);
    return true;
}

}  // namespace waybill::sqlite
