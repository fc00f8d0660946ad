#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using CommandKind = Command::Kind;

TEST_P(StoreConformance, ACommandWaitsForTheOwnerOfItsMessage) {
    declare_box();
    const Sequence sequence = append(order(1)).sequence;
    Host host = owner();

    const std::uint64_t number =
        catalogue().command({.kind = CommandKind::cancel, .message = id_of(1)});

    EXPECT_NE(number, 0U);
    const auto commands = host.commands();
    ASSERT_EQ(commands.size(), 1U);
    EXPECT_EQ(commands[0].id, number);
    EXPECT_EQ(commands[0].kind, CommandKind::cancel);
    EXPECT_EQ(commands[0].partition, host.partition());
    EXPECT_EQ(commands[0].message, id_of(1));
    EXPECT_EQ(commands[0].sequence, sequence);
    EXPECT_FALSE(catalogue().command_result(number).has_value());
}

TEST_P(StoreConformance, ACommandComesWithEveryIncrementUntilItIsAnswered) {
    declare_box();
    append(order(1));
    Host host = owner();
    const std::uint64_t number =
        catalogue().command({.kind = CommandKind::cancel, .message = id_of(1)});
    EXPECT_EQ(host.commands().size(), 1U);
    EXPECT_EQ(host.commands().size(), 1U);

    host.settle({}, {{number, host.partition(), true, "cancelled"}});

    EXPECT_THAT(host.commands(), IsEmpty());
    EXPECT_EQ(catalogue().command_result(number),
              (CommandResult{number, host.partition(), true, "cancelled"}));
}

TEST_P(StoreConformance, OnlyTheOwnerAnswersACommand) {
    declare_box();
    append(order(1));
    Host host = owner();
    const std::uint64_t number =
        catalogue().command({.kind = CommandKind::cancel, .message = id_of(1)});
    Host forger = host;
    ++forger.taken[0].token.epoch;

    forger.settle({}, {{number, host.partition(), true, "cancelled"}});

    EXPECT_FALSE(catalogue().command_result(number).has_value());
    EXPECT_EQ(host.commands().size(), 1U);
}

TEST_P(StoreConformance, TheFirstAnswerToACommandStays) {
    declare_box();
    append(order(1));
    Host host = owner();
    const std::uint64_t number =
        catalogue().command({.kind = CommandKind::cancel, .message = id_of(1)});

    host.settle({}, {{number, host.partition(), true, "cancelled"}});
    host.settle({}, {{number, host.partition(), false, "no such message"}});

    EXPECT_TRUE(catalogue().command_result(number)->carried_out);
}

TEST_P(StoreConformance, AnAnswerToNoCommandIsForgotten) {
    declare_box();
    Host host = owner();

    host.settle({}, {{77, host.partition(), true, "what?"}});

    EXPECT_FALSE(catalogue().command_result(77).has_value());
}

TEST_P(StoreConformance, AnUnansweredCommandIsInheritedByTheNextOwner) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    declare_box();
    append(order(1));
    Host first = owner(1);
    catalogue().command({.kind = CommandKind::cancel, .message = id_of(1)});
    advance(5s);

    EXPECT_EQ(owner(2).commands().size(), 1U);
}

TEST_P(StoreConformance, ACommandIsOnlyToldToItsPartition) {
    declare_box();
    declare_box({}, "mails");
    append(order(1));
    catalogue().command({.kind = CommandKind::cancel, .message = id_of(1)});
    Host mailer = host(1);
    mailer.state.boxes = {"mails"};
    mailer.take_all();

    EXPECT_THAT(mailer.commands(), IsEmpty());
}

TEST_P(StoreConformance, ThereIsNothingToCancelInAFinishedMessage) {
    declare_box();
    append(order(1));
    Host host = owner();
    host.finish(only_row(host));

    EXPECT_EQ(catalogue().command({.kind = CommandKind::cancel, .message = id_of(1)}), 0U);
    EXPECT_EQ(catalogue().command({.kind = CommandKind::cancel, .message = id_of(2)}), 0U);
    EXPECT_THAT(host.commands(), IsEmpty());
}

TEST_P(StoreConformance, OnlyAHaltedHeadCanBeSkipped) {
    declare_box({.on_dead = OnDead::halt});
    append_all({order(1, "a"), order(2, "a")});
    Host host = owner();
    const auto rows = host.scan();
    host.halt(rows[0], "billing");

    const auto refused =
        catalogue().command({.kind = CommandKind::skip, .sequence = rows[1].sequence});
    const auto number =
        catalogue().command({.kind = CommandKind::skip, .sequence = rows[0].sequence});

    EXPECT_EQ(refused, 0U);
    EXPECT_NE(number, 0U);
    const auto commands = host.commands();
    ASSERT_EQ(commands.size(), 1U);
    EXPECT_EQ(commands[0].kind, CommandKind::skip);
    EXPECT_EQ(commands[0].sequence, rows[0].sequence);
    EXPECT_EQ(commands[0].message, id_of(1));
}

TEST_P(StoreConformance, AnAnswerCommitsTogetherWithWhatItReports) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    const auto number = catalogue().command({.kind = CommandKind::cancel, .message = id_of(1)});
    Settlement item = finished(row);
    item.dead = {dead_letter(row, "billing", "cancelled")};

    host.settle({item}, {{number, host.partition(), true, "1 delivery cancelled"}});

    EXPECT_EQ(letters().at(0).letter.reason, "cancelled");
    EXPECT_TRUE(catalogue().command_result(number)->carried_out);
}

TEST_P(StoreConformance, CancellingAMessageNamesEachOfItsOpenRows) {
    declare_box();
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement item = unchanged(row);
    item.dead = {dead_letter(row, "billing")};
    host.settle({item});
    const DeliveryRef delivery{id_of(1), "billing"};
    catalogue().requeue({&delivery, 1});

    catalogue().command({.kind = CommandKind::cancel, .message = id_of(1)});

    std::vector<Sequence> named;
    for (const Command& command : host.commands()) named.push_back(command.sequence);
    EXPECT_THAT(named, testing::UnorderedElementsAreArray(sequences(host.scan())));
    EXPECT_EQ(named.size(), 2U);
}

}  // namespace
}  // namespace waybill::test
