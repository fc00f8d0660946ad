/// Whoever looks at a store changes nothing, is told what it is, and finds it from everywhere.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/program_fixture.hpp"
#include "server/token.hpp"
#include "sqlite/own_connection.hpp"
#include "support/http_client.hpp"
#include "waybill/json.hpp"

namespace waybill::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

const std::vector<Words>& looking_commands() {
    static const std::vector<Words> all{{"messages", "list"}, {"dead", "list"},  {"lanes", "list"},
                                        {"targets", "list"},  {"boxes", "list"}, {"stats"}};
    return all;
}

class Looking : public Program {
protected:
    Process serve(const Words& more = {}) {
        Words words{"serve", "--listen", "127.0.0.1:0"};
        words.insert(words.end(), more.begin(), more.end());
        return {folder_.path().string(), words, Process::Errors::to_output};
    }
    /// Every file of the folder, with its bytes.
    std::map<std::string, std::string> contents() const {
        std::map<std::string, std::string> all;
        for (const auto& file : std::filesystem::directory_iterator{folder_.path()}) {
            if (!file.is_regular_file()) continue;
            std::ifstream bytes{file.path(), std::ios::binary};
            all[file.path().filename()] = {std::istreambuf_iterator<char>{bytes}, {}};
        }
        return all;
    }
    json::Value json_of(const Words& words) { return json::parse(run_here(words).output); }
};

TEST_F(Looking, TheDoctorLeavesAFileAsItIsBesideItsServerAndWithoutIt) {
    {
        Process server = serve();
        server.port();
        const Ran beside = run_here({"doctor"});
        EXPECT_THAT(beside.output, AnyOf(HasSubstr(": healthy"), HasSubstr("[disk-space]")));
        EXPECT_EQ(server.end(SIGTERM), 0);
    }
    write("waybill.toml", "[[targets]]\nkey = \"keep\"\nbox = \"inbox\"\ncommand = [\"true\"]\n");
    const auto before = contents();

    const Ran alone = hear({"doctor"});
    const Ran elsewhere = hear({"doctor", "--store", "sqlite:nowhere.db"});

    EXPECT_THAT(alone.output, HasSubstr("[unserved-target]"));
    EXPECT_EQ(elsewhere.code, 1);
    EXPECT_THAT(elsewhere.output, HasSubstr("[no-file]"));
    EXPECT_EQ(hear({"doctor", "--store", "memory:"}).code, 2);
    EXPECT_EQ(contents(), before);
}

TEST_F(Looking, AtADatabaseOfSomethingElseSaysSoAndLeavesItAsItIs) {
    OwnConnection{folder_.file("app.db")}.run("create table customer (id)");
    const auto before = contents();

    for (Words words : looking_commands()) {
        words.insert(words.end(), {"--store", "sqlite:app.db"});
        const Ran told = hear(words);
        EXPECT_EQ(told.code, 1) << words[0];
        EXPECT_THAT(told.output, AllOf(HasSubstr("app.db is a database of something else"),
                                       HasSubstr("customer"), HasSubstr("waybill migrate")));
    }
    EXPECT_EQ(hear({"dead", "discard", "--type", "*", "--yes", "--store", "sqlite:app.db"}).code,
              1);
    EXPECT_EQ(hear({"publish", "--type", "a", "--store", "sqlite:app.db"}).code, 1);
    EXPECT_THAT(hear({"check", "--store", "sqlite:app.db"}).output,
                HasSubstr("--store: app.db is a database of something else (table customer"));
    EXPECT_THAT(run_here({"migrate", "--dry-run", "--store", "sqlite:app.db"}).output,
                HasSubstr("would apply 1"));

    EXPECT_EQ(contents(), before);
}

TEST_F(Looking, AtADatabaseThatIsSharedOnPurposeIsPossibleOnceItIsMigrated) {
    OwnConnection{folder_.file("app.db")}.run("create table customer (id)");

    ASSERT_EQ(run_here({"migrate", "--store", "sqlite:app.db"}).code, 0);

    EXPECT_EQ(hear({"stats", "--store", "sqlite:app.db"}).code, 0);
    EXPECT_EQ(hear({"publish", "--type", "a", "--store", "sqlite:app.db"}).code, 0);
    EXPECT_EQ(OwnConnection{folder_.file("app.db")}.count("customer"), 0);
}

TEST_F(Looking, AtAStoreOfAnEarlierVersionDoesNotMigrateIt) {
    ASSERT_EQ(run_here({"migrate", "--to", "1"}).code, 0);

    for (const Words& words : looking_commands()) {
        const Ran told = hear(words);
        EXPECT_EQ(told.code, 1) << words[0];
        EXPECT_THAT(told.output, AllOf(HasSubstr("waybill.db is of version 1 of "),
                                       HasSubstr("waybill migrate --store sqlite:waybill.db")));
    }
    EXPECT_EQ(json_of({"migrate", "--dry-run", "--json"}).find("version")->as_uint64(), 1U);
    EXPECT_EQ(run_here({"migrate"}).code, 0);
    EXPECT_EQ(run_here({"stats"}).code, 0);
}

TEST_F(Looking, AtAnEmptyFileOrAtSomeTextSaysWhatItIs) {
    write("empty.db", "");
    write("text.db", std::string(5'000, 'x'));
    const auto before = contents();

    EXPECT_THAT(hear({"stats", "--store", "sqlite:empty.db"}).output,
                HasSubstr("empty.db is empty; `waybill serve`"));
    EXPECT_THAT(hear({"stats", "--store", "sqlite:text.db"}).output,
                HasSubstr("no SQLite database"));
    EXPECT_EQ(contents(), before);
}

TEST_F(Looking, ABrokenConfigurationDoesNotHideTheServerThatRuns) {
    const std::string good = "store = 'sqlite:shop.db' # ours\n[boxes.outbox]\n";
    write("waybill.toml", good);
    Process server = serve();
    server.port();
    ASSERT_EQ(run_here({"publish", "--type", "a.b"}).code, 0);

    for (const std::string broken :
         {"[sources.x]\nprovider = 'nobody'\n", "unknown = 1\n", "[half a li"}) {
        write("waybill.toml", good + broken);
        for (const Words& words : looking_commands()) EXPECT_EQ(hear(words).code, 0) << words[0];
        EXPECT_THAT(run_here({"messages", "list"}).output, HasSubstr("a.b"));
        EXPECT_THAT(hear({"messages", "list"}).output,
                    HasSubstr("waybill.toml cannot be used, see `waybill check`; asked is "
                              "sqlite:shop.db"));
        EXPECT_EQ(hear({"boxes", "pause", "outbox"}).code, 0) << "the server knows what it does";
    }
    EXPECT_EQ(server.end(SIGTERM), 0);

    EXPECT_EQ(hear({"messages", "list"}).code, 0) << "without a server, too";
    const Ran ordered = hear({"boxes", "pause", "outbox"});
    EXPECT_EQ(ordered.code, 2);
    EXPECT_THAT(ordered.output, HasSubstr("nothing was ordered"));
    EXPECT_EQ(hear({"publish", "--type", "a.b"}).code, 2);
    EXPECT_EQ(hear({"stats", "--config", "nowhere.toml"}).code, 2);
}

TEST_F(Looking, ARelativeStoreLiesBesideItsConfigurationWhereverSomebodyAsks) {
    std::filesystem::create_directory(folder_.file("etc"));
    write("etc/waybill.toml", "store = 'sqlite:shop.db'\n[boxes.outbox]\n");
    const Words publish{"publish", "--type", "a.b", "--config"};
    const auto with = [](Words words, const std::string& config) {
        words.push_back(config);
        return words;
    };

    ASSERT_EQ(hear(with(publish, "etc/waybill.toml")).code, 0);
    Process server = serve({"--config", "etc/waybill.toml"});
    server.port();

    EXPECT_TRUE(std::filesystem::exists(folder_.file("etc/shop.db")));
    EXPECT_FALSE(std::filesystem::exists(folder_.file("shop.db")));
    EXPECT_THAT(
        run("/", with({"messages", "list", "--config"}, folder_.file("etc/waybill.toml"))).output,
        HasSubstr("a.b"));
    EXPECT_THAT(run(folder_.file("etc"), {"messages", "list"}).output, HasSubstr("a.b"));
    EXPECT_THAT(run(folder_.file("etc"), {"messages", "list", "--store", "sqlite:shop.db"}).output,
                HasSubstr("a.b"))
        << "what is said here is meant here";
}

TEST_F(Looking, ThroughALinkToTheStoreFindsItsServer) {
    Process server = serve();
    server.port();
    std::filesystem::create_directory(folder_.file("elsewhere"));
    std::filesystem::create_symlink(folder_.file("waybill.db"), folder_.file("elsewhere/link.db"));

    const Ran asked = hear({"stats", "--store", "sqlite:elsewhere/link.db"});

    EXPECT_EQ(asked.code, 0) << asked.output;
}

TEST_F(Looking, WithACursorThatNoListingGaveIsRefused) {
    ASSERT_EQ(run_here({"migrate"}).code, 0);

    for (const char* what : {"messages", "dead"}) {
        const Ran refused = hear({what, "list", "--cursor", "xyz"});
        EXPECT_EQ(refused.code, 2) << what;
        EXPECT_THAT(refused.output, HasSubstr("\"xyz\" is none that a listing gave"));
        EXPECT_EQ(hear({what, "list", "--cursor", "7"}).code, 0) << what;
    }
}

TEST_F(Looking, SeesWhichBoxesArePausedAndAnUnknownOneIsNot) {
    write("waybill.toml", "[boxes.shop]\n");
    {
        Process server = serve();
        server.port();
        ASSERT_EQ(run_here({"boxes", "pause", "shop"}).code, 0);
        const Ran unknown = hear({"boxes", "pause", "shpo"});
        EXPECT_EQ(unknown.code, 1);
        EXPECT_THAT(unknown.output, HasSubstr("there is no box \"shpo\"; did you mean shop? "
                                              "There are: inbox, outbox, shop"));
        EXPECT_EQ(hear({"boxes", "resume", "nosuch"}).code, 1);
        EXPECT_EQ(server.end(SIGTERM), 0);
    }

    EXPECT_THAT(run_here({"boxes", "list"}).output,
                testing::ContainsRegex("inbox +false +0 .*\n.*outbox +false.*\nshop +true"));
    EXPECT_THAT(run_here({"stats"}).output, HasSubstr("paused: shop"));
    EXPECT_THAT(run_here({"boxes", "list", "--json"}).output, HasSubstr(R"("paused":true)"));
    const Ran repartition = hear({"boxes", "repartition", "shop"});
    EXPECT_EQ(repartition.code, 2);
    EXPECT_THAT(repartition.output, HasSubstr("one owner"));
}

TEST_F(Looking, ASubscriptionThatIsDisabledIsFoundByTheDoctorAndItsFixEnablesIt) {
    write("waybill.toml", "[egress]\nallow = ['127.0.0.1/32']\n");
    const std::string id =
        json_of({"subscriptions", "add", "http://127.0.0.1:9/", "--json"}).find("id")->as_string();
    EXPECT_THAT(hear({"doctor"}).output, Not(HasSubstr("disabled-subscription")));
    ASSERT_EQ(run_here({"subscriptions", "disable", id, "--reason", "moved away"}).code, 0);

    const Ran found = hear({"doctor"});

    EXPECT_EQ(found.code, 1);
    EXPECT_THAT(found.output, HasSubstr("is disabled, and its messages wait: moved away"));
    EXPECT_THAT(found.output, HasSubstr("    waybill subscriptions enable " + id));
    const Ran unchanged = hear({"subscriptions", "update", id});
    EXPECT_EQ(unchanged.code, 2);
    EXPECT_THAT(unchanged.output, HasSubstr("say what to change"));
    for (const std::string secret : {"x", "whsec_YWJj"}) {
        EXPECT_NE(hear({"subscriptions", "rotate-secret", id, "--secret", secret}).code, 0);
    }
}

TEST_F(Looking, SubscriptionsWhoseSecretsCannotBeOpenedAreNamedByReadyzCheckAndDoctor) {
    const std::string egress = "[egress]\nallow = ['127.0.0.1/32']\n";
    write("sealing.key", "0123456789abcdef0123456789abcdef");
    write("waybill.toml", egress + "[secrets]\nkey = 'file:sealing.key'\n");
    const std::string id =
        json_of({"subscriptions", "add", "http://127.0.0.1:9/", "--json"}).find("id")->as_string();
    EXPECT_THAT(hear({"check"}).output, Not(HasSubstr("warning")));
    write("waybill.toml", egress);
    const std::string told = "subscription " + id +
                             " cannot be used, and its messages wait: its secrets are sealed with "
                             "another key; set secrets.key";

    EXPECT_THAT(hear({"check"}).output, HasSubstr("warning: " + told));
    const Ran doctor = hear({"doctor"});
    EXPECT_EQ(doctor.code, 1);
    EXPECT_THAT(doctor.output, HasSubstr(told));
    EXPECT_THAT(doctor.output, HasSubstr("[unusable-subscription]"));
    EXPECT_THAT(doctor.output, HasSubstr("    waybill subscriptions rotate-secret " + id));
    EXPECT_THAT(run_here({"subscriptions", "list"}).output, HasSubstr("another key"));

    Process server{folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}};
    const std::uint16_t port = server.port();
    const HttpAnswer ready = once_ready(port);
    EXPECT_EQ(ready.status, 200) << "the others work";
    EXPECT_THAT(ready.body, HasSubstr(told));
    EXPECT_THAT(HttpClient{port}.get("/metrics")->body,
                HasSubstr("waybill_subscriptions{state=\"unusable\"} 1\n"));
    EXPECT_THAT(hear({"check"}).output, HasSubstr(told)) << "beside a server too";
    ASSERT_EQ(run_here({"subscriptions", "rotate-secret", id}).code, 0);
    EXPECT_THAT(HttpClient{port}.get("/readyz")->body, Not(HasSubstr(id)));
    EXPECT_THAT(hear({"doctor"}).output, Not(HasSubstr("unusable-subscription")));
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(Looking, AnEndpointThatFailedInARunFromCronIsSeenAfterwards) {
    write("waybill.toml",
          "[egress]\nallow = ['127.0.0.1/32']\n[[subscriptions]]\n"
          "url = 'http://127.0.0.1:9/nobody'\nretry = { max_attempts = 9, base = '1h', cap = '1h' "
          "}\n");
    for (int i = 0; i < 5; ++i) ASSERT_EQ(run_here({"publish", "--type", "a.b"}).code, 0);

    ASSERT_EQ(run_here({"run-once"}).code, 0);

    EXPECT_THAT(run_here({"subscriptions", "list"}).output,
                HasSubstr("it failed 5 times in a row since 20"));
}

TEST_F(Looking, ARenamedTargetIsNamedWithWhatWaitsForItAndTheRemedy) {
    const auto target = [](const std::string& more) {
        return "[[targets]]\nbox = 'outbox'\ncommand = ['/bin/false']\n"
               "retry = { max_attempts = 5, base = '1h', cap = '1h' }\n" +
               more;
    };
    write("waybill.toml", target("key = 'old'\n"));
    ASSERT_EQ(run_here({"publish", "--type", "a.b"}).code, 0);
    ASSERT_EQ(run_here({"run-once"}).code, 0);
    write("waybill.toml", target("key = 'new'\n"));
    const std::string warning =
        "target \"old\" of box \"outbox\" is registered and nobody serves it; 1 message waits";

    {
        Process server = serve();
        ASSERT_TRUE(server.hear_until(warning));
        const auto access =
            server::read_local_access(server::local_access_file(folder_.file("waybill.db")));
        const std::string& url = access.value().url;
        const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
        const HttpAnswer ready = once_ready(port);
        EXPECT_EQ(ready.status, 200) << "it does its work";
        EXPECT_THAT(ready.body, HasSubstr("waybill targets forget old --box outbox"));
        EXPECT_THAT(HttpClient{port}.get("/metrics")->body,
                    HasSubstr("waybill_unserved_messages{box=\"outbox\",target=\"old\"} 1\n"));
        const Ran stats = run_here({"stats"});
        EXPECT_THAT(stats.output, HasSubstr(warning));
        EXPECT_THAT(run_here({"targets", "list"}).output,
                    testing::ContainsRegex("outbox +old .*false +1\n"));

        write("waybill.toml", target("key = 'new'\nlegacy_keys = ['old']\n"));
        server.signal(SIGHUP);
        EXPECT_TRUE(server.hear_until("reloaded"));
        EXPECT_THAT(run_here({"stats"}).output, Not(HasSubstr("nobody serves")));
        EXPECT_EQ(server.end(SIGTERM), 0);
    }
    EXPECT_THAT(run_here({"targets", "list"}).output, Not(HasSubstr("false"))) << "nor without one";
}

}  // namespace
}  // namespace waybill::test
