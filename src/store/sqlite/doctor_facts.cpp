#include <filesystem>
#include <fstream>
#include <memory>

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.hpp"
#include "doctor.hpp"
#include "glance.hpp"
#include "migrate.hpp"
#include "settings.hpp"
#include "waybill/system.hpp"

namespace waybill::sqlite {
namespace {

std::string account_of(::uid_t user) {
    const passwd* const entry = ::getpwuid(user);
    return entry != nullptr ? entry->pw_name : std::to_string(user);
}

std::uint64_t size_of(const std::string& path) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(path, missing);
    return missing ? 0 : size;
}

/// What needs no SQLite.
doctor::Facts facts_of_file(const std::string& path) {
    doctor::Facts facts{.path = path};
    struct ::stat info {};
    facts.exists = ::stat(path.c_str(), &info) == 0;
    if (!facts.exists) return facts;
    facts.owner = account_of(info.st_uid);
    facts.user = account_of(::geteuid());
    facts.is_mine = info.st_uid == ::geteuid();
    facts.is_public = (info.st_mode & (S_IRWXG | S_IRWXO)) != 0;
    facts.may_write = ::access(path.c_str(), R_OK | W_OK) == 0;
    if (const char* network = network_of(path)) facts.network = network;
    std::error_code unknown;
    const auto space = std::filesystem::space(path, unknown);
    if (!unknown) facts.free_bytes = space.available;
    facts.file_bytes = size_of(path);
    facts.journal_bytes = size_of(path + "-wal");
    return facts;
}

/// Two bytes of its header say so; the WAL mode is the only one that outlives a connection.
bool is_written_ahead(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    char versions[2] = {};
    return file.seekg(18).read(versions, 2) && versions[0] == 2 && versions[1] == 2;
}

void ask_database(Database& db, doctor::Facts& facts) {
    // One that nobody has open is read without its journal: only the file itself knows.
    if (!is_written_ahead(facts.path)) facts.journal_mode = db.pragma("pragma journal_mode");
    facts.unused_bytes = std::stoull(db.pragma("pragma freelist_count")) *
                         std::stoull(db.pragma("pragma page_size"));
    facts.schema = schema(db);
    {
        Rows rows = db.query(sql::tables_of_others);
        while (rows.next()) facts.tables_of_others.push_back(rows.string(0));
    }
    try {
        Rows rows = db.query(sql::quick_check);
        while (rows.next()) {
            if (rows.text(0) != "ok") facts.damage.push_back(rows.string(0));
        }
    } catch (const StoreError& error) {
        // Some damage ends the check itself.
        if (error.reaction() != Reaction::give_up) throw;
        facts.damage.emplace_back(error.what());
    }
}

void ask_work(Database& db, doctor::Facts& facts, std::vector<Waiting>& waiting) {
    facts.health = health(db, system_clock().wall());
    for (const BoxState& box : boxes(db)) {
        if (box.paused) facts.paused_boxes.push_back(box.name);
    }
    for (const Target& target : targets(db)) waiting.push_back({target, waiting_for(db, target)});
}

}  // namespace

Examined examine(const std::string& path, const DoctorOptions& options) {
    Examined examined;
    doctor::Facts facts = facts_of_file(path);
    if (facts.exists) {
        try {
            const auto db = open_to_look(path);
            ask_database(*db, facts);
            // Those of an older version may not be there yet.
            if (facts.schema.version > 0 && facts.schema.missing.empty()) {
                ask_work(*db, facts, examined.targets);
            }
        } catch (const StoreError& error) {
            if (facts.damage.empty()) facts.unreadable = error.what();
        }
    }
    examined.findings = doctor::diagnose(facts, options);
    return examined;
}

std::vector<Note> notes_in(const std::string& path, const std::string& prefix) {
    const auto db = open_to_look(path);
    const Schema seen = schema(*db);
    if (seen.version == 0 || !seen.missing.empty()) return {};
    return notes(*db, system_clock().wall(), prefix);
}

}  // namespace waybill::sqlite
