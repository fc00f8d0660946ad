#include "caller.hpp"

#include "waybill/store.hpp"

namespace waybill::sqlite {
namespace {

constexpr std::int64_t kFull = 2;

std::int64_t number_of(Database& db, const sql::Query& pragma) {
    Rows rows = db.query(pragma);
    return rows.next() ? rows.integer(0) : 0;
}

}  // namespace

void prepare_caller(Database& db, bool relaxed_durability, std::string_view who) {
    // A transaction that has done nothing yet can still wait for the write lock as long as its connection
    // is told to; one that has begun to read is refused at once.
    if (db.in_transaction() && sqlite3_txn_state(db.handle(), nullptr) == SQLITE_TXN_NONE) {
        db.execute(sql::lock_for_writing);
    }
    if (!relaxed_durability && number_of(db, sql::synchronous) < kFull) {
        throw StoreError{Reaction::give_up,
                         std::string{who} +
                             ": `pragma synchronous` of this connection is below FULL, so a power "
                             "cut may lose the commit; set it to FULL, or set relaxed_durability"};
    }
    // Zero also means a hook of the caller's own, which must stay.
    if (number_of(db, sql::autocheckpoint) > 0) sqlite3_wal_autocheckpoint(db.handle(), 0);
}

Savepoint::~Savepoint() {
    // After some errors SQLite has rolled the whole transaction back by itself.
    if (is_kept_ || !db_.in_transaction()) return;
    try {
        db_.execute(sql::rollback_to);
        db_.execute(sql::release);
    } catch (const StoreError&) {
        // The caller's ROLLBACK will do it; the error in flight says why.
    }
}

void Savepoint::keep() {
    db_.execute(sql::release);
    is_kept_ = true;
}

}  // namespace waybill::sqlite
