#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waybill/schema.hpp"
#include "waybill/sqlite/doctor.hpp"
#include "waybill/upkeep.hpp"

/// What `waybill doctor` knows of a file, and what it makes of that.
namespace waybill::sqlite::doctor {

struct Facts {
    std::string path{};
    bool exists = true;
    /// Why it could not be read as a database; empty: it could.
    std::string unreadable{};
    /// Of the file; and who asks.
    std::string owner{};
    std::string user{};
    bool is_mine = true;
    /// Others on this host may read it.
    bool is_public = false;
    bool may_write = true;
    /// A file system of other hosts; empty: it is local.
    std::string network{};
    std::uint64_t free_bytes = ~std::uint64_t{0};
    std::uint64_t file_bytes = 0;
    std::uint64_t journal_bytes = 0;
    /// Of the file: pages that nothing uses.
    std::uint64_t unused_bytes = 0;
    std::string journal_mode = "wal";
    /// What SQLite finds wrong.
    std::vector<std::string> damage{};
    std::vector<std::string> tables_of_others{};
    Schema schema{};
    StoreHealth health{};
    std::vector<std::string> paused_boxes{};
};

/// doctor.cpp: decides. Pure; the worst first.
Findings diagnose(const Facts& facts, const DoctorOptions& options);

}  // namespace waybill::sqlite::doctor
