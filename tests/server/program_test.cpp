/// The program as its users run it.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/program_fixture.hpp"
#include "support/http_client.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(Program, ANewUserSendsAGoodABadAndADuplicateWebhookAndSeesThem) {
    Process server{folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}};
    server.port();

    const Ran good = run_here({"send", "demo", "--type", "order.placed", "--id", "order-1"});
    const Ran again = run_here({"send", "demo", "--type", "order.placed", "--id", "order-1"});
    const Ran bad = run_here({"send", "demo", "--bad-signature"});

    EXPECT_EQ(good.code, 0);
    EXPECT_THAT(good.output, HasSubstr("202"));
    EXPECT_EQ(again.code, 0);
    EXPECT_THAT(again.output, HasSubstr("200"));
    EXPECT_EQ(bad.code, 1);
    EXPECT_THAT(bad.output, HasSubstr("bad-signature"));
    EXPECT_TRUE(eventually({"messages", "list", "--state", "done"}, "order.placed"));
    EXPECT_EQ(server.end(SIGTERM), 0) << "a stop is a success";
    EXPECT_THAT(run_here({"messages", "list", "--json"}).output, HasSubstr("order.placed"))
        << "without a server the file itself is asked";
}

TEST_F(Program, AFailingTargetMakesADeadLetterThatCanBeRequeued) {
    write("waybill.toml", R"(
[sources.shop]
secrets    = ["file:secret"]
event_type = "json:type"
event_id   = "json:id"
[[targets]]
key     = "handler"
command = ["/bin/sh", "-c", "test -e works || exit 65"]
)");
    write("secret", "a secret of some length");
    Process server{folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}};
    server.port();

    ASSERT_EQ(run_here({"send", "shop", "--type", "a.b", "--id", "1"}).code, 0);
    ASSERT_TRUE(eventually({"dead", "list"}, "exit code 65"));
    EXPECT_EQ(run_here({"dead", "requeue", "--target", "handler"}).code, 2) << "nobody said --yes";
    write("works", "");
    const Ran requeued = run_here({"dead", "requeue", "--target", "handler", "--yes"});

    EXPECT_EQ(requeued.code, 0);
    EXPECT_THAT(requeued.output, HasSubstr("1 done"));
    EXPECT_TRUE(eventually({"messages", "list", "--state", "done"}, "a.b"));
    EXPECT_THAT(run_here({"dead", "list"}).output, HasSubstr("nothing"));
    EXPECT_THAT(run_here({"stats"}).output, HasSubstr("dead: 0"));
}

TEST_F(Program, SighupReloadsAndABrokenFileLeavesTheOldOneInForce) {
    const std::string first =
        "[sources.one]\nprovider = 'generic'\nsecrets = ['file:secret']\n"
        "event_type = 'json:type'\n";
    write("secret", "a secret of some length");
    write("waybill.toml", first);
    Process server{folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}};
    const std::uint16_t port = server.port();
    const auto status = [&](const std::string& target) {
        return HttpClient{port}.post(target, "{}")->status;
    };
    ASSERT_EQ(status("/webhooks/two"), 404);

    write("waybill.toml", first +
                              "[sources.two]\nprovider = 'generic'\nsecrets = ['file:secret']\n"
                              "event_type = 'json:type'\n");
    server.signal(SIGHUP);
    for (int i = 0; i < 20'000 && status("/webhooks/two") == 404; ++i) {
    }
    ASSERT_EQ(status("/webhooks/two"), 400) << "it is there, and wants a signature";
    write("waybill.toml", "nonsense");
    server.signal(SIGHUP);

    EXPECT_EQ(status("/webhooks/two"), 400);
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(Program, AReloadOfAFileThatIsGoneOrEmptyKeepsTheSources) {
    write("secret", "a secret of some length");
    write("waybill.toml",
          "[sources.one]\nprovider = 'generic'\nsecrets = ['file:secret']\n"
          "event_type = 'json:type'\n");
    Process server{
        folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}, Process::Errors::to_output};
    const std::uint16_t port = server.port();

    std::filesystem::rename(folder_.file("waybill.toml"), folder_.file("elsewhere"));
    server.signal(SIGHUP);
    EXPECT_TRUE(server.hear_until("waybill.toml: cannot be read"));
    EXPECT_TRUE(server.hear_until("not reloaded"));
    write("waybill.toml", "");
    server.signal(SIGHUP);
    EXPECT_TRUE(server.hear_until("there are no sources in it, and there were 1"));
    EXPECT_TRUE(server.hear_until("not reloaded"));

    EXPECT_EQ(HttpClient{port}.post("/webhooks/one", "{}")->status, 400)
        << "it is there, and wants a signature";
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(Program, MetricsAreSwitchedOnByAReloadAndHaveCountedAllAlong) {
    write("waybill.toml", "[telemetry]\nprometheus = false\n");
    Process server{folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}};
    HttpClient client{server.port()};
    ASSERT_EQ(client.post("/webhooks/nobody", "{}")->status, 404);
    ASSERT_EQ(client.get("/metrics")->status, 404);

    write("waybill.toml", "[telemetry]\nprometheus = true\n");
    server.signal(SIGHUP);
    for (int i = 0; i < 20'000 && client.get("/metrics")->status == 404; ++i) {
    }
    ASSERT_EQ(client.post("/webhooks/nobody", "{}")->status, 404);

    EXPECT_THAT(client.get("/metrics")->body,
                HasSubstr("waybill_webhooks_total{source=\"\",outcome=\"not-found\"} 2\n"));
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(Program, MistakesAreNamedAndEndWithCodeTwo) {
    EXPECT_EQ(run_here({}).code, 2);
    EXPECT_EQ(run_here({"serv"}).code, 2);
    EXPECT_THAT(hear({"copy"}).output, HasSubstr("waybill copy comes with a later version"));
    EXPECT_EQ(run_here({"serve", "--lisen", "x"}).code, 2);
    EXPECT_EQ(run_here({"serve", "--listen"}).code, 2);
    EXPECT_EQ(run_here({"send"}).code, 2);
    EXPECT_EQ(run_here({"messages", "lst"}).code, 2);
    EXPECT_EQ(run_here({"boxes", "pause", "inbox", "outbox"}).code, 2) << "only one was paused";
    EXPECT_THAT(hear({"stats", "now"}).output, HasSubstr("\"now\" is a word too many"));
    EXPECT_EQ(run_here({"messages", "list"}).code, 1) << "there is no store";
    write("waybill.toml", "stroe = 'x'");
    EXPECT_EQ(run_here({"check"}).code, 2);
    EXPECT_EQ(run_here({"serve"}).code, 2);
    write("waybill.toml", "store = 'memory:'");
    EXPECT_EQ(run_here({"check"}).code, 0);
    EXPECT_THAT(run_here({"check", "--print"}).output, HasSubstr("store = \"memory:\""));
    EXPECT_EQ(run_here({"--version"}).code, 0);
}

TEST_F(Program, EveryCommandHasAHelpWithExamples) {
    const std::string all = run_here({"--help"}).output;
    for (const char* name : {"serve", "check", "migrate", "send", "verify", "publish", "run-once",
                             "messages", "dead", "targets", "lanes", "boxes", "backup", "stats"}) {
        const Ran help = run_here({name, "--help"});
        EXPECT_EQ(help.code, 0) << name;
        EXPECT_THAT(help.output, HasSubstr("Examples:\n  ")) << name;
        EXPECT_THAT(all, HasSubstr(std::string{"\n  "} + name));
    }
}

TEST_F(Program, ShellsCompleteCommandsVerbsAndOptions) {
    for (const char* shell : {"bash", "zsh"}) {
        const Ran script = run_here({"completion", shell});
        EXPECT_EQ(script.code, 0);
        EXPECT_THAT(script.output, HasSubstr("serve check migrate send"));
        EXPECT_THAT(script.output, HasSubstr(" list show requeue discard"));
        EXPECT_THAT(script.output, HasSubstr("--listen"));
    }
    EXPECT_EQ(run_here({"completion", "fish"}).code, 2);
}

TEST_F(Program, BashCompletesBehindGlobalOptionsToo) {
    write("complete",
          run_here({"completion", "bash"}).output +
              R"(COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _waybill; echo "${COMPREPLY[*]}")");
    const auto completed = [&](const std::string& words) {
        const std::string command = "bash " + folder_.file("complete") + " waybill " + words;
        FILE* const pipe = ::popen(command.c_str(), "r");
        std::string said;
        for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
            said += static_cast<char>(c);
        }
        ::pclose(pipe);
        return said;
    };

    EXPECT_EQ(completed("mess"), "messages\n");
    EXPECT_EQ(completed("--sto"), "--store\n");
    EXPECT_EQ(completed("--config x --help mess"), "messages\n");
    EXPECT_EQ(completed("--store memory: dead req"), "requeue\n");
    EXPECT_EQ(completed("serve --log-format ''"), "text json\n");
    EXPECT_EQ(completed("check --config ''"), "\n") << "the shell offers files";
}

TEST_F(Program, VerifyExplainsACapturedWebhook) {
    write("headers",
          "X-Hub-Signature-256: sha256=00\nX-GitHub-Event: push\nX-GitHub-Delivery: 1\n");
    write("body", "{}");

    const Ran refused = run_here(
        {"verify", "github", "--secret", "canary", "--headers", "headers", "--body", "body"});

    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.output, Not(testing::IsEmpty()));
    EXPECT_THAT(refused.output, Not(HasSubstr("canary")));
}

TEST_F(Program, AnOutboxIsPublishedToAndWorkedOnceAndBackedUp) {
    write("waybill.toml", "[boxes.outbox]\n[[targets]]\nkey = 'log'\nbox = 'outbox'\nlog = true\n");
    write("body", "{}");

    EXPECT_EQ(run_here({"migrate"}).code, 0);
    EXPECT_THAT(run_here({"publish", "--type", "a.b", "--body", "body", "--dedup", "k"}).output,
                HasSubstr("accepted"));
    EXPECT_THAT(run_here({"publish", "--type", "a.b", "--body", "body", "--dedup", "k"}).output,
                HasSubstr("duplicate"));
    EXPECT_THAT(run_here({"run-once"}).output, HasSubstr("1 delivery ended"));
    EXPECT_EQ(run_here({"backup", "copy.db"}).code, 0);
    EXPECT_THAT(run_here({"messages", "list", "--store", "sqlite:copy.db"}).output,
                HasSubstr("a.b"));
    EXPECT_THAT(run_here({"boxes", "list"}).output, HasSubstr("outbox"));
    EXPECT_THAT(run_here({"targets", "list"}).output, HasSubstr("log"));
}

TEST_F(Program, AnOutboxIsThereWithoutBeingConfigured) {
    write("body", "{}");
    const std::vector<std::string> publish{"publish", "--type", "order.placed", "--body", "body"};
    EXPECT_THAT(hear(publish).output, HasSubstr("accepted")) << "without a server";

    Process server{folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}};
    server.port();
    EXPECT_THAT(hear(publish).output, HasSubstr("accepted"));
    EXPECT_TRUE(eventually({"stats"}, "open: 0")) << "nobody is interested, and that is fine";
    EXPECT_THAT(run_here({"messages", "list", "--state", "done"}).output, HasSubstr("outbox"));
}

TEST_F(Program, ACommandDoesNotSeeTheSecretsInTheServersEnvironment) {
    write("waybill.toml", R"(
[server]
admin_tokens = ["env:TOKEN"]
[sources.shop]
secrets    = ["env:SHOP"]
event_type = "json:type"
[[targets]]
key     = "show"
command = ["/bin/sh", "-c", "env > seen"]
)");
    const std::vector<std::string> environment{"TOKEN=canary of the operator", "PLAIN=is seen",
                                               "SHOP=canary of some length",
                                               "WAYBILL_ADMIN_TOKEN=canary too"};
    Process server{folder_.path().string(),
                   {"serve", "--listen", "127.0.0.1:0"},
                   Process::Errors::to_ours,
                   environment};
    server.port();

    ASSERT_EQ(hear({"send", "shop", "--type", "a.b"}, environment).code, 0);
    for (int i = 0; i < 300; ++i) {
        if (hear({"stats"}, environment).output.find("open: 0") != std::string::npos) break;
    }

    std::ifstream file{folder_.file("seen")};
    const std::string seen{std::istreambuf_iterator<char>{file}, {}};
    EXPECT_THAT(seen, HasSubstr("PLAIN=is seen"));
    EXPECT_THAT(seen, Not(HasSubstr("canary")));
}

TEST_F(Program, WhatOthersWriteIntoAMessageDoesNotReachTheTerminalAsCommands) {
    write("waybill.toml",
          "[[targets]]\nkey = 'it'\nbox = 'outbox'\n"
          "command = ['/bin/sh', '-c', 'exit 65']\n");
    write("body", "one\ntwo\033[2J");
    const std::string type = "a\033]0;owned\007\302\233b";
    const Ran published = hear({"publish", "--type", type, "--body", "body"});
    ASSERT_EQ(published.code, 0) << published.output;
    const std::string id = published.output.substr(0, 36);
    ASSERT_EQ(run_here({"run-once"}).code, 0);

    for (const std::vector<std::string>& words : {std::vector<std::string>{"messages", "list"},
                                                  {"messages", "show", id},
                                                  {"dead", "list"},
                                                  {"dead", "show", id}}) {
        const std::string shown = run_here(words).output;
        EXPECT_THAT(shown, HasSubstr("owned")) << words[0] << words[1];
        EXPECT_THAT(shown, Not(HasSubstr("\033"))) << words[0] << words[1];
    }
    const std::string shown = run_here({"messages", "show", id}).output;
    EXPECT_THAT(shown, HasSubstr("a\\u001b]0;owned\\u0007\\u009bb"));
    EXPECT_THAT(shown, HasSubstr("one\ntwo\\u001b[2J"));
}

TEST_F(Program, AnOrderThatIsNotUnderstoodEndsWithCodeTwo) {
    ASSERT_EQ(run_here({"migrate"}).code, 0);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"messages", "list", "--limit", "x"},
          {"messages", "list", "--state", "opn"},
          {"dead", "list", "--since", "soon"},
          {"messages", "show", "1"},
          {"dead", "requeue", "1"},
          {"publish", "--type", "a", "--at", "soon"}}) {
        EXPECT_EQ(hear(words).code, 2) << words.back();
    }
    EXPECT_EQ(hear({"messages", "show", "01980000-0000-7000-8000-000000000000"}).code, 1)
        << "there is none";
}

TEST_F(Program, WithoutTokensItDoesNotListenWhereOthersReachIt) {
    const Ran refused = hear({"serve", "--listen", "0.0.0.0:0"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.output, HasSubstr("admin_tokens is required when listening on 0.0.0.0"));

    write("waybill.toml", "[server]\nadmin_tokens = ['env:TOKEN']\n");
    Process server{folder_.path().string(),
                   {"serve", "--listen", "0.0.0.0:0"},
                   Process::Errors::to_output,
                   {"TOKEN=a token of some length"}};
    EXPECT_TRUE(server.hear_until("listens on http://0.0.0.0:"));
    EXPECT_EQ(hear({"stats"}, {"TOKEN=a token of some length"}).code, 0)
        << "from here it is reached as before";
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(Program, ATargetThatIsConfiguredIsNotForgotten) {
    write("waybill.toml", "[boxes.outbox]\n[[targets]]\nkey = 'log'\nbox = 'outbox'\nlog = true\n");
    const std::vector<std::string> forget{"targets", "forget", "log", "--box", "outbox", "--yes"};
    {
        Process server{folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}};
        server.port();
        const Ran refused = hear(forget);
        EXPECT_EQ(refused.code, 1);
        EXPECT_THAT(refused.output, HasSubstr("log is configured here; take it out"));
        EXPECT_EQ(server.end(SIGTERM), 0);
    }
    EXPECT_EQ(hear(forget).code, 1) << "nor without a server";
    EXPECT_THAT(run_here({"targets", "list"}).output, HasSubstr("log"));

    write("waybill.toml", "[boxes.outbox]\n");
    EXPECT_EQ(run_here(forget).code, 0);
    EXPECT_THAT(run_here({"targets", "list"}).output, HasSubstr("nothing"));
}

}  // namespace
}  // namespace waybill::test
