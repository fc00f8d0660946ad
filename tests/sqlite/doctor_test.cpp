/// `waybill doctor` on a file: what is made of facts, and each condition on a real one.

#include "waybill/sqlite/doctor.hpp"

#include <filesystem>
#include <fstream>
#include <functional>

#include <sqlite3.h>
#include <sys/stat.h>

#include "doctor.hpp"
#include "sqlite/fixture.hpp"

namespace waybill::test {
namespace {

using sqlite::doctor::Facts;
using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Severity = Finding::Severity;

struct FileCase {
    const char* is;
    std::function<void(Facts&)> change;
    Severity severity;
    const char* name;
    const char* fix;
};

const FileCase kFileCases[] = {
    {"NotThere", [](Facts& f) { f.exists = false; }, Severity::problem, "no-file", "waybill serve"},
    {"NoDatabase", [](Facts& f) { f.unreadable = "no database"; }, Severity::problem, "unreadable",
     "file '/x/it'\\''s.db'"},
    {"Damaged", [](Facts& f) { f.damage = {"page 7"}; }, Severity::problem, "damage", ".recover"},
    {"NotMine",
     [](Facts& f) {
         f.is_mine = false;
         f.may_write = false;
         f.owner = "waybill";
     },
     Severity::warning, "file-owner", "sudo -u waybill"},
    {"ReadOnly", [](Facts& f) { f.may_write = false; }, Severity::problem, "file-rights",
     "chmod u+rw"},
    {"Network", [](Facts& f) { f.network = "NFS"; }, Severity::problem, "network-disk",
     "local disk"},
    {"DiskNearlyFull", [](Facts& f) { f.free_bytes = std::uint64_t{400} << 20; }, Severity::warning,
     "disk-space", "df -h"},
    {"DiskFull", [](Facts& f) { f.free_bytes = 0; }, Severity::problem, "disk-space", "df -h"},
    {"Journal", [](Facts& f) { f.journal_bytes = std::uint64_t{1} << 30; }, Severity::warning,
     "large-journal", "lsof"},
    {"Unused", [](Facts& f) { f.unused_bytes = f.file_bytes = std::uint64_t{1} << 30; },
     Severity::note, "unused-pages", "vacuum"},
    {"Old",
     [](Facts& f) {
         f.schema = {1, 2, {"2 notes"}};
     },
     Severity::problem, "stale-schema", "waybill migrate --store sqlite:"},
    {"New", [](Facts& f) { f.schema.version = 9; }, Severity::note, "newer-schema", ""},
    {"Waits", [](Facts& f) { f.health.oldest_open = 10min; }, Severity::warning, "old-message",
     "waybill messages list"},
    {"Dead", [](Facts& f) { f.health.dead = 3; }, Severity::note, "dead-letters",
     "waybill dead list"},
    {"Paused", [](Facts& f) { f.paused_boxes = {"a"}; }, Severity::note, "paused-box",
     "waybill boxes resume a"},
};

class FileDiagnosis : public testing::TestWithParam<FileCase> {};

TEST_P(FileDiagnosis, OneConditionIsOneFindingWithItsFix) {
    Facts facts{.path = "/x/it's.db", .schema = {.version = 2, .newest = 2}};
    ASSERT_THAT(sqlite::doctor::diagnose(facts, {}), IsEmpty());
    GetParam().change(facts);

    const Findings findings = sqlite::doctor::diagnose(facts, {});

    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].severity, GetParam().severity);
    EXPECT_EQ(findings[0].name, GetParam().name);
    EXPECT_THAT(findings[0].fix, HasSubstr(GetParam().fix));
}

INSTANTIATE_TEST_SUITE_P(Sqlite, FileDiagnosis, testing::ValuesIn(kFileCases),
                         [](const auto& tried) { return std::string{tried.param.is}; });

class SqliteDoctor : public testing::Test {
protected:
    SqliteDoctor() {
        OpenedStore{path_};
        std::filesystem::permissions(path_, std::filesystem::perms{0600});
    }
    Findings examine() {
        // However little room there is where tests run.
        return sqlite::examine(path_, {.free_bytes = 0}).findings;
    }
    void run(const std::string& statements) {
        sqlite3* db = nullptr;
        ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
        sqlite3_close(db);
    }
    static auto has(const std::string& name, const std::string& what) {
        return Contains(AllOf(Field(&Finding::name, name), Field(&Finding::what, HasSubstr(what))));
    }

    TemporaryFolder folder_{};
    const std::string path_ = folder_.file("store.db");
};

TEST_F(SqliteDoctor, AHealthyFileHasNoFindingsAlsoWhileItIsOpenAndIsLeftAsItIs) {
    EXPECT_THAT(examine(), IsEmpty());
    OpenedStore opened{path_};
    opened.append(1);

    EXPECT_THAT(examine(), IsEmpty());
    EXPECT_TRUE(opened.has(1));
}

TEST_F(SqliteDoctor, AJournalModeThatSomebodyChangedIsNamedAndMended) {
    run("pragma journal_mode = delete");
    EXPECT_THAT(examine(), has("journal-mode", "delete"));

    run("pragma journal_mode = wal");
    EXPECT_THAT(examine(), IsEmpty());
}

TEST_F(SqliteDoctor, ADamagedFileIsNamed) {
    {
        OpenedStore opened{path_};
        for (int i = 0; i < 400; ++i) opened.append(i, 1'000);
    }
    std::fstream file{path_, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path_) / 2));
    file << std::string(40'000, '\xff');
    file.close();

    EXPECT_THAT(examine(), has("damage", "the file is damaged"));
}

TEST_F(SqliteDoctor, AFileThatOthersMayReadIsNamed) {
    std::filesystem::permissions(path_, std::filesystem::perms{0644});

    EXPECT_THAT(examine(), has("file-rights", "others on this host may read"));
}

TEST_F(SqliteDoctor, WhatIsNoStoreIsNamed) {
    run("delete from waybill_migration where number > 1");
    EXPECT_THAT(examine(), has("stale-schema", "version 1 of"));
    std::filesystem::remove(path_);
    EXPECT_THAT(examine(), has("no-file", path_));
    std::ofstream{path_} << std::string(5'000, 'x');
    EXPECT_THAT(examine(), has("unreadable", "no SQLite database"));
}

TEST_F(SqliteDoctor, TargetsComeWithWhatWaitsForThem) {
    OpenedStore opened{path_};
    const Target target{.box = "orders", .key = "bill"};
    opened.store->declare({}, {&target, 1});
    opened.append(1);

    const auto seen = sqlite::examine(path_).targets;

    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].target.key, "bill");
    EXPECT_EQ(seen[0].waiting, 1U);
}

}  // namespace
}  // namespace waybill::test
