#pragma once

#include <string_view>

#include "database.hpp"

/// On a connection that is not ours.
namespace waybill::sqlite {

/// Refuses one that may lose its commit in a power cut, unless that is meant; and turns SQLite's own
/// checkpoints off on it, because only the keeper copies the journal. `who` is named in errors.
void prepare_caller(Database& db, bool relaxed_durability, std::string_view who);

/// What is kept or undone together inside a transaction that is not ours.
class Savepoint {
public:
    explicit Savepoint(Database& db) : db_(db) { db_.execute(sql::savepoint); }
    ~Savepoint();
    Savepoint(const Savepoint&) = delete;
    Savepoint& operator=(const Savepoint&) = delete;

    void keep();

private:
    Database& db_;
    bool is_kept_ = false;
};

}  // namespace waybill::sqlite
