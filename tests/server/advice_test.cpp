/// What the program tells a person, before and after a mistake.

#include <csignal>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "server/program_fixture.hpp"
#include "support/http_client.hpp"
#include "waybill/json.hpp"

namespace waybill::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Advice : public Program {
protected:
    Ran check() { return hear({"check"}); }
    static std::size_t place(const Ran& ran, const std::string& text) {
        const std::size_t at = ran.output.find(text);
        EXPECT_NE(at, std::string::npos) << text << " is not in " << ran.output;
        return at;
    }
};

TEST_F(Advice, ProblemsComeInTheOrderOfTheirLines) {
    write("waybill.toml",
          "[[targets]]\nkey = 'a'\nurl = 'ftp://x'\n[sources.b]\nprovider = 'strip'\n"
          "[engine]\nlease = 'soon'\npoll = '1h'\n");

    const Ran ran = check();

    EXPECT_EQ(ran.code, 2);
    EXPECT_LT(place(ran, "waybill.toml:3: targets[0].url"),
              place(ran, "waybill.toml:5: sources.b.provider"));
    EXPECT_LT(place(ran, "waybill.toml:5:"), place(ran, "waybill.toml:7: engine.lease"));
    EXPECT_LT(place(ran, "waybill.toml:7:"), place(ran, "waybill.toml:8: engine.poll"));
}

TEST_F(Advice, WhatIsAllowedAndHardlyMeantIsAWarning) {
    write("waybill.toml",
          "[sources.stripe]\nprovider = 'stripe'\nsecrets = ['env:S']\n"
          "[[targets]]\nkey = 'a'\nlog = true\nmatch = { source = 'strip' }\n"
          "[[targets]]\nkey = 'b'\ncommand = ['./handle']\n"
          "[[targets]]\nkey = 'c'\ncommand = ['no-such-program-anywhere']\n"
          "[[targets]]\nkey = 'd'\ncommand = ['sh', '-c', 'true']\nmatch = { source = 's*' }\n");

    const Ran ran = hear({"check"}, {"S=whsec_short"});

    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.output,
                HasSubstr("waybill.toml:3: sources.stripe.secrets: a secret of 11 bytes"));
    EXPECT_THAT(ran.output, HasSubstr("waybill.toml:7: targets[0].match.source: there is no source "
                                      "\"strip\", so nothing that comes in will match; did you "
                                      "mean \"stripe\"?"));
    EXPECT_THAT(ran.output, HasSubstr("targets[1].command: \"./handle\" is not there"));
    EXPECT_THAT(ran.output, HasSubstr("targets[2].command: \"no-such-program-anywhere\" is in no"));
    EXPECT_THAT(ran.output, Not(HasSubstr("targets[3]")));
    EXPECT_THAT(ran.output, HasSubstr("1 source, 4 targets"));
    write("handle", "");
    EXPECT_THAT(hear({"check"}, {"S=x"}).output, HasSubstr("\"./handle\" is not executable"));
}

TEST_F(Advice, WithoutAConfigurationCheckSaysWhatServeWouldDo) {
    EXPECT_THAT(check().output, HasSubstr("starts the demo"));
}

TEST_F(Advice, CheckRefusesAStoreThatServeCouldNotOpen) {
    write("waybill.toml", "store = 'sqlite:w.db'\n");
    write("w.db", std::string(5'000, 'x'));

    EXPECT_EQ(check().code, 2);
    EXPECT_NE(hear({"serve", "--listen", "127.0.0.1:0"}).code, 0);
}

TEST_F(Advice, WhatServeRefusesCheckRefusesInTheSameWords) {
    const std::vector<std::pair<std::string, std::string>> table{
        {"[server]\ntls = { cert = 'c.pem', key = 'k.pem' }\n",
         "waybill.toml:2: server.tls.cert: cannot use c.pem: "},
        {"[server]\nlisten = '192.0.2.1:0'\nadmin_tokens = ['file:token']\n",
         "waybill.toml:2: server.listen: 192.0.2.1 is not an address of this machine"},
        {"[server]\nheader_max = '1B'\n", "waybill.toml:2: server.header_max: must be"},
        {"[sources.'a b']\nprovider = 'none'\n", "waybill.toml:1: sources.a b: the name must be"},
        {"[sources.a]\nprovider = 'none'\npath = 'x'\n", "waybill.toml:3: sources.a.path: "},
        {"store = 'sqlite:'\n", "waybill.toml:1: store: names no file"},
    };
    write("token", "a token of some length\n");
    for (const auto& [text, problem] : table) {
        write("waybill.toml", text);
        const Ran checked = check();
        const Ran served = hear({"serve"});

        EXPECT_EQ(checked.code, 2) << text;
        EXPECT_EQ(served.code, 2) << text;
        EXPECT_THAT(checked.output, HasSubstr(problem));
        EXPECT_EQ(served.output, checked.output);
    }
}

TEST_F(Advice, AServerThatMayNotOpenEnoughFilesForItsConnectionsSaysSo) {
    write("waybill.toml", "[server]\nconnections_max = 1000000\n");
    rlimit files{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_max > 1'000'000) GTEST_SKIP() << "this machine lets it open as many";
    Process server{
        folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}, Process::Errors::to_output};

    EXPECT_TRUE(server.hear_until("server.connections_max is 1000000, but this process may open " +
                                  std::to_string(files.rlim_max) + " files at most"));
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(Advice, WhoOnlyLooksNeedsNoSecretAndAsksNobodyForOne) {
    write("waybill.toml",
          "[sources.a]\nprovider = 'stripe'\n"
          "secrets = ['env:NOT_IN_THIS_TERMINAL', 'cmd:echo asked >> asked; echo secret']\n");
    ASSERT_EQ(hear({"migrate"}).code, 0);

    const Ran looked = hear({"messages", "list"});

    EXPECT_EQ(looked.code, 0);
    EXPECT_THAT(looked.output, Not(HasSubstr("NOT_IN_THIS_TERMINAL")));
    EXPECT_FALSE(std::filesystem::exists(folder_.file("asked")));
    EXPECT_EQ(hear({"check"}).code, 2);
    EXPECT_TRUE(std::filesystem::exists(folder_.file("asked")));
}

TEST_F(Advice, APasswordOnTheCommandLineIsNotRepeated) {
    for (const char* command : {"check", "serve", "stats"}) {
        const Ran ran = hear({command, "--store", "mysql://user:canary@host/db"});

        EXPECT_EQ(ran.code, 2);
        EXPECT_THAT(ran.output, HasSubstr("--store: \"mysql://user:***@host/db\" is not a"));
        EXPECT_THAT(ran.output, Not(HasSubstr("canary")));
    }
}

TEST_F(Advice, AnOverrideOfNothingKeepsItFromStarting) {
    EXPECT_EQ(hear({"serve"}, {"WAYBILL_SERVER__LISTN=127.0.0.1:0"}).code, 2);
    EXPECT_THAT(hear({"check"}, {"WAYBILL_SERVER__LISTN=127.0.0.1:0"}).output,
                HasSubstr("WAYBILL_SERVER__LISTN: overrides nothing; did you mean "
                          "WAYBILL_SERVER__LISTEN?"));
    EXPECT_THAT(hear({"check"}, {"WAYBILL_STROE=memory:"}).output,
                HasSubstr("warning: WAYBILL_STROE: overrides nothing; did you mean "));
}

TEST_F(Advice, ABrokenConfigurationIsNotReadWhereNothingOfItIsNeeded) {
    write("waybill.toml", "nonsense");
    write("headers", "X-Hub-Signature-256: sha256=00\nX-GitHub-Event: push\n");
    write("body", "{}");

    const Ran verified =
        hear({"verify", "github", "--secret", "s", "--headers", "headers", "--body", "body"});
    const Ran sent = hear({"send", "github", "--secret", "s", "--url", "http://127.0.0.1:1/x"});

    EXPECT_EQ(verified.code, 1);
    EXPECT_THAT(verified.output, Not(HasSubstr("waybill.toml")));
    EXPECT_EQ(sent.code, 1);
    EXPECT_THAT(sent.output, HasSubstr("is `waybill serve` running?"));
    EXPECT_EQ(hear({"send", "github", "--secret", "s"}).code, 2) << "where to is in it";
}

TEST_F(Advice, ANameThatIsAlmostRightIsAnsweredWithTheRightOne) {
    EXPECT_THAT(hear({"send", "strip"}).output, HasSubstr("did you mean stripe?"));
    EXPECT_THAT(hear({"verify", "githb"}).output, HasSubstr("did you mean github?"));
    EXPECT_THAT(hear({"providers", "slak"}).output, HasSubstr("did you mean slack?"));
}

/// A value of somebody else's became a header of its own, such as Authorization.
TEST_F(Advice, AHeaderWithALineBreakIsNotTwo) {
    const Ran ran = hear({"subscriptions", "add", "http://127.0.0.1:9/", "--header",
                          "X-Shop: a\nAuthorization: injected"});

    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.output, HasSubstr("--header has a line break"));
}

TEST_F(Advice, HowASubscriptionIsTriedAgainIsSaidOnTheCommandLineToo) {
    write("waybill.toml", "store = 'sqlite:w.db'\n");
    const std::string id = "5f0c2d1e-8a57-4c7e-9d53-0e2b6f6a1c11";
    const Ran added =
        hear({"subscriptions", "add", "https://example.com/", "--id", id, "--base", "2s",
              "--multiplier", "1.5", "--cap", "1m", "--jitter", "0", "--max-attempts", "9"});
    ASSERT_EQ(added.code, 0) << added.output;
    const auto retry = [&] {
        const Ran shown = run_here({"subscriptions", "show", id, "--json"});
        return *json::parse(shown.output).find("retry");
    };
    EXPECT_EQ(retry().find("max_attempts")->as_uint64(), 9U);
    EXPECT_EQ(retry().find("base")->as_string(), "2s");
    EXPECT_EQ(retry().find("multiplier")->as_double(), 1.5);
    EXPECT_EQ(retry().find("cap")->as_string(), "1m");
    EXPECT_EQ(retry().find("jitter")->as_double(), 0.0);

    EXPECT_EQ(run_here({"subscriptions", "update", id, "--multiplier", "3"}).code, 0);
    EXPECT_EQ(retry().find("multiplier")->as_double(), 3.0);
    EXPECT_EQ(retry().find("base")->as_string(), "2s") << "what is not named stays";
    const Ran wrong = hear({"subscriptions", "update", id, "--jitter", "20%"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.output, HasSubstr("--jitter needs a number"));
    EXPECT_THAT(run_here({"completion", "bash"}).output, HasSubstr("--multiplier"));
}

TEST_F(Advice, SubscriptionsOfATypeATenantOrABoxAreListedAloneWhenThatIsAsked) {
    write("waybill.toml", "store = 'sqlite:w.db'\n");
    for (const char* of : {"one", "two"}) {
        const Ran added = hear({"subscriptions", "add", std::string{"https://example.com/"} + of,
                                "--type", std::string{of} + ".*", "--tenant", of});
        ASSERT_EQ(added.code, 0) << added.output;
    }

    for (const auto& [option, value] : {std::pair{"--type", "one.*"}, {"--tenant", "one"}}) {
        const Ran listed = run_here({"subscriptions", "list", option, value});
        EXPECT_THAT(listed.output, HasSubstr("example.com/one"));
        EXPECT_THAT(listed.output, Not(HasSubstr("example.com/two"))) << option;
    }
    EXPECT_THAT(run_here({"subscriptions", "list", "--box", "inbox"}).output,
                Not(HasSubstr("example.com")));
}

TEST_F(Advice, ProvidersAreListedAndDescribed) {
    EXPECT_THAT(run_here({"providers"}).output, HasSubstr("\nstripe "));
    EXPECT_THAT(run_here({"providers", "stripe"}).output, HasSubstr("tolerance: 5m"));
    EXPECT_THAT(run_here({"providers", "--json"}).output, HasSubstr("{\"key\":\"stripe\""));
}

TEST_F(Advice, TheServerSaysWhatIsHereAndLogsAWrongMethodAsThat) {
    Process server{
        folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}, Process::Errors::to_output};
    const std::uint16_t port = server.port();

    const auto root = HttpClient{port}.get("/");
    const auto nothing = HttpClient{port}.get("/nothing");
    const auto wrong = HttpClient{port}.get("/webhooks/demo");
    server.signal(SIGTERM);
    const Ran ran = server.finish();

    EXPECT_EQ(root->status, 200);
    EXPECT_THAT(root->body, HasSubstr("POST /webhooks/{source}"));
    EXPECT_EQ(nothing->status, 404);
    EXPECT_THAT(nothing->body, testing::EndsWith("\"detail\":{}}}\n"));
    EXPECT_EQ(wrong->status, 405);
    EXPECT_THAT(wrong->body, testing::EndsWith("\"detail\":{}}}\n"));
    EXPECT_THAT(ran.output, HasSubstr("outcome=method-not-allowed"));
    EXPECT_THAT(ran.output, HasSubstr("-H 'Content-Type: application/json'"));
}

TEST_F(Advice, TimesAreAsPeopleSayThem) {
    write("waybill.toml",
          "[boxes.outbox]\n[[targets]]\nkey = 'it'\nbox = 'outbox'\n"
          "command = ['sh', '-c', 'exit 65']\n");
    write("body", std::string(1'000'000, 'x'));
    ASSERT_EQ(run_here({"publish", "--type", "a.b", "--body", "body"}).code, 0);
    ASSERT_EQ(run_here({"run-once"}).code, 0) << "the command reads nothing of it";
    const Ran listed = run_here({"dead", "list"});
    const std::string id = listed.output.substr(listed.output.find('\n') + 1, 36);

    EXPECT_THAT(run_here({"dead", "show", id}).output,
                testing::ContainsRegex("took: [0-9]+ (µs|ms|s)\n"));
    EXPECT_THAT(run_here({"stats"}).output, testing::ContainsRegex("oldest_open: [0-9]+ "));
    EXPECT_THAT(run_here({"stats", "--json"}).output, HasSubstr("\"oldest_open_us\":"));
}

TEST_F(Advice, ManyTestWebhooksAreCountedByTheirAnswers) {
    Process server{folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}};
    server.port();

    const Ran sent = run_here({"send", "demo", "--id", "o", "--count", "20"});
    const Ran bad = run_here({"send", "demo", "--count", "2", "--bad-signature"});

    EXPECT_EQ(sent.code, 0);
    EXPECT_THAT(sent.output, HasSubstr("20 of 20 sent\n202: 20 times\n"));
    EXPECT_EQ(bad.code, 1);
    EXPECT_THAT(bad.output, HasSubstr("400: 2 times, first {\"error\""));
}

TEST_F(Advice, AReloadThatIsHalfRightChangesNothing) {
    const std::string source = "\nsecrets = ['file:secret']\nevent_type = 'json:type'\n";
    write("secret", "a secret of some length");
    write("waybill.toml", "[sources.one]" + source);
    Process server{
        folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}, Process::Errors::to_output};
    const std::uint16_t port = server.port();

    write("waybill.toml", "[sources.two]" + source + "[sources.three]\nprovider = 'strip'\n");
    server.signal(SIGHUP);
    ASSERT_TRUE(server.hear_until("the old configuration stays in force"));

    EXPECT_EQ(HttpClient{port}.post("/webhooks/one", "{}")->status, 400) << "it is still there";
    EXPECT_EQ(HttpClient{port}.post("/webhooks/two", "{}")->status, 404);
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(Advice, WhatIsInForceCanBePrintedWithOverridesAndWithoutSecrets) {
    write("waybill.toml",
          "[server]\nlisten = '127.0.0.1:1'\nadmin_tokens = ['cmd:echo canary-of-some-length']\n"
          "[sources.one]\nsecrets = ['canary-of-some-length']\nevent_type = 'json:type'\n");

    const Ran printed = hear({"check", "--print"},
                             {"WAYBILL_SERVER__LISTEN=127.0.0.1:2", "WAYBILL_ENGINE__POLL=3s"});

    EXPECT_EQ(printed.code, 0);
    EXPECT_THAT(printed.output, HasSubstr("server.listen = \"127.0.0.1:2\""));
    EXPECT_THAT(printed.output, HasSubstr("engine.poll = \"3s\""));
    EXPECT_THAT(printed.output, HasSubstr("sources.one.secrets = [\"***\"]"));
    EXPECT_THAT(printed.output, Not(HasSubstr("\"canary")));
}

}  // namespace
}  // namespace waybill::test
