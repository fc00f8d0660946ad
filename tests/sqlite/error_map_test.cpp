#include "error_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

namespace waybill::test {
namespace {

using testing::HasSubstr;

struct Row {
    int code;
    Reaction reaction;
};

class SqliteErrors : public testing::TestWithParam<Row> {};

TEST_P(SqliteErrors, NameTheReaction) {
    EXPECT_EQ(sqlite::reaction_of(GetParam().code), GetParam().reaction);
}

INSTANTIATE_TEST_SUITE_P(
    Codes, SqliteErrors,
    testing::Values(
        Row{SQLITE_BUSY, Reaction::retry}, Row{SQLITE_BUSY_SNAPSHOT, Reaction::retry},
        Row{SQLITE_BUSY_RECOVERY, Reaction::retry}, Row{SQLITE_LOCKED, Reaction::retry},
        Row{SQLITE_PROTOCOL, Reaction::retry}, Row{SQLITE_INTERRUPT, Reaction::retry},
        Row{SQLITE_SCHEMA, Reaction::retry}, Row{SQLITE_FULL, Reaction::back_off},
        Row{SQLITE_READONLY, Reaction::back_off},
        Row{SQLITE_READONLY_DIRECTORY, Reaction::back_off},
        Row{SQLITE_READONLY_DBMOVED, Reaction::give_up}, Row{SQLITE_NOMEM, Reaction::back_off},
        Row{SQLITE_IOERR, Reaction::back_off}, Row{SQLITE_IOERR_WRITE, Reaction::back_off},
        Row{SQLITE_IOERR_READ, Reaction::back_off}, Row{SQLITE_IOERR_FSYNC, Reaction::find_out},
        Row{SQLITE_IOERR_DIR_FSYNC, Reaction::find_out}, Row{SQLITE_CANTOPEN, Reaction::give_up},
        Row{SQLITE_CANTOPEN_ISDIR, Reaction::give_up}, Row{SQLITE_PERM, Reaction::give_up},
        Row{SQLITE_AUTH, Reaction::give_up}, Row{SQLITE_CORRUPT, Reaction::give_up},
        Row{SQLITE_CORRUPT_INDEX, Reaction::give_up}, Row{SQLITE_NOTADB, Reaction::give_up},
        Row{SQLITE_TOOBIG, Reaction::bad_data}, Row{SQLITE_CONSTRAINT, Reaction::bad_data},
        Row{SQLITE_CONSTRAINT_DATATYPE, Reaction::bad_data},
        Row{SQLITE_MISMATCH, Reaction::bad_data}, Row{SQLITE_ERROR, Reaction::give_up},
        Row{SQLITE_MISUSE, Reaction::give_up}));

TEST(SqliteErrorTexts, SayWhatHappenedToWhatAndWhatToDo) {
    const StoreError error =
        sqlite::error_of(SQLITE_FULL, "database or disk is full", "insert_message", "orders.db");

    EXPECT_THAT(error.what(), HasSubstr("orders.db"));
    EXPECT_THAT(error.what(), HasSubstr("insert_message"));
    EXPECT_THAT(error.what(), HasSubstr("disk is full"));
    EXPECT_THAT(error.what(), HasSubstr("make room"));
}

TEST(SqliteErrorTexts, AMissingTableOfOursAsksForTheMigration) {
    const StoreError error = sqlite::error_of(SQLITE_ERROR, "no such table: waybill_box", "x", "");

    EXPECT_THAT(error.what(), HasSubstr("migrate()"));
}

}  // namespace
}  // namespace waybill::test
