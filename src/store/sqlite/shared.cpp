#include "shared.hpp"

#include <cstdlib>

#include "error_map.hpp"

namespace waybill::sqlite {
namespace {

/// The file behind links, so that two names of it are one lock.
std::string real_path(const std::string& path) {
    if (path.empty() || path == ":memory:") {
        throw ConfigError{{"sqlite store: \"" + path +
                           "\" is no file; name one, or use waybill::memory::open()"}};
    }
    const std::unique_ptr<char, decltype(&std::free)> real{::realpath(path.c_str(), nullptr),
                                                           &std::free};
    return real ? std::string{real.get()} : path;
}

const char* synchronous_pragma(Synchronous level) {
    switch (level) {
        case Synchronous::normal: return "pragma synchronous = normal";
        case Synchronous::full: return "pragma synchronous = full";
        case Synchronous::extra: return "pragma synchronous = extra";
    }
    return "";
}

void use_wal(Database& db, const std::string& path) {
    if (sqlite3_db_readonly(db.handle(), "main") == 1) {
        throw error_of(SQLITE_READONLY, "the file is read-only", "open", path);
    }
    const std::string mode = db.pragma("pragma journal_mode = wal");
    if (mode == "wal") return;
    throw StoreError{Reaction::give_up, "sqlite " + path + ": the journal stays in mode \"" + mode +
                                            "\" and not WAL; the file must be on a local disk"};
}

}  // namespace

std::unique_ptr<Session> open_session(const std::string& path, Role role, const Options& options) {
    int flags = SQLITE_OPEN_READWRITE;
    if (role == Role::writer) flags |= SQLITE_OPEN_CREATE;
    // Ours are used by one thread at a time; what a handler does with its own is its own affair.
    flags |= role == Role::handler ? SQLITE_OPEN_FULLMUTEX : SQLITE_OPEN_NOMUTEX;
    auto session = std::make_unique<Session>(path, flags);
    Database& db = session->db;
    db.wait_at_most(options.busy_timeout);
    // Before anything is written: only our keeper copies the journal, and only under the write lock.
    sqlite3_wal_autocheckpoint(db.handle(), 0);
    if (role == Role::writer) use_wal(db, path);
    db.pragma(synchronous_pragma(options.synchronous));
    db.pragma("pragma temp_store = memory");
    db.pragma("pragma trusted_schema = off");
    if (role == Role::writer) {
        db.pragma("pragma cache_size = -16384");
        // What a long reader made of the journal is given back when it begins anew.
        db.pragma("pragma journal_size_limit = 67108864");
    }
    if (role == Role::reader) db.pragma("pragma query_only = on");
    return session;
}

Shared::Shared(const std::string& the_path, Clock& the_clock, const Options& the_options)
    : options(the_options),
      clock(the_clock),
      path(real_path(the_path)),
      lock(path),
      writer_(open_session(path, Role::writer, options)),
      queue(*writer_, {.patience = options.busy_timeout}),
      keeper_(*this) {}

std::string Shared::description() const {
    return "sqlite " + std::string{sqlite3_libversion()} + ", " + path + ", " +
           std::to_string(keeper_.journal_pages()) + " pages in the journal";
}

Session& Shared::handler_session() {
    if (!handler_) handler_ = open_session(path, Role::handler, options);
    return *handler_;
}

}  // namespace waybill::sqlite
