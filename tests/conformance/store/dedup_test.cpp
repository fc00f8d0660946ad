#include "harness.hpp"

namespace waybill::test {
namespace {

using Status = AppendResult::Status;

TEST_P(StoreConformance, ASecondAppendWithTheSameKeyIsADuplicateOfTheFirst) {
    declare_box();
    append(keyed(1, "k"));

    const AppendResult second = append(keyed(2, "k"));

    EXPECT_EQ(second.status, Status::duplicate);
    EXPECT_EQ(second.id, id_of(1));
    EXPECT_FALSE(second.first_is_dead);
    EXPECT_EQ(owner().scan().size(), 1U);
}

TEST_P(StoreConformance, DoublesInsideABatchAreFolded) {
    declare_box();

    const auto results =
        append_all({keyed(1, "k"), keyed(2, "other"), keyed(3, "k"), keyed(4, "k")});

    EXPECT_EQ(results[0].status, Status::fresh);
    EXPECT_EQ(results[1].status, Status::fresh);
    EXPECT_EQ(results[2].status, Status::duplicate);
    EXPECT_EQ(results[2].id, id_of(1));
    EXPECT_EQ(results[3].id, id_of(1));
    EXPECT_EQ(owner().scan().size(), 2U);
}

TEST_P(StoreConformance, AKeyIsUniqueOnlyInItsScope) {
    declare_box();
    Append first = item(keyed(1, "k"));
    Append second = item(keyed(2, "k"));
    first.dedup_scope = "stripe";
    second.dedup_scope = "github";

    const auto results = store().append(std::vector{first, second});

    EXPECT_EQ(results[0].status, Status::fresh);
    EXPECT_EQ(results[1].status, Status::fresh);
}

TEST_P(StoreConformance, ScopeAndKeyDoNotRunIntoEachOther) {
    declare_box();
    Append first = item(keyed(1, "bc"));
    Append second = item(keyed(2, "c"));
    first.dedup_scope = "a";
    second.dedup_scope = "ab";

    const auto results = store().append(std::vector{first, second});

    EXPECT_EQ(results[1].status, Status::fresh);
}

TEST_P(StoreConformance, AMessageWithoutKeyIsNeverADuplicate) {
    declare_box();

    const auto results = append_all({keyed(1, ""), keyed(2, "")});

    EXPECT_EQ(results[0].status, Status::fresh);
    EXPECT_EQ(results[1].status, Status::fresh);
}

TEST_P(StoreConformance, AKeyIsRememberedUntilJustBeforeItsWindowEnds) {
    declare_box({.dedup_window = 1h});
    append(keyed(1, "k"));
    advance(1h - 1us);

    const AppendResult late = append(keyed(2, "k"));

    EXPECT_EQ(late.status, Status::duplicate);
}

TEST_P(StoreConformance, AKeyExactlyAsOldAsItsWindowHasExpired) {
    declare_box({.dedup_window = 1h});
    append(keyed(1, "k"));
    advance(1h);

    const AppendResult late = append(keyed(2, "k"));

    EXPECT_EQ(late.status, Status::fresh);
    EXPECT_EQ(late.id, id_of(2));
}

TEST_P(StoreConformance, ADuplicateDoesNotProlongTheWindow) {
    declare_box({.dedup_window = 1h});
    append(keyed(1, "k"));
    advance(50min);
    append(keyed(2, "k"));
    advance(10min);

    EXPECT_EQ(append(keyed(3, "k")).status, Status::fresh);
}

TEST_P(StoreConformance, AnExpiredKeyIsRememberedAnewForAWholeWindow) {
    declare_box({.dedup_window = 1h});
    append(keyed(1, "k"));
    advance(1h);
    append(keyed(2, "k"));
    advance(59min);

    const AppendResult again = append(keyed(3, "k"));

    EXPECT_EQ(again.status, Status::duplicate);
    EXPECT_EQ(again.id, id_of(2));
}

TEST_P(StoreConformance, AKeyOutlivesItsMessage) {
    declare_box();
    append(keyed(1, "k"));
    Host host = owner();
    Settlement gone = finished(only_row(host));
    gone.drop_message = true;
    host.settle({gone});

    const AppendResult late = append(keyed(2, "k"));

    EXPECT_EQ(late.status, Status::duplicate);
    EXPECT_EQ(late.id, id_of(1));
}

TEST_P(StoreConformance, ADuplicateOfADeadMessageSaysSo) {
    declare_box();
    append(keyed(1, "k"));
    Host host = owner();
    host.die(only_row(host), "billing");

    const AppendResult late = append(keyed(2, "k"));

    EXPECT_EQ(late.status, Status::duplicate);
    EXPECT_TRUE(late.first_is_dead);
}

TEST_P(StoreConformance, ADuplicateOfARequeuedMessageIsNotDead) {
    declare_box();
    append(keyed(1, "k"));
    Host host = owner();
    host.die(only_row(host), "billing");
    const DeliveryRef delivery{id_of(1), "billing"};
    catalogue().requeue({&delivery, 1});

    EXPECT_FALSE(append(keyed(2, "k")).first_is_dead);
}

TEST_P(StoreConformance, AnIdThatExistsIsADuplicateWithoutAnyKey) {
    declare_box();
    append(order(1));

    const AppendResult second = append(order(1));

    EXPECT_EQ(second.status, Status::duplicate);
    EXPECT_EQ(second.id, id_of(1));
    EXPECT_EQ(owner().scan().size(), 1U);
}

TEST_P(StoreConformance, AnIdWhoseKeyExpiredIsStillADuplicateWhileItsMessageExists) {
    declare_box({.dedup_window = 1h});
    append(keyed(1, "k"));
    advance(2h);

    EXPECT_EQ(append(keyed(1, "k")).status, Status::duplicate);
}

}  // namespace
}  // namespace waybill::test
