#include "error_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace waybill::test {
namespace {

struct Expected {
    const char* sqlstate;
    Reaction reaction;
};

class PostgresErrorMap : public testing::TestWithParam<Expected> {};

TEST_P(PostgresErrorMap, EverySqlstateHasItsReaction) {
    EXPECT_EQ(postgres::reaction_of(GetParam().sqlstate), GetParam().reaction)
        << GetParam().sqlstate;
}

constexpr Expected kExpected[] = {
    {"40001", Reaction::retry},      // serialization_failure
    {"40P01", Reaction::retry},      // deadlock_detected
    {"55P03", Reaction::retry},      // lock_not_available
    {"57014", Reaction::retry},      // query_canceled: statement_timeout
    {"57P01", Reaction::reconnect},  // admin_shutdown
    {"57P02", Reaction::reconnect},  // crash_shutdown
    {"57P03", Reaction::back_off},   // cannot_connect_now
    {"57P04", Reaction::give_up},    // database_dropped
    {"08006", Reaction::reconnect},  // connection_failure
    {"25006", Reaction::back_off},   // read_only_sql_transaction
    {"25P02", Reaction::retry},      // in_failed_sql_transaction
    {"25P03", Reaction::reconnect},  // idle_in_transaction_session_timeout
    {"53100", Reaction::back_off},   // disk_full
    {"53200", Reaction::back_off},   // out_of_memory
    {"53300", Reaction::back_off},   // too_many_connections
    {"55000", Reaction::back_off},   // recovery is in progress
    {"58030", Reaction::back_off},   // io_error
    {"22021", Reaction::bad_data},   // character_not_in_repertoire
    {"22P05", Reaction::bad_data},   // untranslatable_character
    {"23505", Reaction::bad_data},   // unique_violation
    {"54000", Reaction::bad_data},   // program_limit_exceeded
    {"28P01", Reaction::give_up},    // invalid_password
    {"3D000", Reaction::give_up},    // no such database
    {"42501", Reaction::give_up},    // insufficient_privilege
    {"42P01", Reaction::give_up},    // undefined_table
    {"42883", Reaction::give_up},    // undefined_function
    {"26000", Reaction::reconnect},  // a pooler's other connection
    {"XX000", Reaction::give_up},    // internal_error
    {"P0001", Reaction::give_up},    // nobody's
};

INSTANTIATE_TEST_SUITE_P(Postgres, PostgresErrorMap, testing::ValuesIn(kExpected));

TEST(PostgresErrors, AServerThatDoesNotKnowEitherLeavesDoubt) {
    for (const char* state : {"40003", "08006", "08P01"}) {
        EXPECT_TRUE(postgres::leaves_doubt(state)) << state;
    }
    for (const char* state : {"40001", "57P01", "57014"}) {
        EXPECT_FALSE(postgres::leaves_doubt(state)) << state;
    }
}

TEST(PostgresErrors, AnErrorSaysWhatWasDoneWhatHappenedAndWhatToDo) {
    const StoreError error = postgres::error_of("42P01", "relation does not exist\n", "read_new");

    EXPECT_STREQ(error.what(),
                 "postgres store: read_new: relation does not exist (42P01); the tables of waybill "
                 "are missing: start the application once, or run migrate() first");
}

/// While commits hung, heartbeats blamed transactions that publish.
TEST(PostgresErrors, ARowThatSomebodyHoldsMayBeHeldByACommitThatWaitsForAStandby) {
    EXPECT_THAT(std::string{postgres::advice_for("55P03")},
                testing::HasSubstr("a commit that waits for a synchronous standby"));
}

}  // namespace
}  // namespace waybill::test
