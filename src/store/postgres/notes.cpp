#include "calls.hpp"

namespace waybill::postgres {

std::optional<std::string> note(Database& db, const std::string& name) {
    Rows rows = db.read(sql::note, name);
    if (!rows.next()) return std::nullopt;
    return rows.string(0);
}

void keep_note(Database& db, const std::string& name, const std::string& text, StoreTime until) {
    db.write(sql::drop_old_notes);
    std::optional<StoreTime> end;
    if (until != store_never) end = until;
    db.write(sql::keep_note, name, text, end);
}

void drop_note(Database& db, const std::string& name) {
    db.write(sql::drop_note, name);
}

}  // namespace waybill::postgres
