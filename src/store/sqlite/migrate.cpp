#include "migrate.hpp"

#include <map>

#include "core/runtime/system_random.hpp"
#include "core/sha256.hpp"
#include "waybill/signing.hpp"
#include "waybill/store.hpp"

namespace waybill::sqlite {
namespace {

std::string checksum(std::string_view text) {
    return signing::to_hex(sha256_bytes(text));
}

std::map<int, std::string> applied(Database& db) {
    std::map<int, std::string> found;
    Rows rows = db.query(sql::list_migrations);
    while (rows.next()) found.emplace(rows.number<int>(0), rows.string(2));
    return found;
}

std::string described(const sql::Migration& migration) {
    return std::to_string(migration.number) + " " + migration.name;
}

bool has_migrations(Database& db) {
    return db.query(sql::has_migrations).next();
}

bool is_current(Database& db, std::uint32_t version) {
    if (!has_migrations(db)) return false;
    const auto known = applied(db);
    bool current = true;
    for (const sql::Migration& migration : sql::migrations) {
        const auto found = known.find(migration.number);
        if (found == known.end()) {
            current = current && static_cast<std::uint32_t>(migration.number) > version;
            continue;
        }
        if (found->second == checksum(migration.text)) continue;
        throw StoreError{Reaction::give_up,
                         "sqlite store: migration " + std::to_string(migration.number) + " (" +
                             migration.name +
                             ") was applied with another text than this version has; the file was "
                             "made by a different build: use that one, or a new file"};
    }
    return current;
}

void apply_missing(Session& writer, StoreTime now, std::uint32_t version) {
    Database& db = writer.db;
    db.execute(sql::create_migrations);
    const auto known = applied(db);
    for (const sql::Migration& migration : sql::migrations) {
        const auto number = static_cast<std::uint32_t>(migration.number);
        if (number > version || known.contains(migration.number)) continue;
        db.script(migration.text, migration.name);
        if (migration.number == 1) {
            db.execute(sql::insert_store, to_string(random_uuid(thread_random())));
        }
        db.execute(sql::insert_migration, migration.number, migration.name,
                   checksum(migration.text), now);
    }
}

}  // namespace

Schema schema_of_new_file() {
    Schema schema{.newest = static_cast<std::uint32_t>(sql::migrations.back().number)};
    for (const sql::Migration& migration : sql::migrations) {
        schema.missing.push_back(described(migration));
    }
    return schema;
}

std::string migration_script(std::uint32_t from, std::uint32_t to) {
    const auto newest = static_cast<std::uint32_t>(sql::migrations.back().number);
    if (to == 0 || to > newest || from > to) {
        throw ConfigError{{"migrate: there is no way from version " + std::to_string(from) +
                           " to " + std::to_string(to) + "; this program knows 1 … " +
                           std::to_string(newest)}};
    }
    std::string script;
    for (const sql::Migration& migration : sql::migrations) {
        const auto number = static_cast<std::uint32_t>(migration.number);
        if (number <= from || number > to) continue;
        script += "-- " + described(migration) + "\n" + std::string{migration.text} + "\n";
    }
    return script;
}

Schema schema(Database& db) {
    Schema schema = schema_of_new_file();
    if (!has_migrations(db)) return schema;
    const auto known = applied(db);
    for (const sql::Migration& migration : sql::migrations) {
        if (known.contains(migration.number)) std::erase(schema.missing, described(migration));
    }
    if (!known.empty()) schema.version = static_cast<std::uint32_t>(known.rbegin()->first);
    return schema;
}

void migrate(Session& writer, StoreTime now) {
    migrate(writer, now, static_cast<std::uint32_t>(sql::migrations.back().number));
}

void migrate(Session& writer, StoreTime now, std::uint32_t version) {
    const auto newest = static_cast<std::uint32_t>(sql::migrations.back().number);
    if (version == 0 || version > newest) {
        throw ConfigError{{"migrate: there is no version " + std::to_string(version) +
                           "; this program knows 1 … " + std::to_string(newest)}};
    }
    if (is_current(writer.db, version)) return;
    writer.db.execute(sql::begin_write);
    try {
        // Somebody else may have been faster.
        if (!is_current(writer.db, version)) apply_missing(writer, now, version);
        writer.db.execute(sql::commit);
    } catch (...) {
        if (writer.db.in_transaction()) writer.db.execute(sql::rollback);
        throw;
    }
    writer.forget();
}

}  // namespace waybill::sqlite
