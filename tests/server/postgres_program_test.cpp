/// The program on a PostgreSQL that several servers share.

#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include "server/program_fixture.hpp"
#include "support/http_client.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_pooler.hpp"
#include "support/postgres_server.hpp"
#include "waybill/json.hpp"

namespace waybill::test {
namespace {

using Client = PostgresClient;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class PostgresProgram : public Program {
protected:
    PostgresProgram() {
        static int databases = 0;
        database_ = "shared_" + std::to_string(++databases);
        PostgresServer::instance().create(database_);
        configure("1s");
    }
    /// A long lease where it is not about dying: the machine may be slow.
    void configure(const std::string& lease) {
        write("waybill.toml", "store = \"" + url() + "\"\n[engine]\nlease = \"" + lease + R"("
[[targets]]
key     = "keep"
box     = "outbox"
command = ["/bin/sh", "-c", "test -e works || exit 65; echo $WAYBILL_MESSAGE_ID >> handled"]
)");
    }
    std::string url() const { return PostgresServer::instance().url(database_); }
    Process serve() { return {folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}}; }
    /// Its id.
    std::string publish(const std::string& type) {
        const Ran ran = run_here({"publish", "--type", type, "--json"});
        EXPECT_EQ(ran.code, 0) << ran.output;
        return json::parse(ran.output).find("id")->as_string();
    }
    std::multiset<std::string> handled() const {
        std::ifstream file{folder_.file("handled")};
        std::multiset<std::string> ids;
        for (std::string id; file >> id;) ids.insert(id);
        return ids;
    }

    std::string database_;
};

TEST_F(PostgresProgram, ServersShareTheWorkAndOneThatIsKilledLosesNothing) {
    write("works", "");
    Process first = serve();
    Process second = serve();
    ASSERT_NE(first.port(), second.port());
    std::multiset<std::string> published;
    for (int i = 0; i < 6; ++i) published.insert(publish("before"));

    first.end(SIGKILL);
    for (int i = 0; i < 6; ++i) published.insert(publish("after"));

    EXPECT_TRUE(eventually({"messages", "list", "--state", "open"}, "nothing"));
    // One that was running when its server died may have run twice; none is missing.
    const std::multiset<std::string> ran = handled();
    for (const std::string& id : published) EXPECT_TRUE(ran.contains(id)) << id;
    EXPECT_THAT(run_here({"dead", "list"}).output, HasSubstr("nothing"));
    EXPECT_EQ(second.end(SIGTERM), 0);
}

/// It was "ready" while commits hung: the store answered questions, and stored nothing.
TEST_F(PostgresProgram, AServerWhoseLeaseRanOutIsNotReadyUntilItIsRenewed) {
    Process server = serve();
    const std::uint16_t port = server.port();
    const auto wait_for = [&](int status) {
        for (;;) {
            const auto answer = HttpClient{port}.get("/readyz");
            if (answer && static_cast<int>(answer->status) == status) return answer->body;
            std::this_thread::yield();
        }
    };
    wait_for(200);
    PGconn* const somebody = PQconnectdb(url().c_str());

    PQclear(PQexec(somebody, "begin; lock table waybill.instance in exclusive mode"));
    EXPECT_THAT(wait_for(503), AllOf(HasSubstr("not ready"), HasSubstr("the lease ran out")));

    PQfinish(somebody);
    wait_for(200);
    EXPECT_EQ(server.end(SIGTERM), 0);
}

/// Only the log said it: /readyz was ready, the doctor found nothing, and the message showed no reason.
TEST_F(PostgresProgram, ResultsThatCannotBeStoredAreSeenByReadyzDoctorAndMessage) {
    write("works", "");
    configure("10s");
    Process server = serve();
    const std::uint16_t port = server.port();
    ASSERT_TRUE(eventually({"targets", "list"}, "keep"));
    Client database{url()};
    database.run(
        "create function refuse() returns trigger language plpgsql as "
        "$$ begin raise exception 'the disk is full' using errcode = '53100'; end $$;"
        "create trigger refuse before insert on waybill.finished for each row "
        "execute function refuse()");
    const std::string id = publish("order.placed");

    EXPECT_TRUE(eventually({"messages", "show", id}, "the store has refused results for"));
    EXPECT_TRUE(eventually({"doctor"}, "[refused]"));
    EXPECT_THAT(run_here({"instances", "list"}).output, HasSubstr("the disk is full"));
    const auto probe = HttpClient{port}.get("/readyz");
    ASSERT_TRUE(probe);
    EXPECT_THAT(probe->body, HasSubstr("the store has refused results for"));

    database.run("drop trigger refuse on waybill.finished");
    EXPECT_TRUE(eventually({"messages", "show", id}, "state: done"));
    EXPECT_TRUE(eventually({"doctor"}, ": healthy")) << run_here({"doctor"}).output;
    EXPECT_EQ(handled(), std::multiset<std::string>{id});
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(PostgresProgram, WhatDiedIsSeenAndRequeuedFromAnywhere) {
    Process server = serve();
    server.port();
    const std::string id = publish("order.placed");
    ASSERT_TRUE(eventually({"dead", "list"}, "exit code 65"));

    write("works", "");
    const Ran requeued = run_here({"dead", "requeue", id});

    EXPECT_EQ(requeued.code, 0) << requeued.output;
    EXPECT_TRUE(eventually({"messages", "list", "--state", "done"}, id));
    EXPECT_EQ(handled(), std::multiset<std::string>{id});
}

TEST_F(PostgresProgram, WhatNoLiveServerServesIsNamedAndMayBeForgotten) {
    configure("60s");
    write("other.toml", "store = \"" + url() + R"("
instance = "second"
[engine]
lease = "60s"
[[targets]]
key     = "audit"
box     = "outbox"
command = ["/bin/true"]
)");
    Process first = serve();
    first.port();
    Process second{folder_.path().string(),
                   {"serve", "--config", "other.toml", "--listen", "127.0.0.1:0"}};
    second.port();
    ASSERT_TRUE(eventually({"instances", "list"}, "second"));
    ASSERT_TRUE(eventually({"targets", "list", "--json"}, R"("key":"audit")"));
    const std::vector<std::string> forget{"targets", "forget", "audit", "--box", "outbox", "--yes"};

    const Ran served = hear(forget);
    EXPECT_EQ(served.code, 1);
    EXPECT_THAT(served.output, HasSubstr("second serves audit"));
    EXPECT_THAT(run_here({"targets", "list", "--json"}).output,
                Not(HasSubstr(R"("served":false)")));

    EXPECT_EQ(second.end(SIGTERM), 0);
    EXPECT_TRUE(eventually({"targets", "list", "--json"}, R"("served":false,"waiting":0)"));
    EXPECT_THAT(run_here({"stats"}).output, HasSubstr("nobody serves it"));
    const Ran gone = run_here(forget);
    EXPECT_EQ(gone.code, 0) << gone.output;
    EXPECT_THAT(run_here({"targets", "list"}).output, Not(HasSubstr("audit")));
    EXPECT_EQ(first.end(SIGTERM), 0);
    EXPECT_THAT(run_here({"instances", "list"}).output, HasSubstr("nothing"));
    // It is in the configuration, and comes back with the next server: nobody is told to forget it.
    EXPECT_THAT(run_here({"stats"}).output, Not(HasSubstr("nobody serves it")));
}

TEST_F(PostgresProgram,
       AnEndpointThatIsLeftAloneIsSeenByOtherProcessesAndForgottenByForceOnceItLeftTheFile) {
    const std::string without =
        "store = \"" + url() + "\"\n[boxes.outbox]\n[egress]\nallow = ['127.0.0.1/32']\n";
    write("waybill.toml", without + R"(
[[subscriptions]]
url   = "http://127.0.0.1:9/nobody"
retry = { max_attempts = 50, schedule = ["10ms"] }
)");
    Process server = serve();
    server.port();
    const std::string message = publish("order.placed");

    ASSERT_TRUE(eventually({"subscriptions", "list"}, "is left alone until 20"));
    EXPECT_TRUE(eventually({"messages", "show", message}, "times in a row since 20"));
    const json::Value listed = json::parse(run_here({"subscriptions", "list", "--json"}).output);
    const std::string id = listed.find("items")->as_array().at(0).find("id")->as_string();
    EXPECT_THAT(hear({"targets", "forget", id, "--yes"}).output,
                HasSubstr("take it out of the configuration first"));

    write("waybill.toml", without);
    EXPECT_THAT(run_here({"targets", "list", "--json"}).output,
                HasSubstr(R"("served":false,"waiting":1)"));
    EXPECT_THAT(run_here({"messages", "show", message}).output,
                HasSubstr("waits: the subscription is not in this server's configuration"));
    // The server that runs has it in the file it has read.
    const Ran refused = hear({"targets", "forget", id, "--yes"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.output, HasSubstr("carries out subscriptions of box \"outbox\" and may"));
    EXPECT_EQ(run_here({"targets", "forget", id, "--yes", "--force"}).code, 0);
    EXPECT_TRUE(eventually({"messages", "show", message}, "state: done"));
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(PostgresProgram, WhoLooksMakesNoTablesAndPrintsNoPassword) {
    std::string secret = url();
    secret.insert(secret.find('@'), ":hunter2");

    const Ran looked = hear({"messages", "list", "--store", secret});
    const Ran planned = hear({"migrate", "--dry-run", "--store", secret});
    const Ran migrated = hear({"migrate", "--store", secret});
    const Ran listed = hear({"messages", "list", "--store", secret});
    const Ran checked = hear({"check", "--store", secret});

    EXPECT_EQ(looked.code, 1);
    EXPECT_THAT(looked.output, HasSubstr("has no tables of ours"));
    EXPECT_THAT(planned.output,
                AllOf(HasSubstr("would apply 1"), HasSubstr("create table waybill.instance"),
                      HasSubstr("nothing was changed")));
    EXPECT_EQ(migrated.code, 0);
    EXPECT_EQ(listed.code, 0) << listed.output;
    EXPECT_EQ(checked.code, 0) << checked.output;
    for (const Ran& ran : {looked, planned, migrated, listed, checked}) {
        EXPECT_THAT(ran.output, Not(HasSubstr("hunter2")));
    }
}

TEST_F(PostgresProgram, TheDoctorCallsAHealthyStoreHealthyAndNamesWhatIsWrongWithItsFix) {
    const Ran empty = run_here({"doctor"});
    EXPECT_EQ(empty.code, 1);
    EXPECT_THAT(empty.output, AllOf(HasSubstr("[no-schema]"), HasSubstr("    waybill migrate")));
    write("works", "");
    configure("60s");
    Process server = serve();
    server.port();
    // Its first beat, and its connection for wake-ups.
    ASSERT_TRUE(eventually({"doctor"}, ": healthy")) << run_here({"doctor"}).output;

    const Ran well = run_here({"doctor"});
    const Ran for_programs = run_here({"doctor", "--json"});
    EXPECT_EQ(well.code, 0) << well.output;
    EXPECT_THAT(well.output, HasSubstr(": healthy"));
    EXPECT_EQ(for_programs.code, 0);
    EXPECT_TRUE(json::parse(for_programs.output).find("healthy")->as_bool());

    EXPECT_EQ(server.end(SIGTERM), 0);
    publish("nobody.handles.it");
    const Ran alone = run_here({"doctor", "--message-age", "0s", "--json"});
    EXPECT_EQ(alone.code, 1) << alone.output;
    EXPECT_THAT(alone.output, AllOf(HasSubstr("nobody-works"), HasSubstr("old-message"),
                                    HasSubstr(R"("fix":"waybill serve")")));
    EXPECT_EQ(run_here({"doctor", "--store", url() + "-nowhere"}).code, 1);
}

TEST_F(PostgresProgram, TheDoctorNamesAPoolerAndItsMode) {
    ASSERT_EQ(run_here({"migrate"}).code, 0);
    EXPECT_THAT(run_here({"doctor"}).output, Not(HasSubstr("pooler")));

    for (const std::string mode : {"transaction", "session"}) {
        const PostgresPooler pooler{PostgresServer::instance().cluster(), mode};
        const Ran examined = run_here({"doctor", "--store", pooler.url(database_)});
        EXPECT_THAT(examined.output, HasSubstr("[" + mode + "-pooler]"));
        EXPECT_THAT(examined.output, HasSubstr("a pooler in " + mode + " mode"));
    }
}

/// It said "fine", and `serve` refused.
TEST_F(PostgresProgram, CheckRefusesWhatServeWouldRefuse) {
    Client database{url()};
    database.run("create role looker_of_" + database_ + " login");
    std::string as_looker = url();
    as_looker.replace(as_looker.find("//") + 2, as_looker.find('@') - as_looker.find("//") - 2,
                      "looker_of_" + database_);
    const auto check = [&](const std::string& store) { return hear({"check", "--store", store}); };

    EXPECT_EQ(check(url()).code, 0) << "serve would make the tables";
    const Ran poor = check(as_looker);
    EXPECT_EQ(poor.code, 2);
    EXPECT_THAT(poor.output,
                HasSubstr("may not create a schema in the database; `waybill doctor`"));

    ASSERT_EQ(run_here({"migrate"}).code, 0);
    database.run("grant usage on schema waybill to looker_of_" + database_ +
                 "; grant select on all tables in schema waybill to looker_of_" + database_);
    const Ran reader = check(as_looker);
    EXPECT_EQ(reader.code, 2);
    EXPECT_THAT(reader.output, HasSubstr("may only look"));
    EXPECT_EQ(check(url()).code, 0);

    database.run("alter database " + database_ + " set default_transaction_read_only = on");
    EXPECT_EQ(check(url()).code, 2);
    database.run("alter database " + database_ + " reset default_transaction_read_only");

    database.run("update waybill.migration set checksum = 'other' where number = 2");
    for (const Ran& ran : {check(url()), hear({"migrate", "--dry-run"})}) {
        EXPECT_NE(ran.code, 0);
        EXPECT_THAT(ran.output, HasSubstr("was applied with another text"));
    }
}

TEST_F(PostgresProgram, ADatabaseThatCannotBeReachedIsNamedByCheck) {
    const Ran checked = hear({"check", "--store", url() + "-nowhere"});

    EXPECT_NE(checked.code, 0);
    EXPECT_THAT(checked.output, HasSubstr("--store: "));
}

}  // namespace
}  // namespace waybill::test
