#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <sqlite3.h>

#include "waybill/message.hpp"
#include "waybill/sqlite.hpp"

/// What sqlite3 alone does with the same rows in the same tables, with the same durability: prepared
/// statements, one thread, nothing in between. The limit the store is measured against.
namespace waybill::bench {

class RawSqlite {
public:
    /// The tables are those of the store, made by it.
    explicit RawSqlite(const std::string& path) {
        {
            const auto store = sqlite::open(path);
            store->migrate();
            const BoxDeclaration box{"bench", {}};
            store->declare({&box, 1}, {});
        }
        check(sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                              nullptr));
        run("pragma synchronous = full");
        run("pragma wal_autocheckpoint = 4000");
        run("pragma cache_size = -16384");
        begin_ = prepare("begin immediate");
        commit_ = prepare("commit");
        message_ = prepare(
            "insert into waybill_message (id, partition, appended_at, occurred_at, not_before, "
            "type, "
            "source, content_type, tenant, user_id, correlation_id, lane, dedup_key, collapse_key, "
            "attributes, body) values (?1, 1, ?2, 0, 0, ?3, ?6, '', '', '', '', ?4, ?7, '', ?8, "
            "?5)");
        dedup_ = prepare(
            "insert into waybill_dedup (scope, key, id, body_hash, until) "
            "values (?1, ?2, ?3, ?4, null)");
        open_ = prepare(
            "insert into waybill_open (place, id, lane, due) values ((1 << 47) | ?1, ?2, ?3, 0)");
        delete_ = prepare("delete from waybill_open where place = (1 << 47) | ?1");
        finished_ =
            prepare("insert into waybill_finished (box, held, at, message) values (1, 0, ?1, ?2)");
    }
    ~RawSqlite() {
        for (sqlite3_stmt* statement :
             {begin_, commit_, message_, dedup_, open_, delete_, finished_}) {
            sqlite3_finalize(statement);
        }
        sqlite3_close(db_);
    }
    RawSqlite(const RawSqlite&) = delete;
    RawSqlite& operator=(const RawSqlite&) = delete;

    /// One commit. A message with a dedup key has its dedup record, with a hash of 32 bytes.
    void insert(const std::vector<Message>& messages) {
        step(begin_);
        for (const Message& message : messages) {
            if (!message.dedup_key.empty()) insert_dedup(message);
            bind(message_, 1, message.id);
            sqlite3_bind_int64(message_, 2, 1'700'000'000'000'000);
            bind_text(message_, 3, message.type);
            bind_text(message_, 4, message.lane);
            sqlite3_bind_blob(message_, 5, message.body.data(),
                              static_cast<int>(message.body.size()), SQLITE_STATIC);
            bind_text(message_, 6, message.source);
            bind_text(message_, 7, message.dedup_key);
            bind_attributes(message);
            step(message_);
            const sqlite3_int64 sequence = sqlite3_last_insert_rowid(db_);
            sqlite3_bind_int64(open_, 1, sequence);
            bind(open_, 2, message.id);
            if (message.lane.empty()) {
                sqlite3_bind_null(open_, 3);
            } else {
                sqlite3_bind_int64(open_, 3, lane_number(message.lane));
            }
            step(open_);
            inserted_.push_back(sequence);
        }
        step(commit_);
    }
    /// What was inserted and not yet finished, up to `count`, in one commit.
    void finish(std::size_t count) {
        step(begin_);
        for (; count > 0 && next_ < inserted_.size(); --count, ++next_) {
            sqlite3_bind_int64(delete_, 1, inserted_[next_]);
            step(delete_);
            sqlite3_bind_int64(finished_, 1, 1'700'000'000'000'000);
            sqlite3_bind_int64(finished_, 2, inserted_[next_]);
            step(finished_);
        }
        step(commit_);
    }

private:
    void insert_dedup(const Message& message) {
        static const std::string hash(32, 'h');
        bind_text(dedup_, 1, message.box);
        bind_text(dedup_, 2, message.dedup_key);
        bind(dedup_, 3, message.id);
        sqlite3_bind_blob(dedup_, 4, hash.data(), 32, SQLITE_STATIC);
        step(dedup_);
    }
    /// As many bytes as the store packs them into, about.
    void bind_attributes(const Message& message) {
        packed_.clear();
        for (const auto& [name, value] : message.attributes) packed_ += name + "=" + value + "\n";
        if (packed_.empty()) {
            sqlite3_bind_null(message_, 8);
        } else {
            sqlite3_bind_blob(message_, 8, packed_.data(), static_cast<int>(packed_.size()),
                              SQLITE_STATIC);
        }
    }
    void check(int code) {
        if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_));
    }
    void run(const char* statement) {
        check(sqlite3_exec(db_, statement, nullptr, nullptr, nullptr));
    }
    sqlite3_stmt* prepare(const char* text) {
        sqlite3_stmt* statement = nullptr;
        check(sqlite3_prepare_v3(db_, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
        return statement;
    }
    void step(sqlite3_stmt* statement) {
        if (sqlite3_step(statement) != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(db_));
        sqlite3_reset(statement);
    }
    static void bind(sqlite3_stmt* statement, int index, const Uuid& id) {
        sqlite3_bind_blob(statement, index, id.bytes.data(), 16, SQLITE_STATIC);
    }
    static void bind_text(sqlite3_stmt* statement, int index, const std::string& text) {
        sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()),
                          SQLITE_STATIC);
    }
    static sqlite3_int64 lane_number(const std::string& lane) {
        return static_cast<sqlite3_int64>(std::hash<std::string>{}(lane));
    }

    sqlite3* db_ = nullptr;
    sqlite3_stmt* begin_ = nullptr;
    sqlite3_stmt* commit_ = nullptr;
    sqlite3_stmt* message_ = nullptr;
    sqlite3_stmt* dedup_ = nullptr;
    sqlite3_stmt* open_ = nullptr;
    sqlite3_stmt* delete_ = nullptr;
    sqlite3_stmt* finished_ = nullptr;
    std::vector<sqlite3_int64> inserted_;
    std::size_t next_ = 0;
    std::string packed_{};
};

}  // namespace waybill::bench
