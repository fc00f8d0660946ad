#include "error_map.hpp"

#include <array>

#include <sqlite3.h>

namespace waybill::sqlite {
namespace {

struct Row {
    int code;
    Reaction reaction;
    std::string_view advice;
};

/// Extended codes first where they differ from their family.
constexpr std::array<Row, 22> table{{
    {SQLITE_IOERR_FSYNC, Reaction::find_out,
     "the disk did not confirm a write; check it, then restart the process"},
    {SQLITE_IOERR_DIR_FSYNC, Reaction::find_out,
     "the disk did not confirm a write; check it, then restart the process"},
    {SQLITE_READONLY_DBMOVED, Reaction::give_up,
     "the file was moved or replaced while it was open; restart the process on the right one"},
    {SQLITE_READONLY_DIRECTORY, Reaction::back_off,
     "the folder must be writable too: SQLite keeps its journal there"},
    {SQLITE_BUSY_SNAPSHOT, Reaction::retry,
     "somebody else has written since this transaction began to read: roll it back and repeat it, "
     "and begin it with BEGIN IMMEDIATE"},
    {SQLITE_IOERR, Reaction::back_off, "the disk or the file system failed; see the system's log"},
    {SQLITE_FULL, Reaction::back_off, "make room; what was refused can be tried again then"},
    {SQLITE_READONLY, Reaction::back_off,
     "make the file, its -wal and -shm and their folder writable for this user"},
    {SQLITE_BUSY, Reaction::retry,
     "another connection holds the write lock; keep transactions short, and begin those that write "
     "with BEGIN IMMEDIATE: only they can wait for it"},
    {SQLITE_LOCKED, Reaction::retry, ""},
    {SQLITE_PROTOCOL, Reaction::retry, ""},
    {SQLITE_INTERRUPT, Reaction::retry, ""},
    {SQLITE_SCHEMA, Reaction::retry, ""},
    {SQLITE_NOMEM, Reaction::back_off, "the process is out of memory"},
    {SQLITE_CANTOPEN, Reaction::give_up,
     "check the path, and that this user may read and write the file and its folder"},
    {SQLITE_PERM, Reaction::give_up, "check who may write the file and its folder"},
    {SQLITE_AUTH, Reaction::give_up, ""},
    {SQLITE_CORRUPT, Reaction::give_up,
     "the file is damaged: stop, keep a copy of it, run `pragma integrity_check`, restore a "
     "backup"},
    {SQLITE_NOTADB, Reaction::give_up, "the file is no SQLite database, or it is damaged"},
    {SQLITE_TOOBIG, Reaction::bad_data, "a value is larger than SQLite can hold"},
    {SQLITE_CONSTRAINT, Reaction::bad_data, ""},
    {SQLITE_MISMATCH, Reaction::bad_data, ""},
}};

const Row* row_of(int code) {
    for (const Row& row : table) {
        if (row.code == code) return &row;
    }
    for (const Row& row : table) {
        if (row.code == (code & 0xFF)) return &row;
    }
    return nullptr;
}

}  // namespace

Reaction reaction_of(int code) {
    const Row* row = row_of(code);
    return row == nullptr ? Reaction::give_up : row->reaction;
}

std::string_view advice_for(int code) {
    const Row* row = row_of(code);
    return row == nullptr ? std::string_view{} : row->advice;
}

StoreError error_of(int code, std::string_view message, std::string_view doing,
                    std::string_view file) {
    std::string text = "sqlite ";
    text.append(file.empty() ? "store" : file).append(": ").append(doing).append(": ");
    text.append(message).append(" (").append(std::to_string(code)).append(")");
    if (const auto advice = advice_for(code); !advice.empty()) text.append("; ").append(advice);
    if (code == SQLITE_ERROR && message.starts_with("no such table: waybill_")) {
        text +=
            "; the tables of waybill are missing: start the application once, or run migrate() "
            "first";
    }
    return {reaction_of(code), text};
}

void raise(sqlite3* db, int code, std::string_view doing) {
    const char* file = db == nullptr ? nullptr : sqlite3_db_filename(db, "main");
    const char* message = db == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db);
    const int extended = db == nullptr ? code : sqlite3_extended_errcode(db);
    throw error_of((extended & 0xFF) == (code & 0xFF) ? extended : code, message, doing,
                   file == nullptr ? "" : file);
}

}  // namespace waybill::sqlite
