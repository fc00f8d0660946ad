#include "glance.hpp"

#include <filesystem>

#include "migrate.hpp"
#include "waybill/sqlite.hpp"

namespace waybill::sqlite {
namespace {

constexpr std::size_t kTablesMax = 5;

/// As a URI that promises SQLite that nobody writes, so that it neither locks nor makes a journal.
std::string as_immutable(const std::string& path) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string uri = "file:";
    for (const char c : path) {
        const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                              (c >= 'A' && c <= 'Z') || c == '/' || c == '-' || c == '.' ||
                              c == '_';
        if (is_plain) {
            uri += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        uri += '%';
        uri += kDigits[byte >> 4];
        uri += kDigits[byte & 15U];
    }
    return uri + "?immutable=1";
}

}  // namespace

std::unique_ptr<Database> open_to_look(const std::string& path) {
    // A journal says that somebody has it open, or had: then what is in it counts too.
    const bool has_journal =
        std::filesystem::exists(path + "-wal") || std::filesystem::exists(path + "-journal");
    auto db = std::make_unique<Database>(
        has_journal ? path : as_immutable(std::filesystem::absolute(path).string()),
        SQLITE_OPEN_READONLY | (has_journal ? 0 : SQLITE_OPEN_URI));
    db->wait_at_most(std::chrono::seconds{2});
    return db;
}

Glance glance(const std::string& path) {
    const auto db = open_to_look(path);
    Glance seen{.schema = schema(*db)};
    Rows rows = db->query(sql::tables_of_others);
    while (seen.tables_of_others.size() < kTablesMax && rows.next()) {
        seen.tables_of_others.push_back(rows.string(0));
    }
    return seen;
}

}  // namespace waybill::sqlite
