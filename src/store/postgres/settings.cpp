#include "settings.hpp"

#include <algorithm>
#include <map>

#include "core/wording.hpp"
#include "waybill/postgres.hpp"
#include "waybill/slot.hpp"

namespace waybill::postgres {
namespace {

constexpr int kOldest = 130000;

bool is_schema_name(const std::string& name) {
    const auto fits = [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
               letter == '_';
    };
    return !name.empty() && name.size() <= 63 && !(name[0] >= '0' && name[0] <= '9') &&
           !name.starts_with("pg_") && std::ranges::all_of(name, fits);
}

}  // namespace

Problems check_settings(Database& db) {
    std::map<std::string, std::string> is;
    {
        Rows rows = db.read(sql::settings);
        while (rows.next()) is.emplace(rows.string(0), rows.string(1));
    }
    Problems problems;
    const auto add = [&](const std::string& what) { problems.push_back("postgres: " + what); };
    if (is["in_recovery"] == "true") {
        add("the server is a standby, which only reads; point the store at the primary");
    }
    if (is["fsync"] != "on") {
        add("fsync is off, so a power cut may damage the whole database; turn it on");
    }
    if (is["full_page_writes"] != "on") {
        add("full_page_writes is off, so a power cut may damage pages; turn it on");
    }
    if (is["synchronous_commit"] == "off") {
        add("synchronous_commit is off, so a crash may lose what was acknowledged; turn it on");
    }
    // As waybill.may_lose_its_commit() has it for who publishes by SQL.
    if (is["synchronous_commit"] == "local" && !is["synchronous_standby_names"].empty()) {
        add("synchronous_commit is local and synchronous_standby_names is set, so a failover may "
            "lose what was acknowledged; turn it on");
    }
    if (is["data_sync_retry"] == "on") {
        add("data_sync_retry is on, so a write that the disk refused may count as done; turn it "
            "off");
    }
    if (is["server_encoding"] != "UTF8") {
        add("the database is in " + is["server_encoding"] + "; create one with encoding UTF8");
    }
    if (std::atoi(is["server_version_num"].c_str()) < kOldest) {
        add("the server is older than PostgreSQL 13, which has no 64-bit transaction ids; upgrade "
            "it");
    }
    return problems;
}

Problems check(const Options& options) {
    Problems problems;
    const auto add = [&](const std::string& what) {
        problems.push_back("postgres store: " + what);
    };
    const auto bounded = [&](const char* name, Duration value) {
        if (value >= std::chrono::milliseconds{10} && value <= std::chrono::minutes{10}) return;
        add(std::string{name} + " is " + detail::readable(value) + "; choose 10 ms to 10 min");
    };
    const auto between = [&](const char* name, std::uint32_t value, std::uint32_t max) {
        if (value >= 1 && value <= max) return;
        add(std::string{name} + " is " + std::to_string(value) + "; choose 1 to " +
            detail::grouped(max));
    };
    if (!is_schema_name(options.schema)) {
        add("schema " + detail::in_quotes(options.schema) +
            " is no name; use 1 … 63 of a-z, 0-9 and _, not beginning with a digit or pg_");
    }
    between("partitions", options.partitions, slot_count);
    between("append_connections", options.append_connections, 64);
    between("inline_connections", options.inline_connections, 1'000);
    bounded("deadline", options.deadline);
    bounded("beat_deadline", options.beat_deadline);
    bounded("people_deadline", options.people_deadline);
    return problems;
}

}  // namespace waybill::postgres
