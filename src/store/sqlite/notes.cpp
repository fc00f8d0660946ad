#include "calls.hpp"

namespace waybill::sqlite {

std::optional<std::string> note(Database& db, StoreTime now, const std::string& name) {
    Rows rows = db.query(sql::note, name, now);
    if (!rows.next()) return std::nullopt;
    return rows.string(0);
}

std::vector<Note> notes(Database& db, StoreTime now, const std::string& prefix) {
    std::vector<Note> all;
    Rows rows = db.query(sql::notes_from, prefix, now);
    while (rows.next() && rows.text(0).starts_with(prefix)) {
        all.push_back({rows.string(0), rows.string(1)});
    }
    return all;
}

void keep_note(Database& db, StoreTime now, const std::string& name, const std::string& text,
               StoreTime until) {
    db.execute(sql::drop_old_notes, now);
    std::optional<StoreTime> end;
    if (until != store_never) end = until;
    db.execute(sql::keep_note, name, text, end);
}

}  // namespace waybill::sqlite
