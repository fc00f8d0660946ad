#include "postgres/publish_fixture.hpp"
#include "waybill/postgres/publish_pqxx.hpp"
#include "waybill/postgres/publish_soci.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

const std::string& conninfo() {
    return PostgresServer::instance().conninfo();
}

class PostgresPublishByPqxx : public PostgresPublishing {
protected:
    pqxx::connection connection_{conninfo()};
};

TEST_F(PostgresPublishByPqxx, AMessageIsThereExactlyWhenItsTransactionCommitted) {
    {
        pqxx::work rolled_back{connection_};
        EXPECT_EQ(postgres::publish(rolled_back, placed("never"), options_).status, Status::fresh);
    }
    pqxx::work tx{connection_};
    EXPECT_EQ(postgres::publish(tx, full(), options_).id, full().id);
    EXPECT_EQ(store_->count({}), 0U);
    tx.commit();

    EXPECT_THAT(stored(), ElementsAre(full()));
}

TEST_F(PostgresPublishByPqxx, ManyAreAnsweredInTheirOrderAndDoublesAsSuch) {
    pqxx::work tx{connection_};
    Message keyed = placed("same");
    keyed.dedup_key = "k";

    const auto results =
        postgres::publish(tx, std::vector<Message>{keyed, placed("free"), keyed}, options_);
    tx.commit();

    ASSERT_THAT(results, SizeIs(3));
    EXPECT_EQ(results[1].status, Status::fresh);
    EXPECT_EQ(results[2].status, Status::duplicate);
    EXPECT_EQ(results[2].id, results[0].id);
    EXPECT_EQ(stored().size(), 2U);
}

TEST_F(PostgresPublishByPqxx, AnErrorLeavesTheTransactionAsItWas) {
    pqxx::work tx{connection_};
    Message lost = placed("x");
    lost.box = "nowhere";
    EXPECT_THROW(postgres::publish(tx, lost, options_), InvalidMessage);
    tx.exec("set local synchronous_commit = off");
    EXPECT_EQ(reaction_of([&] { postgres::publish(tx, placed("x"), options_); }),
              Reaction::give_up);
    tx.exec("set local synchronous_commit = on");
    postgres::publish(tx, placed("good"), options_);
    tx.commit();

    EXPECT_THAT(stored_bodies(), ElementsAre("good"));
}

TEST_F(PostgresPublishByPqxx, ASubtransactionTakesItsMessagesBackWithIt) {
    pqxx::work tx{connection_};
    {
        pqxx::subtransaction undone{tx};
        postgres::publish(undone, placed("undone"), options_);
        undone.abort();
    }
    {
        pqxx::subtransaction kept{tx};
        postgres::publish(kept, placed("kept"), options_);
        kept.commit();
    }
    tx.commit();

    EXPECT_THAT(stored_bodies(), ElementsAre("kept"));
}

TEST_F(PostgresPublishByPqxx, ANontransactionIsRefusedUnlessMeant) {
    pqxx::nontransaction none{connection_};
    EXPECT_EQ(reaction_of([&] { postgres::publish(none, placed("x"), options_); }),
              Reaction::give_up);

    options_.outside_transaction = true;
    postgres::publish(none, placed("y"), options_);

    EXPECT_THAT(stored_bodies(), ElementsAre("y"));
}

TEST_F(PostgresPublishByPqxx, AConnectionThatIsGoneIsOneToReplace) {
    pqxx::work tx{connection_};
    ask("select pg_terminate_backend(" + std::to_string(connection_.backendpid()) + ")");
#ifdef __SANITIZE_ADDRESS__
    // libpqxx 6.4 forgets the server's last words.
    const __lsan::ScopedDisabler its_leak;
#endif

    EXPECT_EQ(reaction_of([&] { postgres::publish(tx, placed("x"), options_); }),
              Reaction::reconnect);
}

class PostgresPublishBySoci : public PostgresPublishing {
protected:
    soci::session session_{soci::postgresql, conninfo()};
};

TEST_F(PostgresPublishBySoci, AMessageIsThereExactlyWhenItsTransactionCommitted) {
    {
        soci::transaction rolled_back{session_};
        postgres::publish(session_, placed("never"), options_);
    }
    {
        soci::transaction committed{session_};
        EXPECT_EQ(postgres::publish(session_, full(), options_).status, Status::fresh);
        EXPECT_EQ(store_->count({}), 0U);
        committed.commit();
    }

    EXPECT_THAT(stored(), ElementsAre(full()));
}

TEST_F(PostgresPublishBySoci, OutsideATransactionItIsRefusedUnlessMeant) {
    EXPECT_EQ(reaction_of([&] { postgres::publish(session_, placed("x"), options_); }),
              Reaction::give_up);
    EXPECT_EQ(store_->count({}), 0U);
}

TEST_F(PostgresPublishBySoci, AnErrorLeavesTheSessionFitForWork) {
    soci::transaction transaction{session_};
    Message lost = placed("x");
    lost.box = "nowhere";
    EXPECT_THROW(postgres::publish(session_, lost, options_), InvalidMessage);
    int answer = 0;
    session_ << "select 41 + 1", soci::into(answer);
    const std::vector<Message> two{placed("1"), placed("2")};
    EXPECT_THAT(postgres::publish(session_, two, options_), SizeIs(2));
    transaction.commit();

    EXPECT_EQ(answer, 42);
    EXPECT_EQ(store_->count({}), 2U);
}

/// A client that knows nothing but texts.
class PostgresPrepare : public PostgresPublishing {
protected:
    std::vector<AppendResult> run(const postgres::Statement& statement) {
        std::vector<const char*> values;
        for (const std::string& parameter : statement.parameters)
            values.push_back(parameter.c_str());
        PGresult* const result =
            PQexecParams(own_->handle(), statement.sql.c_str(), static_cast<int>(values.size()),
                         nullptr, values.data(), nullptr, nullptr, 0);
        EXPECT_EQ(PQresultStatus(result), PGRES_TUPLES_OK) << PQresultErrorMessage(result);
        std::vector<AppendResult> results;
        for (int row = 0; row < PQntuples(result); ++row) {
            std::vector<std::string_view> columns;
            for (int i = 0; i < PQnfields(result); ++i) {
                columns.emplace_back(PQgetvalue(result, row, i));
            }
            results.push_back(postgres::read_answer(columns));
        }
        PQclear(result);
        return results;
    }
};

TEST_F(PostgresPrepare, WhatItPreparesAnyClientCanRun) {
    const auto results = run(postgres::prepare(full(), options_));

    ASSERT_THAT(results, SizeIs(1));
    EXPECT_EQ(results[0].id, full().id);
    EXPECT_GT(results[0].sequence, 0);
    EXPECT_GT(results[0].partition, 0U);
    EXPECT_THAT(stored(), ElementsAre(full()));
}

TEST_F(PostgresPrepare, ADuplicateAndAConflictAreToldFromAFreshOne) {
    Message keyed = placed("same");
    keyed.dedup_key = "k";
    const AppendResult first = run(postgres::prepare(keyed, options_)).at(0);
    const AppendResult again = run(postgres::prepare(keyed, options_)).at(0);
    keyed.body = "other";
    const AppendResult other = run(postgres::prepare(keyed, options_)).at(0);

    EXPECT_EQ(first.status, Status::fresh);
    EXPECT_EQ(again, (AppendResult{.status = Status::duplicate, .id = first.id}));
    EXPECT_EQ(other, (AppendResult{.status = Status::conflict, .id = first.id}));
}

TEST_F(PostgresPrepare, WhatCanNeverBeStoredIsRefusedBeforeAnythingIsSent) {
    EXPECT_THROW(postgres::prepare(Message{.box = "orders"}), InvalidMessage);
    EXPECT_THROW(postgres::prepare(placed("x"), {.schema = "x; drop"}), ConfigError);
}

}  // namespace
}  // namespace waybill::test
