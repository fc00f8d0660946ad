#include "harness.hpp"

namespace waybill::test {
namespace {

using Status = AppendResult::Status;

TEST_P(StoreConformance, TheSameKeyWithAnotherBodyIsAConflict) {
    declare_box();
    append(keyed(1, "k", "first"));

    const AppendResult second = append(keyed(2, "k", "second"));

    EXPECT_EQ(second.status, Status::conflict);
    EXPECT_EQ(second.id, id_of(1));
}

TEST_P(StoreConformance, AConflictLeavesTheFirstBodyInPlace) {
    declare_box();
    append(keyed(1, "k", "first"));

    append(keyed(2, "k", "second"));

    EXPECT_EQ(only_row(owner()).message->body, "first");
}

TEST_P(StoreConformance, AConflictDoesNotReplaceWhatTheKeyStandsFor) {
    declare_box();
    append(keyed(1, "k", "first"));
    append(keyed(2, "k", "second"));

    EXPECT_EQ(append(keyed(3, "k", "first")).status, Status::duplicate);
    EXPECT_EQ(append(keyed(4, "k", "second")).status, Status::conflict);
}

TEST_P(StoreConformance, ADoubleWithAnotherBodyInsideABatchIsAConflict) {
    declare_box();

    const auto results = append_all({keyed(1, "k", "first"), keyed(2, "k", "second")});

    EXPECT_EQ(results[1].status, Status::conflict);
    EXPECT_EQ(results[1].id, id_of(1));
}

TEST_P(StoreConformance, AnIdThatExistsWithAnotherBodyIsAConflict) {
    declare_box();
    append(order(1));
    Message other = order(1);
    other.body = "something else";

    EXPECT_EQ(append(other).status, Status::conflict);
}

TEST_P(StoreConformance, AConflictWithADeadMessageSaysSo) {
    declare_box();
    append(keyed(1, "k", "first"));
    Host host = owner();
    host.die(only_row(host), "billing");

    EXPECT_TRUE(append(keyed(2, "k", "second")).first_is_dead);
}

}  // namespace
}  // namespace waybill::test
