#include "calls.hpp"

namespace waybill::sqlite {

std::optional<std::string> note(Database& db, StoreTime now, const std::string& name) {
    Rows rows = db.query(sql::note, name, now);
    if (!rows.next()) return std::nullopt;
    return rows.string(0);
}

void keep_note(Database& db, StoreTime now, const std::string& name, const std::string& text,
               StoreTime until) {
    db.execute(sql::drop_old_notes, now);
    std::optional<StoreTime> end;
    if (until != store_never) end = until;
    db.execute(sql::keep_note, name, text, end);
}

}  // namespace waybill::sqlite
