/// Operators' commands over the real program, beside a server and without one.

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/program_fixture.hpp"
#include "server/store_access.hpp"
#include "server/terminal.hpp"
#include "waybill/json.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class HaltedLanesByCommand : public Program {
protected:
    HaltedLanesByCommand() {
        write("waybill.toml", R"(
[boxes.inbox]
on_dead = "halt"
[sources.shop]
secrets    = ["file:secret"]
event_type = "json:type"
event_id   = "json:id"
lane       = "json:customer"
[[targets]]
key     = "bill"
command = ["/bin/sh", "-c", "test -e works || exit 65"]
)");
        write("secret", "a secret of some length");
        write("first", R"({"id":"1","type":"first","customer":"c7"})");
        write("second", R"({"id":"2","type":"second","customer":"c7"})");
    }
    /// The first of a lane is dead, the second waits behind it.
    void halt_a_lane() {
        ASSERT_EQ(run_here({"send", "shop", "--body", "first"}).code, 0);
        ASSERT_EQ(run_here({"send", "shop", "--body", "second"}).code, 0);
        ASSERT_TRUE(eventually({"lanes", "list"}, "c7"));
    }
    Process serve() { return {folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}}; }
    std::string head() {
        const json::Value page = json::parse(run_here({"lanes", "list", "--json"}).output);
        return page.find("items")->as_array().at(0).find("message")->as_string();
    }
};

TEST_F(HaltedLanesByCommand, AreListedAndGoOnWhenTheirHeadRunsAgain) {
    Process server = serve();
    server.port();
    halt_a_lane();

    const Ran listed = run_here({"lanes", "list", "--target", "bill"});
    write("works", "");
    const Ran resumed = run_here({"lanes", "resume", "c7"});

    EXPECT_THAT(listed.output, HasSubstr("first"));
    EXPECT_THAT(listed.output, HasSubstr("exit code 65"));
    EXPECT_THAT(listed.output, Not(HasSubstr("second"))) << "it only waits";
    EXPECT_EQ(resumed.code, 0);
    EXPECT_THAT(resumed.output, HasSubstr("runs again in its old place"));
    EXPECT_TRUE(eventually({"messages", "list", "--state", "done"}, "second"));
    EXPECT_THAT(run_here({"lanes", "list"}).output, HasSubstr("nothing"));
    EXPECT_THAT(run_here({"dead", "list"}).output, HasSubstr("nothing"));
}

TEST_F(HaltedLanesByCommand, GoOnBehindAHeadThatIsSkippedAndItsDeadLetterStays) {
    Process server = serve();
    server.port();
    halt_a_lane();

    const Ran skipped = run_here({"lanes", "skip", head()});

    EXPECT_EQ(skipped.code, 0);
    EXPECT_THAT(skipped.output, HasSubstr("its dead letter stays"));
    EXPECT_TRUE(eventually({"lanes", "list"}, "second")) << "the next one had its turn, and died";
    EXPECT_THAT(run_here({"dead", "list"}).output, HasSubstr("first"));
    EXPECT_EQ(hear({"lanes", "skip", "c8"}).code, 1);
    EXPECT_THAT(hear({"lanes", "skip", "c8"}).output, HasSubstr("no lane \"c8\" is halted"));
    EXPECT_EQ(hear({"lanes", "mend", "c7"}).code, 2);
}

TEST_F(HaltedLanesByCommand, AreNotLostByDiscardingTheirHead) {
    Process server = serve();
    server.port();
    halt_a_lane();

    const Ran one = hear({"dead", "discard", head()});
    const Ran many = run_here({"dead", "discard", "--target", "bill", "--yes"});

    EXPECT_EQ(one.code, 1);
    EXPECT_THAT(one.output, HasSubstr("skip or resume the lane first"));
    EXPECT_THAT(many.output, HasSubstr("0 done, 1 refused, 0 remaining"));
    EXPECT_THAT(many.output, HasSubstr("skip or resume the lane first"));
    EXPECT_THAT(run_here({"lanes", "list"}).output, HasSubstr("c7"));
}

TEST_F(HaltedLanesByCommand, GoOnWhenTheirHeadIsCancelled) {
    Process server = serve();
    server.port();
    halt_a_lane();

    const Ran cancelled = run_here({"messages", "cancel", head()});

    EXPECT_EQ(cancelled.code, 0);
    EXPECT_THAT(cancelled.output, HasSubstr("skipped; its dead letter stays"));
    EXPECT_TRUE(eventually({"lanes", "list"}, "second")) << "the next one had its turn, and died";
}

class ReplaysByCommand : public Program {
protected:
    ReplaysByCommand() {
        write("waybill.toml", R"(
[[targets]]
key     = "keep"
box     = "outbox"
command = ["/bin/sh", "-c", "cat >> got"]
)");
        write("body", "x");
    }
};

TEST_F(ReplaysByCommand, OneOrThoseThatMatchRunAgainAndNobodyIsAskedTwice) {
    Process server{folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}};
    server.port();
    for (const char* type : {"order.placed", "order.paid", "mail.sent"}) {
        ASSERT_EQ(run_here({"publish", "--type", type, "--body", "body"}).code, 0);
    }
    const auto done = [&] { return eventually({"stats"}, "done: 3"); };
    ASSERT_TRUE(done());
    const json::Value page = json::parse(run_here({"messages", "list", "--json"}).output);
    const std::string id = page.find("items")->as_array().at(0).find("id")->as_string();

    const Ran one = run_here({"messages", "replay", id, "--target", "keep"});
    ASSERT_TRUE(done());
    const Ran nobody = hear({"messages", "replay", id, "--target", "nobody"});
    const Ran unconfirmed = hear({"messages", "replay", "--type", "order.*", "--target", "keep"});
    const Ran many = run_here({"messages", "replay", "--type", "order.*", "--target", "keep",
                               "--rate", "100/s", "--yes", "--operation", "again-1"});
    ASSERT_TRUE(done());
    const Ran again = run_here({"messages", "replay", "--type", "order.*", "--target", "keep",
                                "--rate", "100/s", "--yes", "--operation", "again-1"});

    EXPECT_EQ(one.code, 0);
    EXPECT_THAT(one.output, HasSubstr("1 message replayed"));
    EXPECT_EQ(nobody.code, 1);
    EXPECT_THAT(nobody.output, HasSubstr("no target \"nobody\" is registered"));
    EXPECT_EQ(unconfirmed.code, 2);
    EXPECT_THAT(unconfirmed.output, HasSubstr("replay 2 messages?"));
    EXPECT_THAT(many.output, HasSubstr("2 done, 0 refused, 0 remaining"));
    EXPECT_THAT(again.output, HasSubstr("2 done, 0 refused, 0 remaining"));
    EXPECT_EQ(std::filesystem::file_size(folder_.file("got")), 6U) << "once more each, not twice";
    EXPECT_EQ(hear({"messages", "replay", id}).code, 2);
    EXPECT_EQ(hear({"messages", "replay", "--target", "keep"}).code, 2);
}

TEST_F(HaltedLanesByCommand, OrdersOfProgramsAreAnsweredAsJson) {
    Process server = serve();
    server.port();
    halt_a_lane();
    const std::string id = head();

    const json::Value skipped = json::parse(run_here({"lanes", "skip", "c7", "--json"}).output);
    ASSERT_TRUE(eventually({"lanes", "list"}, "second"));
    const json::Value cancelled =
        json::parse(run_here({"messages", "cancel", head(), "--json"}).output);

    const json::Value& order = skipped.find("items")->as_array().at(0);
    EXPECT_EQ(order.find("message")->as_string(), id);
    const json::Value& answer = order.find("commands")->as_array().at(0);
    EXPECT_TRUE(answer.find("answered")->as_bool());
    EXPECT_TRUE(answer.find("carried_out")->as_bool());
    EXPECT_EQ(answer.find("text")->as_string(), "skipped; its dead letter stays");
    EXPECT_EQ(cancelled.find("items")->as_array().size(), 1U);
}

TEST_F(HaltedLanesByCommand, AnOrderWithoutAServerIsCarriedOutWhenOneRuns) {
    {
        Process server = serve();
        server.port();
        halt_a_lane();
        ASSERT_EQ(server.end(SIGTERM), 0);
    }
    write("works", "");

    const Ran ordered = run_here({"lanes", "resume", "c7"});

    EXPECT_EQ(ordered.code, 0);
    EXPECT_THAT(ordered.output, HasSubstr("when a server runs"));
    Process server = serve();
    server.port();
    EXPECT_TRUE(eventually({"messages", "list", "--state", "done"}, "second"));
}

class OperatorCommands : public Program {
protected:
    /// For single quotes of a shell.
    static std::string replaced(const std::string& text) {
        std::string quoted;
        for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
        return quoted;
    }
    static std::string text(const json::Value& object, const char* name) {
        return object.find(name)->as_string();
    }
    static std::uint64_t number(const json::Value& object, const char* name) {
        return object.find(name)->as_uint64();
    }
    /// Some letters are dead.
    void let_die(int count) {
        write("waybill.toml",
              "[boxes.outbox]\n[[targets]]\nkey = 'it'\nbox = 'outbox'\n"
              "command = ['/bin/sh', '-c', 'cat > /dev/null; exit 65']\n");
        for (int i = 0; i < count; ++i) {
            ASSERT_EQ(run_here({"publish", "--type", "a.b"}).code, 0);
        }
        ASSERT_EQ(run_here({"run-once"}).code, 0);
    }
};

TEST_F(OperatorCommands, EveryOrderHasAResultForPrograms) {
    let_die(3);
    const auto answer = [&](std::vector<std::string> words) {
        words.emplace_back("--json");
        return json::parse(run_here(words).output);
    };
    const std::string id =
        text(answer({"dead", "list"}).find("items")->as_array().at(0), "message");

    EXPECT_EQ(number(answer({"dead", "requeue", id}), "carried_out"), 1U);
    EXPECT_EQ(run_here({"dead", "requeue", id, "--json"}).code, 1) << "there is none any more";
    const json::Value many =
        answer({"dead", "discard", "--target", "it", "--yes", "--operation", "x"});
    EXPECT_EQ(number(many, "carried_out"), 2U);
    EXPECT_EQ(text(many, "operation"), "x");
    EXPECT_EQ(number(answer({"run-once"}), "ended"), 1U);
    EXPECT_EQ(text(answer({"publish", "--type", "a.b"}), "status"), "accepted");
    EXPECT_TRUE(answer({"boxes", "pause", "outbox"}).find("paused")->as_bool());
    EXPECT_FALSE(answer({"boxes", "resume", "outbox"}).find("paused")->as_bool());
    EXPECT_EQ(number(answer({"migrate"}), "version"),
              number(answer({"migrate", "--dry-run"}), "newest"));
    EXPECT_EQ(text(answer({"backup", "copy.db"}), "path"), folder_.file("copy.db"));
    write("waybill.toml", "");
    EXPECT_EQ(text(answer({"targets", "forget", "it", "--box", "outbox", "--yes"}), "key"), "it");
}

TEST_F(OperatorCommands, ABulkOrderShowsItsCountAndTheSameOperationIsCarriedOutOnce) {
    let_die(3);

    const Ran asked = hear({"dead", "discard", "--target", "it"});
    const Ran done = run_here({"dead", "discard", "--target", "it", "--yes", "--operation", "x"});
    const Ran again = run_here({"dead", "discard", "--target", "it", "--yes", "--operation", "x"});
    const Ran other = hear({"dead", "discard", "--type", "*", "--yes", "--operation", "x"});

    EXPECT_EQ(asked.code, 2);
    EXPECT_THAT(asked.output, HasSubstr("discard 3 dead letters?"));
    EXPECT_THAT(done.output, HasSubstr("3 of 3 dead letters gone through"));
    EXPECT_THAT(done.output, HasSubstr("3 done, 0 refused, 0 remaining"));
    EXPECT_EQ(again.code, 0);
    EXPECT_THAT(again.output, HasSubstr("3 done, 0 refused, 0 remaining"));
    EXPECT_EQ(other.code, 1);
    EXPECT_THAT(other.output, HasSubstr("was used for another order"));
}

TEST_F(OperatorCommands, ABulkOrderWithALimitEndsThereAndGoesOnUnderItsId) {
    let_die(3);
    const std::vector<std::string> some{"dead",    "discard", "--target",    "it", "--yes",
                                        "--limit", "2",       "--operation", "x"};

    const Ran first = run_here(some);
    const Ran rest = run_here({"dead", "discard", "--target", "it", "--yes", "--operation", "x"});

    EXPECT_THAT(first.output, HasSubstr("2 done, 0 refused, 1 remaining"));
    EXPECT_THAT(rest.output, HasSubstr("3 done, 0 refused, 0 remaining"));
}

TEST_F(OperatorCommands, OnATerminalABarMovesAndAPersonIsAsked) {
    let_die(2);

    Terminal terminal{folder_.path().string(), {"dead", "requeue", "--target", "it"}};
    const std::string question = terminal.hear_until("[y/N] ");
    terminal.type("y\n");
    const Ran ran = terminal.finish();

    EXPECT_THAT(question, HasSubstr("requeue 2 dead letters?"));
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.output, HasSubstr("[####################] 100 %  2 of 2"));
    EXPECT_THAT(ran.output, HasSubstr("2 done"));
}

TEST_F(OperatorCommands, AnOrderThatMatchesNothingSaysSo) {
    let_die(1);

    const Ran none = run_here({"dead", "requeue", "--target", "nosuch", "--yes"});

    EXPECT_EQ(none.code, 0);
    EXPECT_EQ(none.output, "no dead letter matches: nothing to requeue\n");
}

TEST_F(OperatorCommands, AFolderIsNoBody) {
    const Ran ran = hear({"publish", "--type", "a", "--body", "/"});

    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.output, HasSubstr("cannot read /: it is a folder"));
}

TEST_F(OperatorCommands, OneMessageIsMendedByItsId) {
    let_die(1);
    const json::Value page = json::parse(run_here({"dead", "list", "--json"}).output);
    const std::string id = page.find("items")->as_array().at(0).find("message")->as_string();

    EXPECT_EQ(hear({"dead", "requeue", id, "--target", "other"}).code, 1);
    EXPECT_THAT(run_here({"dead", "requeue", id}).output, HasSubstr("1 dead letter requeued"));
    EXPECT_THAT(hear({"dead", "requeue", id}).output, HasSubstr("no delivery of this message"));
}

TEST_F(OperatorCommands, RunOnceKeepsToTheBoxItIsGiven) {
    write("waybill.toml",
          "[boxes.outbox]\n[boxes.other]\n[[targets]]\nkey = 'a'\nbox = 'outbox'\nlog = true\n"
          "[[targets]]\nkey = 'b'\nbox = 'other'\nlog = true\n");
    ASSERT_EQ(run_here({"publish", "--type", "first"}).code, 0);
    ASSERT_EQ(run_here({"publish", "--type", "second", "--box", "other"}).code, 0);

    EXPECT_THAT(run_here({"run-once", "--box", "other"}).output, HasSubstr("1 delivery ended"));
    const std::string done = run_here({"messages", "list", "--state", "done"}).output;

    EXPECT_THAT(done, HasSubstr("second"));
    EXPECT_THAT(done, Not(HasSubstr("first")));
    EXPECT_THAT(hear({"run-once", "--box", "othr"}).output, HasSubstr("did you mean other?"));
}

TEST_F(OperatorCommands, BashCompletesWhatIsTyped) {
    write("waybill.bash", run_here({"completion", "bash"}).output);
    const auto completed = [&](const std::string& words, int at) {
        const std::string script = "source '" + folder_.file("waybill.bash") + "'; COMP_WORDS=(" +
                                   words + "); COMP_CWORD=" + std::to_string(at) +
                                   "; _waybill; echo \"${COMPREPLY[@]}\"";
        std::string heard;
        FILE* const bash = ::popen(("bash -c '" + replaced(script) + "'").c_str(), "r");
        for (int c = std::fgetc(bash); c != EOF; c = std::fgetc(bash)) {
            heard.push_back(static_cast<char>(c));
        }
        ::pclose(bash);
        return heard;
    };

    EXPECT_EQ(completed("waybill la", 1), "lanes\n");
    EXPECT_EQ(completed("waybill lanes s", 2), "skip\n");
    EXPECT_EQ(completed("waybill migrate --dr", 2), "--dry-run\n");
}

TEST_F(OperatorCommands, MigrateSaysWhatItWouldDoAndGoesAsFarAsItIsTold) {
    const Ran plan = run_here({"migrate", "--dry-run"});
    const bool made = std::filesystem::exists(folder_.file("waybill.db"));
    const Ran first = run_here({"migrate", "--to", "1"});
    const Ran rest = run_here({"migrate", "--dry-run"});
    const Ran all = run_here({"migrate"});

    EXPECT_THAT(plan.output, HasSubstr("would apply 1 tables"));
    EXPECT_FALSE(made) << "looking makes nothing";
    EXPECT_THAT(first.output, HasSubstr("is of version 1\n"));
    EXPECT_THAT(rest.output, Not(HasSubstr("would apply 1 ")));
    EXPECT_THAT(rest.output, HasSubstr("would apply 2 "));
    EXPECT_EQ(all.code, 0);
    EXPECT_THAT(run_here({"migrate", "--dry-run"}).output, HasSubstr("nothing to do"));
    EXPECT_THAT(run_here({"migrate", "--to", "1"}).output, HasSubstr("never goes back"));
    EXPECT_EQ(hear({"migrate", "--to", "99"}).code, 2);
}

TEST_F(OperatorCommands, TwoThatMigrateAtOnceBothSucceed) {
    const std::string store = "sqlite:" + folder_.file("waybill.db");
    auto other = server::open_store(store, {});
    Process migrate{folder_.path().string(), {"migrate"}, Process::Errors::to_output};

    ASSERT_TRUE(migrate.hear_until("waiting: another process has"));
    other->migrate();
    other.reset();

    const Ran ended = migrate.finish();
    EXPECT_EQ(ended.code, 0);
    EXPECT_THAT(ended.output, HasSubstr("is of version"));
}

TEST_F(OperatorCommands, BesideAServerWhatNeedsTheFileSaysSoAndWhatToDo) {
    write("waybill.toml", "[boxes.inbox]\n");
    Process server{folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}};
    const std::string port = std::to_string(server.port());

    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"migrate"}, {"run-once"}, {"serve"}}) {
        const Ran refused = hear(words);
        EXPECT_EQ(refused.code, 1) << words[0];
        EXPECT_THAT(refused.output, HasSubstr("process " + std::to_string(server.pid())));
        EXPECT_THAT(refused.output, HasSubstr("the server at http://127.0.0.1:" + port));
        EXPECT_THAT(refused.output, HasSubstr("stop "));
        EXPECT_THAT(refused.output, Not(HasSubstr("connect()")));
    }
}

TEST_F(OperatorCommands, TheSecretOfTheDemoIsInTheStoreAndOutlivesARestart) {
    for (int i = 0; i < 2; ++i) {
        Process server{folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}};
        server.port();
        const Ran sent = run_here({"send", "demo", "--id", "order-1"});
        EXPECT_EQ(sent.code, 0);
        EXPECT_THAT(sent.output, HasSubstr(i == 0 ? "202" : "200"));
        ASSERT_EQ(server.end(SIGTERM), 0);
    }
    ASSERT_EQ(run_here({"backup", "copy.db"}).code, 0);
    for (const char* file : {"waybill.db", "copy.db"}) {
        using std::filesystem::perms;
        EXPECT_EQ(std::filesystem::status(folder_.file(file)).permissions(),
                  perms::owner_read | perms::owner_write)
            << file << " has the secret";
    }
}

}  // namespace
}  // namespace waybill::test
