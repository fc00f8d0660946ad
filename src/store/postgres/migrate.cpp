#include "migrate.hpp"

#include <map>

#include "core/sha256.hpp"
#include "waybill/store.hpp"

namespace waybill::postgres {
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

std::string described(const sql::Migration& migration) {
    return std::to_string(migration.number) + " " + migration.name;
}

/// By number, with its checksum.
std::map<int, std::string> applied(Database& db) {
    std::map<int, std::string> found;
    {
        Rows rows = db.read(sql::has_migrations);
        if (!rows.next() || !rows.flag(0)) return found;
    }
    Rows rows = db.read(sql::list_migrations);
    while (rows.next()) found.emplace(rows.number<int>(0), rows.string(1));
    return found;
}

bool is_current(const std::map<int, std::string>& known, std::uint32_t version) {
    bool current = true;
    for (const sql::Migration& migration : sql::migrations) {
        const auto found = known.find(migration.number);
        if (found == known.end()) {
            current = current && static_cast<std::uint32_t>(migration.number) > version;
            continue;
        }
        if (found->second == checksum(migration.text)) continue;
        throw StoreError{Reaction::give_up,
                         "postgres store: migration " + described(migration) +
                             " was applied with another text than this version has; the schema was "
                             "made by a different build: use that one, or another schema"};
    }
    return current;
}

void apply_missing(Database& db, const std::map<int, std::string>& known, std::uint32_t version) {
    for (const sql::Migration& migration : sql::migrations) {
        const auto number = static_cast<std::uint32_t>(migration.number);
        if (number > version || known.contains(migration.number)) continue;
        db.script(db.in_schema(migration.text), migration.name);
        db.write(sql::insert_migration, std::int32_t{migration.number}, migration.name,
                 checksum(migration.text));
    }
}

}  // namespace

std::uint32_t newest_migration() {
    return static_cast<std::uint32_t>(sql::migrations.back().number);
}

Schema schema(Database& db) {
    Schema schema{.newest = newest_migration()};
    const auto known = applied(db);
    for (const sql::Migration& migration : sql::migrations) {
        if (!known.contains(migration.number)) schema.missing.push_back(described(migration));
    }
    if (!known.empty()) schema.version = static_cast<std::uint32_t>(known.rbegin()->first);
    return schema;
}

void migrate(Database& db, std::uint32_t version) {
    if (version == 0 || version > newest_migration()) {
        throw ConfigError{{"migrate: there is no version " + std::to_string(version) +
                           "; this program knows 1 … " + std::to_string(newest_migration())}};
    }
    // Who finds nothing to do needs no right to create anything.
    if (is_current(applied(db), version)) return;
    Transaction transaction{db};
    // Not within the deadline of a question: an index may take its time.
    db.script("set local statement_timeout = 0", "migrate");
    db.write(sql::migration_lock);
    db.script("create schema if not exists \"" + db.schema() + "\"", "create_schema");
    db.write(sql::create_migrations);
    // Somebody else may have been faster.
    const auto known = applied(db);
    if (!is_current(known, version)) apply_missing(db, known, version);
    transaction.commit();
}

}  // namespace waybill::postgres
