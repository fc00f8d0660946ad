/// kill -9 of the server while it sends webhooks: what was accepted is received, in order for each
/// endpoint and lane, and what was recorded as delivered is not sent again.

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

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
    return given != nullptr ? std::atoi(given) : 5;
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

std::set<std::string> recorded_as_done(const std::string& folder) {
    std::set<std::string> ids;
    std::string cursor;
    do {
        std::vector<std::string> words{"messages", "list",    "--json", "--limit",
                                       "10000",    "--state", "done"};
        if (!cursor.empty()) words.insert(words.end(), {"--cursor", cursor});
        const json::Value page = json::parse(run(folder, words).output);
        for (const json::Value& item : page.find("items")->as_array()) {
            ids.insert(item.find("id")->as_string());
        }
        const json::Value* const next = page.find("next");
        cursor = next != nullptr ? next->as_string() : std::string{};
    } while (!cursor.empty());
    return ids;
}

TEST(KillSender, EverythingIsReceivedInOrderAndWhatIsRecordedIsNotSentAgain) {
    TemporaryFolder folder;
    const std::string where = folder.path().string();
    Recorder recorder;
    std::ofstream{folder.file("token")} << kToken;
    std::ofstream{folder.file("secret")} << "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    std::ofstream config{folder.file("waybill.toml")};
    config << "[server]\nadmin_tokens = ['file:token']\n"
              "[sources.x]\nprovider = 'stripe'\nsecrets = ['file:secret']\n"
              "[egress]\nallow = ['127.0.0.1/32']\n";
    for (const char* path : {"/a", "/b"}) {
        config << "[[subscriptions]]\nurl = '" << recorder.url(path)
               << "'\nsecret = 'file:secret'\n";
    }
    config.close();
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
        const std::set<std::string> done = recorded_as_done(where);
        const std::size_t before = recorder.count();
        // The next life begins: what it sends first is what it found open.
        Process next{where, serve};
        port.store(next.port());
        port.notify_all();
        recorder.wait_for(before + 20);
        port.store(0);
        next.end(SIGKILL);
        const auto receipts = recorder.receipts();
        for (std::size_t i = before; i < receipts.size(); ++i) {
            ASSERT_FALSE(done.contains(receipts[i].message))
                << receipts[i].body << " was recorded as delivered and sent again";
        }
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
    std::printf("%zu receipts in %d lives\n", recorder.count(), 2 * lives() + 1);
}

class SubscriptionsProgram : public Program {
protected:
    void configure() { write("waybill.toml", "[egress]\nallow = ['127.0.0.1/32']\n"); }
    Recorder recorder_;
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
