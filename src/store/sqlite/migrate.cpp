#include "migrate.hpp"

#include <map>

#include "core/runtime/system_random.hpp"
#include "core/sha256.hpp"
#include "waybill/store.hpp"

namespace waybill::sqlite {
namespace {

std::string checksum(std::string_view text) {
    constexpr const char* digits = "0123456789abcdef";
    std::string hex;
    for (const std::uint8_t byte : sha256(text)) {
        hex.push_back(digits[byte >> 4]);
        hex.push_back(digits[byte & 15]);
    }
    return hex;
}

std::map<int, std::string> applied(Database& db) {
    std::map<int, std::string> found;
    Rows rows = db.query(sql::list_migrations);
    while (rows.next()) found.emplace(rows.number<int>(0), rows.string(2));
    return found;
}

bool is_current(Database& db) {
    {
        Rows rows = db.query(sql::has_migrations);
        if (!rows.next()) return false;
    }
    const auto known = applied(db);
    for (const sql::Migration& migration : sql::migrations) {
        const auto found = known.find(migration.number);
        if (found == known.end()) return false;
        if (found->second == checksum(migration.text)) continue;
        throw StoreError{Reaction::give_up,
                         "sqlite store: migration " + std::to_string(migration.number) + " (" +
                             migration.name +
                             ") was applied with another text than this version has; the file was "
                             "made by a different build: use that one, or a new file"};
    }
    return true;
}

void apply_missing(Session& writer, StoreTime now) {
    Database& db = writer.db;
    db.execute(sql::create_migrations);
    const auto known = applied(db);
    for (const sql::Migration& migration : sql::migrations) {
        if (known.contains(migration.number)) continue;
        db.script(migration.text, migration.name);
        if (migration.number == 1) {
            db.execute(sql::insert_store, to_string(random_uuid(thread_random())));
        }
        db.execute(sql::insert_migration, migration.number, migration.name,
                   checksum(migration.text), now);
    }
}

}  // namespace

void migrate(Session& writer, StoreTime now) {
    if (is_current(writer.db)) return;
    writer.db.execute(sql::begin_write);
    try {
        // Somebody else may have been faster.
        if (!is_current(writer.db)) apply_missing(writer, now);
        writer.db.execute(sql::commit);
    } catch (...) {
        if (writer.db.in_transaction()) writer.db.execute(sql::rollback);
        throw;
    }
    writer.forget();
}

}  // namespace waybill::sqlite
