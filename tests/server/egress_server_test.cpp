/// A whole server in a network where somebody listens at every address: what it sends, for a message or for an example
/// that an operator asks for, reaches no place that is forbidden.

#include <array>
#include <csignal>
#include <fstream>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/endpoint.hpp"
#include "server/program_fixture.hpp"
#include "support/name_server.hpp"
#include "support/network_of_its_own.hpp"
#include "support/pacing.hpp"
#include "support/receiver.hpp"

namespace waybill::test {
namespace {

using std::chrono::minutes;
using testing::HasSubstr;

constexpr std::uint16_t kNobodyListens = 81;

class EgressOfAServer : public Program {
protected:
    void SetUp() override {
        static const std::string problem = NetworkOfItsOwn::enter();
        ASSERT_TRUE(problem.empty() || NetworkOfItsOwn::may_be_missing()) << problem;
        if (!problem.empty()) GTEST_SKIP() << problem;
        constexpr std::array<std::uint16_t, 5> ports{80, 443, 8080, 8443, 65535};
        for (const std::uint16_t port : ports) {
            for (const char* everywhere : {"0.0.0.0", "::"}) {
                canaries_.emplace_back(always(http_answer(200)),
                                       ReceiverOptions{.address = everywhere, .port = port});
            }
        }
    }
    int reached() const {
        int all = 0;
        for (const Receiver& canary : canaries_) all += canary.connections();
        return all;
    }
    /// The whole configuration: nothing is allowed that is forbidden to begin with.
    static server::Config strict(std::vector<std::string> urls) {
        std::vector<Subscription> all;
        for (std::string& url : urls) {
            Subscription one;
            one.url = std::move(url);
            one.secrets = {{.value = endpoint_secret}};
            one.retry.max_attempts = 1;
            one.is_static = true;
            all.push_back(std::move(one));
        }
        server::Config config = with(std::move(all));
        config.egress.rules = {};
        return config;
    }
    /// Of the attempt at a subscription, without its times and ids.
    static std::string record_of(const json::Value& attempt) {
        json::Object record;
        for (const auto& [name, value] : attempt.find("detail")->as_object()) {
            if (name != "microseconds" && name != "delivery_id") record.emplace_back(name, value);
        }
        return json::to_text(record);
    }

    std::list<Receiver> canaries_{};
};

/// Every verdict but "allowed", with the URLs that deserve it.
std::multimap<std::string, std::string> forbidden() {
    std::ifstream file{"tests/transport/egress_cases.txt"};
    std::multimap<std::string, std::string> cases;
    for (std::string line; std::getline(file, line);) {
        const std::size_t space = line.find(' ');
        const std::string verdict = line.substr(0, space);
        if (!line.starts_with('#') && verdict != "allowed") {
            cases.emplace(verdict, line.substr(space + 1));
        }
    }
    return cases;
}

TEST_F(EgressOfAServer, NoExampleThatAnOperatorAsksForReachesAForbiddenPlace) {
    ServerUnderTest server{strict({"http://9.9.9.9/"})};
    const std::string path =
        "/v1/subscriptions/" + to_string(server.config().subscriptions.front().id) + "/test";
    const auto cases = forbidden();
    ASSERT_GE(cases.size(), 1'000U);

    for (const auto& [verdict, url] : cases) {
        const std::string body = json::to_text(json::Object{{"url", url}});
        const json::Value answer = parsed(server.operate("POST", path, body));
        EXPECT_FALSE(answer.find("delivered")->as_bool()) << url;
        EXPECT_EQ(answer.find("failure")->as_string(), "blocked") << url;
        EXPECT_EQ(answer.find("verdict")->as_string(), verdict) << url;
    }
    EXPECT_EQ(reached(), 0);

    EXPECT_TRUE(parsed(server.operate("POST", path)).find("delivered")->as_bool());
    EXPECT_EQ(reached(), 1) << "the canaries are deaf";
}

TEST_F(EgressOfAServer, NoMessageReachesAForbiddenPlaceAndTheAttemptSaysWhy) {
    std::vector<std::string> urls{"http://9.9.9.9/"};
    std::map<std::string, std::string> verdict_of;
    for (const auto& [verdict, url] : forbidden()) {
        if (verdict == "bad-url" || verdict_of[verdict] != "") continue;
        verdict_of[verdict] = url;
        urls.push_back(url);
    }
    ServerUnderTest server{strict(urls)};

    const std::string path = "/v1/messages/" + publish(server, "hello");
    ASSERT_TRUE(server.eventually(path, R"("state":"dead","appended_at")"));

    EXPECT_GE(verdict_of.size(), 9U);
    std::set<std::string> verdicts;
    const json::Value message = parsed(server.operate("GET", path));
    for (const json::Value& attempt : message.find("attempts")->as_array()) {
        if (attempt.find("result")->as_string() == "done") continue;
        const json::Value& detail = *attempt.find("detail");
        verdicts.insert(detail.find("verdict")->as_string());
        EXPECT_EQ(detail.find("failure")->as_string(), "blocked");
    }
    EXPECT_EQ(verdicts.size(), verdict_of.size());
    EXPECT_EQ(reached(), 1) << "only the one that is allowed";
}

TEST_F(EgressOfAServer, ANameThatMovesToAForbiddenPlaceIsRecordedAsBlocked) {
    NameServer names{
        [](const std::string&, int time) {
            return NameAnswer{.addresses = {time == 0 ? "9.9.9.9" : "169.254.169.254"}};
        },
        {.address = "0.0.0.0", .port = 53}};
    ServerUnderTest server{strict({"http://moves.example/"})};

    int arrived = 0;
    json::Value attempt;
    // What was found is used for a second.
    ASSERT_TRUE(look_until(
        [&] {
            const std::string path = "/v1/messages/" + publish(server, "hello");
            if (!server.eventually(path, R"("result":)")) return true;
            attempt = parsed(server.operate("GET", path)).find("attempts")->as_array().at(0);
            arrived += attempt.find("result")->as_string() == "done" ? 1 : 0;
            return attempt.find("result")->as_string() != "done";
        },
        minutes{1}));

    EXPECT_EQ(record_of(attempt),
              R"({"failure":"blocked","phase":"connect","verdict":"link-local",)"
              R"("error":"169.254.169.254 is link-local"})");
    EXPECT_GE(arrived, 1);
    EXPECT_EQ(reached(), 1) << "one connection that was kept, and no other";
}

TEST_F(EgressOfAServer, OfTwoHundredAddressesSixteenAreTriedAndOneThatIsForbiddenIsEnough) {
    std::vector<std::string> addresses;
    for (int i = 0; i < 200; ++i) addresses.push_back("9.9.8." + std::to_string(i + 1));
    std::vector<std::string> with_one = addresses;
    with_one[150] = "10.1.2.3";
    NameServer names{
        [&](const std::string& name, int) {
            return NameAnswer{.addresses = name == "many.example" ? addresses : with_one};
        },
        {.address = "0.0.0.0", .port = 53}};
    ServerUnderTest server{strict(
        {"http://many.example:" + std::to_string(kNobodyListens) + "/", "http://mixed.example/"})};
    const std::uint64_t before = NetworkOfItsOwn::connections_begun();

    const std::string path = "/v1/messages/" + publish(server, "hello");
    ASSERT_TRUE(server.eventually(path, R"("state":"dead","appended_at")"));

    // Publishing and looking are two of ours.
    const auto others = static_cast<std::uint64_t>(names.connections() + 2);
    EXPECT_EQ(NetworkOfItsOwn::connections_begun() - before - others, 16U);
    std::vector<std::string> records;
    const json::Value message = parsed(server.operate("GET", path));
    for (const json::Value& attempt : message.find("attempts")->as_array()) {
        EXPECT_EQ(attempt.find("result")->as_string(), "dead");
        records.push_back(record_of(attempt));
    }
    EXPECT_THAT(records,
                testing::UnorderedElementsAre(
                    HasSubstr(R"({"failure":"connect","phase":"connect","error":)"),
                    R"({"failure":"blocked","phase":"connect","verdict":"private-network",)"
                    R"("error":"10.1.2.3 is private-network"})"));
    EXPECT_EQ(reached(), 0);
}

/// The program itself, as people call it; and nobody's proxy is asked, whatever the environment says.
TEST_F(EgressOfAServer, TheProgramSendsNoExampleToAForbiddenPlaceNorThroughAProxyOfTheEnvironment) {
    write("waybill.toml", "");
    const std::string proxy = "http://9.9.9.8:8080";
    std::vector<std::string> environment;
    for (const char* name :
         {"http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"}) {
        environment.push_back(std::string{name} + "=" + proxy);
    }
    Process serve{folder_.path().string(),
                  {"serve", "--listen", "127.0.0.1:0", "--log-level", "error"},
                  Process::Errors::to_ours,
                  environment};
    serve.port();
    const Ran added = hear({"subscriptions", "add", "http://9.9.9.9/", "--json"}, environment);
    ASSERT_EQ(added.code, 0) << added.output;
    const std::string id = json::parse(added.output).find("id")->as_string();

    for (const char* place : {"http://169.254.169.254/latest", "http://127.0.0.1/", "http://[::1]/",
                              "http://0xa010203/", "http://[::ffff:10.1.2.3]/"}) {
        const Ran ran = hear({"subscriptions", "test", id, "--url", place}, environment);
        EXPECT_EQ(ran.code, 1) << place << ran.output;
        EXPECT_THAT(ran.output, HasSubstr("blocked")) << place;
    }
    EXPECT_EQ(reached(), 0);
    const Ran allowed = hear({"subscriptions", "test", id}, environment);
    EXPECT_EQ(allowed.code, 0) << allowed.output;
    EXPECT_THAT(allowed.output, HasSubstr("9.9.9.9")) << "whom it was sent to";
    EXPECT_EQ(reached(), 1);
    EXPECT_EQ(serve.end(SIGTERM), 0);
}

}  // namespace
}  // namespace waybill::test
