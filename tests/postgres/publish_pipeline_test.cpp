#include "postgres/publish_fixture.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;

/// A plain connection in pipeline mode.
class PostgresPublishInAPipeline : public PostgresPublishing {
protected:
    PostgresPublishInAPipeline() { PQenterPipelineMode(connection_); }
    ~PostgresPublishInAPipeline() override { PQfinish(connection_); }

    void send(const char* statement) {
        ASSERT_EQ(
            PQsendQueryParams(connection_, statement, 0, nullptr, nullptr, nullptr, nullptr, 0), 1);
    }
    /// Of the next statement, with the null behind it.
    ExecStatusType take() {
        PGresult* const result = PQgetResult(connection_);
        const ExecStatusType status = PQresultStatus(result);
        PQclear(result);
        if (status != PGRES_PIPELINE_SYNC) PQclear(PQgetResult(connection_));
        return status;
    }
    static std::vector<Message> one(const Message& message) { return {message}; }

    PGconn* connection_ = PQconnectdb(PostgresServer::instance().conninfo().c_str());
};

TEST_F(PostgresPublishInAPipeline, ItRidesAlongWithTheCallersStatements) {
    postgres::Publisher publisher{connection_, options_};

    send("begin");
    publisher.send(one(full()));
    send("select 1");
    publisher.send(std::vector<Message>{placed("two"), placed("three")});
    send("commit");
    PQpipelineSync(connection_);

    EXPECT_EQ(take(), PGRES_COMMAND_OK);
    EXPECT_EQ(publisher.receive().at(0).id, full().id);
    EXPECT_EQ(take(), PGRES_TUPLES_OK);
    EXPECT_EQ(publisher.receive().size(), 2U);
    EXPECT_EQ(take(), PGRES_COMMAND_OK);
    EXPECT_EQ(take(), PGRES_PIPELINE_SYNC);
    EXPECT_EQ(stored().size(), 3U);
    EXPECT_EQ(stored()[0], full());
}

TEST_F(PostgresPublishInAPipeline, AnAnswerComesBeforeTheCallerSynchronises) {
    postgres::Publisher publisher{connection_, options_};
    send("begin");
    PQsendFlushRequest(connection_);
    publisher.send(one(placed("x")));

    EXPECT_EQ(take(), PGRES_COMMAND_OK);
    EXPECT_EQ(publisher.receive().at(0).status, Status::fresh);
}

TEST_F(PostgresPublishInAPipeline, OutsideATransactionItIsRefusedUnlessMeant) {
    postgres::Publisher publisher{connection_, options_};
    publisher.send(one(placed("x")));
    PQpipelineSync(connection_);
    EXPECT_EQ(reaction_of([&] { publisher.receive(); }), Reaction::give_up);
    EXPECT_EQ(take(), PGRES_PIPELINE_SYNC);
    EXPECT_EQ(store_->count({}), 0U);

    options_.outside_transaction = true;
    postgres::Publisher meant{connection_, options_};
    meant.send(one(placed("y")));
    PQpipelineSync(connection_);
    EXPECT_EQ(meant.receive().size(), 1U);
    EXPECT_EQ(take(), PGRES_PIPELINE_SYNC);
    EXPECT_THAT(stored_bodies(), ElementsAre("y"));
}

TEST_F(PostgresPublishInAPipeline, AStatementThatFailedBeforeItIsToldAndNothingIsPublished) {
    postgres::Publisher publisher{connection_, options_};
    send("begin");
    send("select nonsense");
    publisher.send(one(placed("x")));
    send("commit");
    PQpipelineSync(connection_);

    EXPECT_EQ(take(), PGRES_COMMAND_OK);
    EXPECT_EQ(take(), PGRES_FATAL_ERROR);
    EXPECT_EQ(reaction_of([&] { publisher.receive(); }), Reaction::give_up);
    EXPECT_EQ(take(), PGRES_PIPELINE_ABORTED);
    EXPECT_EQ(take(), PGRES_PIPELINE_SYNC);
    EXPECT_EQ(store_->count({}), 0U);
}

TEST_F(PostgresPublishInAPipeline, ARefusalIsToldInItsPlaceAndTheCallersAnswersFollow) {
    postgres::Publisher publisher{connection_, options_};
    Message lost = placed("x");
    lost.box = "nowhere";
    send("begin");
    publisher.send(one(lost));
    send("commit");
    PQpipelineSync(connection_);

    EXPECT_EQ(take(), PGRES_COMMAND_OK);
    EXPECT_THROW(publisher.receive(), InvalidMessage);
    EXPECT_EQ(take(), PGRES_PIPELINE_ABORTED);
    EXPECT_EQ(take(), PGRES_PIPELINE_SYNC);
}

TEST_F(PostgresPublishInAPipeline, TheWrongCallIsToldWhichOneIsRight) {
    postgres::Publisher publisher{connection_, options_};
    EXPECT_EQ(reaction_of([&] { publisher.publish(placed("x")); }), Reaction::give_up);
    EXPECT_EQ(reaction_of([&] { publisher.receive(); }), Reaction::give_up);

    PQexitPipelineMode(connection_);
    EXPECT_EQ(reaction_of([&] { publisher.send(one(placed("x"))); }), Reaction::give_up);
}

}  // namespace
}  // namespace waybill::test
