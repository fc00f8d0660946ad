#include "migrate.hpp"

#include <algorithm>
#include <map>

#include "core/sha256.hpp"
#include "error_map.hpp"
#include "waybill/signing.hpp"
#include "waybill/store.hpp"

namespace waybill::postgres {
namespace {

std::string checksum(std::string_view text) {
    return signing::to_hex(sha256_bytes(text));
}

std::string described(const sql::Migration& migration) {
    return std::to_string(migration.number) + " " + migration.name;
}

/// A row of waybill.migration.
struct Applied {
    std::string checksum{};
    std::string name{};
    bool breaking = false;
};

std::map<int, Applied> applied(Database& db) {
    std::map<int, Applied> found;
    {
        Rows rows = db.read(sql::has_migrations);
        if (!rows.next() || !rows.flag(0)) return found;
    }
    Rows rows = db.read(sql::list_migrations);
    while (rows.next()) {
        found.emplace(rows.number<int>(0), Applied{rows.string(1), rows.string(2), rows.flag(3)});
    }
    return found;
}

/// Said in its first line.
bool is_breaking(const sql::Migration& migration) {
    return migration.text.starts_with("-- breaking");
}

[[noreturn]] void refuse_schema(const std::string& why) {
    throw StoreError{Reaction::give_up, "postgres store: " + why};
}

/// Later versions add to the schema; what they take away they say.
std::vector<std::string> breaking(const std::map<int, Applied>& known) {
    std::vector<std::string> all;
    for (const auto& [number, migration] : known) {
        if (static_cast<std::uint32_t>(number) <= newest_migration() || !migration.breaking)
            continue;
        all.push_back(std::to_string(number) + " " + migration.name);
    }
    return all;
}

std::vector<std::string> changed(const std::map<int, Applied>& known) {
    std::vector<std::string> all;
    for (const sql::Migration& migration : sql::migrations) {
        const auto found = known.find(migration.number);
        const bool is_ours =
            found == known.end() || found->second.checksum == checksum(migration.text);
        if (!is_ours) all.push_back(described(migration));
    }
    return all;
}

void must_be_ours(const std::map<int, Applied>& known) {
    if (const auto later = breaking(known); !later.empty()) {
        refuse_schema("the schema was changed by a later version (migration " + later.front() +
                      ", breaking), and this one knows " + std::to_string(newest_migration()) +
                      "; run the later version");
    }
    if (const auto others = changed(known); !others.empty()) {
        refuse_schema(
            "migration " + others.front() +
            " was applied with another text than this version has; the schema was made by a "
            "different build: use that one, or another schema");
    }
}

bool is_current(const std::map<int, Applied>& known, std::uint32_t version) {
    must_be_ours(known);
    return std::ranges::all_of(sql::migrations, [&](const sql::Migration& migration) {
        return known.contains(migration.number) ||
               static_cast<std::uint32_t>(migration.number) > version;
    });
}

/// Who would be broken must have ended first.
void must_be_alone(Database& db, const sql::Migration& migration) {
    Rows rows = db.read(sql::instances_behind, std::int32_t{migration.number});
    std::string names;
    while (rows.next()) names += (names.empty() ? "" : ", ") + rows.string(0);
    if (names.empty()) return;
    refuse_schema("migration " + described(migration) +
                  " is breaking, and instances of an earlier version run: " + names +
                  "; stop them first, or let them be replaced");
}

void apply_missing(Database& db, const std::map<int, Applied>& known, std::uint32_t version) {
    for (const sql::Migration& migration : sql::migrations) {
        const auto number = static_cast<std::uint32_t>(migration.number);
        if (number > version || known.contains(migration.number)) continue;
        if (is_breaking(migration)) must_be_alone(db, migration);
        db.script(db.in_schema(migration.text), migration.name);
        db.write(sql::insert_migration, std::int32_t{migration.number}, migration.name,
                 checksum(migration.text), is_breaking(migration));
    }
}

/// One transaction, under a lock.
void bring_to(Database& db, std::uint32_t version) {
    Transaction transaction{db};
    db.script("set local statement_timeout = 0; set local lock_timeout = 0", "migrate");
    db.write(sql::migration_lock);
    // One that was made for us needs no right to make others.
    if (db.read(sql::has_schema, db.schema()).count() == 0) {
        db.script("create schema \"" + db.schema() + "\"", "create_schema");
    }
    // Who may not create is refused here, also where the table is.
    db.write(sql::create_migrations);
    // Somebody else may have been faster.
    const auto known = applied(db);
    if (!is_current(known, version)) apply_missing(db, known, version);
    transaction.commit();
}

/// What the server says is true of one statement; a person must know whose work it is.
[[noreturn]] void refuse_role(Database& db, std::uint32_t version, const std::string& why) {
    const auto known = applied(db);
    Rows rows = db.read(sql::schema_owner, db.schema());
    rows.next();
    const std::string owner = rows.string(1);
    const std::string state =
        known.empty() ? (owner.empty() ? "there is no schema " + db.schema()
                                       : "schema " + db.schema() + " has no tables of ours")
                      : "the schema is older than this program: of version " +
                            std::to_string(known.rbegin()->first) + ", and it needs " +
                            std::to_string(version);
    refuse_schema(
        state + "; role " + rows.string(0) + " may not change that: run `waybill migrate` as " +
        (owner.empty() ? "a role that may create schemas" : owner + ", who owns it, or a member") +
        " (" + why + ")");
}

std::string in_quotes(std::string_view text) {
    return "'" + std::string{text} + "'";  // names and checksums: nothing to escape in them
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

std::string migration_script(std::uint32_t from, std::uint32_t to, const std::string& schema) {
    if (to == 0 || to > newest_migration() || from > to) {
        throw ConfigError{{"migrate: there is no way from version " + std::to_string(from) +
                           " to " + std::to_string(to) + "; this program knows 1 … " +
                           std::to_string(newest_migration())}};
    }
    const auto mine = [&](const sql::Query& query) {
        std::string_view text = query.text;
        while (text.starts_with('\n') || text.starts_with("--")) {
            text.remove_prefix(text.starts_with('\n') ? 1 : text.find('\n'));
        }
        return in_schema(text, schema) + ";\n";
    };
    std::string script = "begin;\n" + mine(sql::migration_lock);
    // `create schema if not exists` asks for the right to create others, also where it is there.
    if (from == 0) {
        script += "do $$ begin\n    if not exists (select from pg_namespace where nspname = " +
                  in_quotes(schema) + ") then create schema \"" + schema +
                  "\"; end if;\nend $$;\n" + mine(sql::create_migrations);
    }
    for (const sql::Migration& migration : sql::migrations) {
        const auto number = static_cast<std::uint32_t>(migration.number);
        if (number <= from || number > to) continue;
        script += "\n-- " + described(migration) + "\n" + in_schema(migration.text, schema) +
                  "insert into \"" + schema +
                  "\".migration (number, name, checksum, breaking) values (" +
                  std::to_string(number) + ", " + in_quotes(migration.name) + ", " +
                  in_quotes(checksum(migration.text)) + ", " +
                  (is_breaking(migration) ? "true" : "false") + ");\n";
    }
    return script + "commit;\n";
}

void must_be_ours(Database& db) {
    must_be_ours(applied(db));
}

std::vector<std::string> changed_migrations(Database& db) {
    return changed(applied(db));
}

std::vector<std::string> breaking_migrations(Database& db) {
    return breaking(applied(db));
}

void migrate(Database& db, std::uint32_t version) {
    if (version == 0 || version > newest_migration()) {
        throw ConfigError{{"migrate: there is no version " + std::to_string(version) +
                           "; this program knows 1 … " + std::to_string(newest_migration())}};
    }
    // Not within the deadline of a question: an index may take its time, and so may who is faster.
    db.start_call(forever);
    // Who finds nothing to do needs no right to create anything.
    if (is_current(applied(db), version)) return;
    try {
        return bring_to(db, version);
    } catch (const ServerError& error) {
        if (!error.is_denied()) throw;
        refuse_role(db, version, error.what());
    }
}

}  // namespace waybill::postgres
