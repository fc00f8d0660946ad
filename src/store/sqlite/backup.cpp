#include "backup.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "core/runtime/system_random.hpp"
#include "error_map.hpp"

namespace waybill::sqlite {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw StoreError{Reaction::give_up, "sqlite backup " + path + ": " + why};
}

void sync_to_disk(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool is_synced = descriptor >= 0 && ::fsync(descriptor) == 0;
    const int error = errno;
    if (descriptor >= 0) ::close(descriptor);
    if (!is_synced)
        refuse(path, std::string{"the disk did not confirm it: "} + std::strerror(error));
}

/// For its owner alone from its first moment on, whatever the umask says.
void create_private(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        refuse(path, std::string{"cannot create it: "} + std::strerror(errno) +
                         "; the folder must be there and let itself be written to");
    }
    ::close(descriptor);
}

void copy_pages(Session& from, const std::string& path) {
    create_private(path);
    Database to{path, SQLITE_OPEN_READWRITE};
    // Who may read the store may read its copy, and nobody else.
    fs::permissions(path, fs::status(sqlite3_db_filename(from.db.handle(), "main")).permissions());
    sqlite3_backup* copy = sqlite3_backup_init(to.handle(), "main", from.db.handle(), "main");
    if (copy == nullptr) raise(to.handle(), sqlite3_errcode(to.handle()), "backup");
    // In one step: it reads one snapshot, and no writer can make it start again.
    const int code = sqlite3_backup_step(copy, -1);
    sqlite3_backup_finish(copy);
    if (code != SQLITE_DONE) raise(to.handle(), code, "backup");
    // A journal of the copy would not be renamed with it. Whoever opens the copy turns WAL on again.
    to.pragma("pragma journal_mode = delete");
    to.execute(sql::new_generation, to_string(random_uuid(thread_random())));
}

}  // namespace

Problems integrity_check(Database& db) {
    Problems problems;
    try {
        Rows rows = db.query(sql::integrity_check);
        while (rows.next()) {
            if (rows.text(0) != "ok") problems.push_back(rows.string(0));
        }
    } catch (const StoreError& error) {
        // Some damage ends the check itself.
        if (error.reaction() != Reaction::give_up) throw;
        problems.push_back(error.what());
    }
    return problems;
}

void backup(Session& from, const std::string& path) {
    if (fs::exists(path)) refuse(path, "the file exists; name one that does not");
    const std::string unfinished = path + ".unfinished";
    fs::remove(unfinished);
    try {
        copy_pages(from, unfinished);
        sync_to_disk(unfinished);
        fs::rename(unfinished, path);
        const fs::path folder = fs::path{path}.parent_path();
        sync_to_disk(folder.empty() ? "." : folder.string());
    } catch (const fs::filesystem_error& error) {
        refuse(path, error.what());
    } catch (...) {
        std::error_code ignored;
        fs::remove(unfinished, ignored);
        throw;
    }
}

}  // namespace waybill::sqlite
