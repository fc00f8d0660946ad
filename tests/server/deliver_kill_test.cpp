/// kill -9 of the server while it sends webhooks: what was accepted is received, in order for each
/// endpoint and lane, and what was recorded as delivered is not sent again.

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/delivered_book.hpp"
#include "server/fixture.hpp"
#include "server/program_fixture.hpp"
#include "server/recorder.hpp"
#include "server/server_process.hpp"
#include "support/background.hpp"
#include "waybill/json.hpp"

namespace waybill::test {
namespace {

constexpr int kLanes = 4;
const std::string kToken = "an-operators-token-of-some-length";

int lives() {
    const char* const given = std::getenv("WAYBILL_KILL_ROUNDS");
    return given != nullptr ? std::atoi(given) : 10;
}

/// "lane/number", each until it is accepted. How many were.
int publish_until_stopped(int lane, std::atomic<std::uint16_t>& port, const std::stop_token& stop) {
    std::unique_ptr<HttpClient> client;
    int n = 0;
    while (!stop.stop_requested()) {
        const std::uint16_t target = port.load();
        if (target == 0) {
            port.wait(0);
            continue;
        }
        const std::string name = std::to_string(lane) + "/" + std::to_string(n);
        const std::string body =
            R"({"type":"t","body":")" + name + R"(","lane":"l)" + std::to_string(lane) + "\"}";
        try {
            if (!client) client = std::make_unique<HttpClient>(target);
            const auto answer =
                client->ask("POST /v1/messages HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer " +
                            kToken + "\r\nIdempotency-Key: " + name + "\r\nContent-Length: " +
                            std::to_string(body.size()) + "\r\n\r\n" + body);
            if (!answer) client.reset();
            if (answer && (answer->status == 202 || answer->status == 200)) ++n;
        } catch (const std::runtime_error&) {
            client.reset();
        }
    }
    return n;
}

/// Two subscriptions: their targets, and where they send to.
const std::map<std::string, std::string> kPathOfTarget{
    {"subscription:01a1e34a-da28-70db-81f2-672f8d96eb41", "/a"},
    {"subscription:01a1e34a-da28-70db-81f2-672f8d96eb42", "/b"},
};

void configure(const TemporaryFolder& folder, const Recorder& recorder) {
    std::ofstream{folder.file("token")} << kToken;
    std::ofstream{folder.file("secret")} << "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    std::ofstream config{folder.file("waybill.toml")};
    config << "[server]\nadmin_tokens = ['file:token']\n"
              "[sources.x]\nprovider = 'stripe'\nsecrets = ['file:secret']\n"
              "[egress]\nallow = ['127.0.0.1/32']\n";
    for (const auto& [target, path] : kPathOfTarget) {
        config << "[[subscriptions]]\nid = '" << target.substr(target.find(':') + 1) << "'\nurl = '"
               << recorder.url(path.c_str())
               << "'\nsecret = 'file:secret'\nretry = { schedule = ['50ms'] }\n";
    }
}

TEST(KillSender, EverythingIsReceivedInOrderAndWhatIsRecordedIsNotSentAgain) {
    TemporaryFolder folder;
    const std::string where = folder.path().string();
    RefusesEveryTenthOnce at_b{"/b"};
    Recorder recorder{std::ref(at_b)};
    configure(folder, recorder);
    DeliveredBook book{"sqlite:" + folder.file("waybill.db"), kPathOfTarget};
    const std::vector<std::string> serve{"serve", "--listen", "127.0.0.1:0", "--log-level",
                                         "error"};
    std::mt19937 random{11};
    std::atomic<std::uint16_t> port{0};
    std::vector<int> accepted(kLanes);
    std::vector<std::unique_ptr<Background>> publishers;
    for (int lane = 0; lane < kLanes; ++lane) {
        publishers.push_back(std::make_unique<Background>([&, lane](const std::stop_token& stop) {
            accepted[static_cast<std::size_t>(lane)] = publish_until_stopped(lane, port, stop);
        }));
    }

    for (int life = 0; life < lives(); ++life) {
        Process server{where, serve};
        port.store(server.port());
        port.notify_all();
        recorder.wait_for(recorder.count() + 20 + random() % 200);
        port.store(0);
        server.end(SIGKILL);
        book.look(recorder);
    }

    Process server{where, serve};
    port.store(server.port());
    port.notify_all();
    for (const auto& publisher : publishers) publisher->stop();
    for (const auto& publisher : publishers) publisher->join();
    const LocalTime patience = later(system_clock().now(), std::chrono::minutes{2});
    while (run(where, {"messages", "list", "--json", "--state", "open"}).output.find("\"id\"") !=
               std::string::npos &&
           system_clock().now() < patience) {
    }
    EXPECT_EQ(server.end(SIGTERM), 0);

    EXPECT_THAT(book.received_again(recorder.receipts()), testing::IsEmpty())
        << "although it was recorded as delivered";
    EXPECT_GT(book.in_part(), 0U) << "nobody died between one endpoint and the other";
    const auto firsts = first_receipts(recorder.receipts());
    for (int lane = 0; lane < kLanes; ++lane) {
        for (const char* path : {"/a ", "/b "}) {
            const auto found = firsts.find(path + std::to_string(lane));
            ASSERT_NE(found, firsts.end()) << path << lane;
            EXPECT_TRUE(std::ranges::is_sorted(found->second)) << "out of order: " << path << lane;
            // The last one may have been stored without an answer.
            EXPECT_GE(found->second.size(),
                      static_cast<std::size_t>(accepted[static_cast<std::size_t>(lane)]));
        }
    }
    std::printf("%zu receipts in %d lives, %zu recorded before a death, %zu of them in part\n",
                recorder.count(), lives() + 1, book.size(), book.in_part());
}

class SubscriptionsProgram : public Program {
protected:
    void configure() { write("waybill.toml", "[egress]\nallow = ['127.0.0.1/32']\n"); }
    Recorder recorder_{
        [](const HttpRequest& request) { return request.target == "/gone" ? 500U : 204U; }};
};

TEST_F(SubscriptionsProgram, OneThatIsAddedBeforeAnyServerRanIsServedByRunOnce) {
    configure();
    const Ran added = run_here({"subscriptions", "add", recorder_.url("/a"), "--type", "order.*"});
    ASSERT_EQ(added.code, 0) << added.output;
    EXPECT_NE(added.output.find("secret: whsec_"), std::string::npos);
    ASSERT_EQ(run_here({"publish", "--type", "order.placed", "--body", "waybill.toml"}).code, 0);

    const Ran once = run_here({"run-once", "--json"});

    EXPECT_EQ(once.output, "{\"ended\":1}\n");
    ASSERT_EQ(recorder_.count(), 1U);
    EXPECT_EQ(run_here({"subscriptions", "list"}).output.find("whsec_"), std::string::npos);
}

// T27
TEST_F(SubscriptionsProgram, WhatEverybodyHasBeenRecordedToHaveIsSentToNobodyAfterADeath) {
    write("secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    const std::string a = "01a1e34a-da28-70db-81f2-672f8d96eb41";
    const std::string b = "01a1e34a-da28-70db-81f2-672f8d96eb42";
    std::string config =
        "[egress]\nallow = ['127.0.0.1/32']\n[sources.x]\nprovider = 'stripe'\n"
        "secrets = ['file:secret']\n[[subscriptions]]\nid = '" +
        a + "'\nurl = '" + recorder_.url("/a") + "'\nsecret = 'file:secret'\n";
    write("waybill.toml", config + "[[subscriptions]]\nid = '" + b + "'\nurl = '" +
                              recorder_.url("/gone") +
                              "'\nsecret = 'file:secret'\nretry = { schedule = ['1h'] }\n");
    Process server{folder_.path().string(),
                   {"serve", "--listen", "127.0.0.1:0", "--log-level", "error"}};
    server.port();
    ASSERT_EQ(run_here({"publish", "--type", "t", "--body", "secret"}).code, 0);
    const json::Value item = json::parse(run_here({"messages", "list", "--json"}).output)
                                 .find("items")
                                 ->as_array()
                                 .at(0);
    const std::string id = item.find("id")->as_string();
    ASSERT_TRUE(eventually({"messages", "show", id, "--json"}, R"("failures":1)"));
    ASSERT_TRUE(eventually({"messages", "show", id, "--json"}, R"("state":"done")"));
    server.end(SIGKILL);
    ASSERT_EQ(recorder_.count(), 2U);

    // One is recorded as done, the other waits for an hour.
    EXPECT_EQ(run_here({"run-once", "--json"}).output, "{\"ended\":0}\n");
    EXPECT_EQ(recorder_.count(), 2U);
    // Nobody waits any more, and what is done is all there is.
    write("waybill.toml", config);
    ASSERT_EQ(run_here({"targets", "forget", "subscription:" + b, "--yes"}).code, 0);
    EXPECT_EQ(run_here({"run-once", "--json"}).code, 0);

    EXPECT_TRUE(eventually({"messages", "list", "--state", "done"}, id));
    EXPECT_EQ(recorder_.count(), 2U) << "a request, although everything was recorded";
}

TEST_F(SubscriptionsProgram, AKeyForSecretsKeepsNoCommandFromWorking) {
    write("key", "0123456789abcdef0123456789abcdef");
    write("waybill.toml", "[egress]\nallow = ['127.0.0.1/32']\n[secrets]\nkey = 'file:key'\n");
    EXPECT_EQ(run_here({"subscriptions", "add", recorder_.url("/a")}).code, 0);
    EXPECT_EQ(run_here({"publish", "--type", "t", "--body", "key"}).code, 0);
    EXPECT_EQ(run_here({"run-once", "--json"}).output, "{\"ended\":1}\n");
}

TEST_F(SubscriptionsProgram, OneForABoxThatIsNotThereIsRefusedAndNotListed) {
    configure();
    EXPECT_NE(run_here({"subscriptions", "add", recorder_.url("/a"), "--box", "x"}).code, 0);
    EXPECT_EQ(run_here({"subscriptions", "list"}).output.find(recorder_.url("/a")),
              std::string::npos);
}

}  // namespace
}  // namespace waybill::test
