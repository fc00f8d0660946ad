#include <csignal>

#include "error_map.hpp"
#include "pool.hpp"
#include "postgres/fixture.hpp"
#include "support/later.hpp"
#include "support/run_together.hpp"
#include "support/slot_vectors.hpp"

namespace waybill::test {
namespace {

using Status = AppendResult::Status;

TEST_F(Postgres, ADuplicateOfATransactionInFlightWaitsForItAndNamesIt) {
    auto db = stranger();
    postgres::Transaction first{*db};
    append_on(*db, order(1, "k"));

    auto second = later_answer([&] { return append({order(2, "k")}); });
    wait_for_a_waiter();
    first.commit();

    const AppendResult result = second.get().at(0);
    EXPECT_EQ(result.status, Status::duplicate);
    EXPECT_EQ(result.id, order(1).message->id);
}

TEST_F(Postgres, ADoubleOfATransactionThatIsRolledBackIsFresh) {
    auto db = stranger();
    auto first = std::make_unique<postgres::Transaction>(*db);
    append_on(*db, order(1, "k"));

    auto second = later_answer([&] { return append({order(2, "k")}); });
    wait_for_a_waiter();
    first.reset();

    EXPECT_EQ(second.get().at(0).status, Status::fresh);
}

/// Nobody remembers its key, so the answer can only come from the message itself.
TEST_F(Postgres, AnIdThatIsAppendedTwiceAtOnceIsThereOnce) {
    auto db = stranger();
    postgres::Transaction first{*db};
    append_on(*db, order(1));

    auto second = later_answer([&] { return append({order(1)}); });
    wait_for_a_waiter();
    first.commit();

    EXPECT_EQ(second.get().at(0).status, Status::duplicate);
    EXPECT_EQ(store_->count({}), 1U);
}

TEST_F(Postgres, OfABatchInWhichSomeAreKnownTheOthersAreFresh) {
    append({order(2), order(4)});

    const auto results = append({order(1), order(2), order(3), order(4, "k"), order(5, "k")});

    std::vector<Status> statuses;
    for (const AppendResult& result : results) statuses.push_back(result.status);
    EXPECT_THAT(statuses, testing::ElementsAre(Status::fresh, Status::duplicate, Status::fresh,
                                               Status::duplicate, Status::fresh));
    EXPECT_LT(results[0].sequence, results[2].sequence);
    EXPECT_EQ(store_->count({}), 5U);
    EXPECT_EQ(store_->count({.state = Filter::State::open}), 5U);
}

TEST_F(Postgres, ARepeatThatIsFreshAfterAllIsNotBehindWhatCameAfterIt) {
    append({order(1)});

    const auto results = append({order(1, "k"), order(2, "k"), order(3)});

    EXPECT_EQ(results[0].status, Status::duplicate);
    EXPECT_EQ(results[1].status, Status::fresh);
    EXPECT_LT(results[1].sequence, results[2].sequence);
}

/// It can neither be appended nor found.
TEST_F(Postgres, AnIdThatATransactionCannotSeeIsACollisionForIt) {
    auto db = stranger();
    db->script("begin isolation level repeatable read; select 1", "test");
    append({order(1)});

    try {
        append_on(*db, order(1));
        FAIL() << "it was answered";
    } catch (const postgres::ServerError& error) {
        EXPECT_TRUE(error.is_collision()) << error.what();
    }
    EXPECT_EQ(store_->count({}), 1U);
}

TEST_F(Postgres, BatchesWithTheSameKeysInAnyOrderDoNotWaitForEachOther) {
    EXPECT_NO_THROW(run_together(4, [&](int writer) {
        auto store = schema_.connect();
        for (int round = 0; round < 20; ++round) {
            std::vector<Append> batch;
            for (int key = 0; key < 5; ++key) {
                const int turned = writer % 2 == 0 ? key : 4 - key;
                batch.push_back(order(writer * 50 + key, "k" + std::to_string(turned)));
            }
            store->append(batch);
        }
    }));

    EXPECT_EQ(store_->count({}), 5U);
}

TEST_F(Postgres, AKeyThatNobodyRemembersIsNotRememberedByARepeat) {
    append({order(1)});

    EXPECT_EQ(append({order(1, "k")}).at(0).status, Status::duplicate);
    EXPECT_EQ(append({order(2, "k")}).at(0).status, Status::fresh);
}

TEST_F(Postgres, AnAppendThatWaitsLongerThanItsDeadlineIsNotApplied) {
    auto db = stranger();
    postgres::Transaction first{*db};
    append_on(*db, order(1, "k"));
    postgres::Options impatient = schema_.options();
    impatient.deadline = 4s;
    auto store = postgres::open(PostgresServer::instance().conninfo(), impatient);
    const std::vector batch{order(3), order(2, "k")};

    EXPECT_EQ(reaction_of([&] { store->append(batch); }), Reaction::retry);
    first.commit();

    EXPECT_EQ(store_->count({}), 1U);
}

TEST_F(Postgres, AWriteWhoseAnswerNeverComesMayHaveBeenApplied) {
    postgres::Options impatient = schema_.options();
    impatient.deadline = 4s;
    auto store = postgres::open(PostgresServer::instance().conninfo(), impatient);
    const std::vector batch{order(1)};
    store->append(batch);
    // The backend stops, and with it the server's own deadline.
    auto db = stranger();
    postgres::Rows rows = db->script(
        "select pid::text from pg_stat_activity where query like '%append%' "
        "and state = 'idle' and pid <> pg_backend_pid() order by state_change desc limit 1",
        "test");
    ASSERT_TRUE(rows.next());
    const pid_t backend = std::stoi(rows.string(0));
    ::kill(backend, SIGSTOP);
    const std::vector next{order(2)};

    EXPECT_EQ(reaction_of([&] { store->append(next); }), Reaction::find_out);
    ::kill(backend, SIGCONT);

    EXPECT_EQ(store->append(std::vector{order(3)})[0].status, Status::fresh);
}

TEST_F(Postgres, AStoreThatIsGoneIsTriedAgain) {
    auto store = postgres::open("host=/nowhere dbname=none", schema_.options());

    EXPECT_EQ(reaction_of([&] { store->append(std::vector{order(1)}); }), Reaction::back_off);
}

TEST_F(Postgres, ConnectionsThatTheServerEndedWhileIdleAreReplacedUnseen) {
    append({order(1)});
    schema_.run(
        "select pg_terminate_backend(pid, 10000) from pg_stat_activity "
        "where pid <> pg_backend_pid() and backend_type = 'client backend'");

    EXPECT_EQ(append({order(2)})[0].status, Status::fresh);
}

TEST_F(Postgres, ATextThatTheDatabaseCannotHoldIsBadData) {
    Message message = *order(1).message;
    message.source = std::string{"a\0b", 3};
    Append item = order(1);
    item.message = std::make_shared<const Message>(message);

    EXPECT_EQ(reaction_of([&] { append({item}); }), Reaction::bad_data);
}

TEST_F(Postgres, ASlotIsTheSameInSqlAndHere) {
    auto db = stranger();
    for (const auto& [lane, slot] : lane_slots) {
        std::string quoted;
        for (const char letter : std::string{lane})
            quoted += letter == '\'' ? "''" : std::string{letter};
        postgres::Rows rows = db->script(
            db->in_schema("select waybill.slot(convert_to('" + quoted + "', 'UTF8'))"), "test");
        ASSERT_TRUE(rows.next());
        EXPECT_EQ(rows.string(0), std::to_string(slot)) << lane;
    }
}

}  // namespace
}  // namespace waybill::test
