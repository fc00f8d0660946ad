/// kill -9 of the server under load from senders that retry as providers do: what was acknowledged is
/// stored exactly once, and handled.

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/fixture.hpp"
#include "server/server_process.hpp"
#include "support/background.hpp"
#include "waybill/json.hpp"

namespace waybill::test {
namespace {

constexpr int kSenders = 6;

int rounds() {
    const char* const given = std::getenv("WAYBILL_KILL_ROUNDS");
    return given != nullptr ? std::atoi(given) : 10;
}

/// What the senders believe.
class Books {
public:
    void acknowledge(const std::string& id) {
        const std::lock_guard lock{mutex_};
        acknowledged_.insert(id);
        count_.store(acknowledged_.size());
        count_.notify_all();
    }
    void wait_for(std::size_t count) {
        for (std::size_t seen = count_.load(); seen < count; seen = count_.load())
            count_.wait(seen);
    }
    std::size_t size() const { return count_.load(); }
    std::set<std::string> acknowledged() {
        const std::lock_guard lock{mutex_};
        return acknowledged_;
    }

private:
    std::mutex mutex_;  ///< guards the set
    std::set<std::string> acknowledged_{};
    std::atomic<std::size_t> count_{0};
};

/// Sends one id after the other, each until it is acknowledged.
void send_until_stopped(const Source& source, int sender, std::atomic<std::uint16_t>& port,
                        Books& books, const std::stop_token& stop) {
    std::unique_ptr<HttpClient> client;
    for (int n = 0; !stop.stop_requested(); ++n) {
        const std::string id = "evt_" + std::to_string(sender) + "_" + std::to_string(n);
        const std::string body = R"({"id":")" + id + R"(","object":"event","type":"a.b"})";
        for (bool acknowledged = false; !acknowledged;) {
            const std::uint16_t target = port.load();
            if (target == 0) {
                if (stop.stop_requested()) return;
                port.wait(0);
                continue;
            }
            try {
                if (!client) client = std::make_unique<HttpClient>(target);
                const auto answer = client->ask(signed_post(source, body));
                acknowledged = answer && (answer->status == 202 || answer->status == 200);
                if (!answer) client.reset();
            } catch (const std::runtime_error&) {
                client.reset();
            }
        }
        books.acknowledge(id);
    }
}

/// Every message of the store by its sender's id, through the operators' listing.
std::multiset<std::string> stored(const std::string& folder, const std::string& state) {
    std::multiset<std::string> ids;
    std::string cursor;
    do {
        std::vector<std::string> words{"messages", "list",    "--json", "--limit",
                                       "10000",    "--state", state};
        if (!cursor.empty()) words.insert(words.end(), {"--cursor", cursor});
        const json::Value page = json::parse(run(folder, words).output);
        for (const json::Value& item : page.find("items")->as_array()) {
            const std::string key = item.find("dedup_key")->as_string();
            ids.insert(key.substr(key.find("evt_")));
        }
        const json::Value* const next = page.find("next");
        cursor = next != nullptr ? next->as_string() : std::string{};
    } while (!cursor.empty());
    return ids;
}

TEST(KillServer, WhatWasAcknowledgedIsStoredExactlyOnceAndHandled) {
    TemporaryFolder folder;
    const std::string where = folder.path().string();
    const Source source = source_named("stripe", "stripe");
    std::ofstream{folder.file("secret")} << source.secrets[0];
    std::ofstream{folder.file("waybill.toml")}
        << "[sources.stripe]\nprovider = 'stripe'\nsecrets = ['file:secret']\n"
           "[[targets]]\nkey = 'log'\nlog = true\n";
    const std::vector<std::string> serve{"serve", "--listen", "127.0.0.1:0", "--log-level",
                                         "error"};
    std::mt19937 random{7};
    std::atomic<std::uint16_t> port{0};
    Books books;
    std::vector<std::unique_ptr<Background>> senders;
    for (int i = 0; i < kSenders; ++i) {
        senders.push_back(std::make_unique<Background>([&, i](const std::stop_token& stop) {
            send_until_stopped(source, i, port, books, stop);
        }));
    }

    for (int round = 0; round < rounds(); ++round) {
        Process server{where, serve};
        port.store(server.port());
        port.notify_all();
        books.wait_for(books.size() + 20 + random() % 200);
        port.store(0);
        server.end(SIGKILL);
    }

    Process server{where, serve};
    port.store(server.port());
    port.notify_all();
    for (const auto& sender : senders) sender->stop();
    for (const auto& sender : senders) sender->join();
    const std::set<std::string> acknowledged = books.acknowledged();
    // After so many unclean ends in a row it works off what is open one by one.
    const LocalTime patience = later(system_clock().now(), std::chrono::minutes{2});
    while (!stored(where, "open").empty() && system_clock().now() < patience) {
    }
    const std::multiset<std::string> done = stored(where, "done");
    EXPECT_EQ(server.end(SIGTERM), 0);

    const std::multiset<std::string> all = stored(where, "any");
    EXPECT_EQ(all.size(), std::set<std::string>(all.begin(), all.end()).size()) << "stored twice";
    for (const std::string& id : acknowledged) {
        ASSERT_EQ(all.count(id), 1U) << id << " was acknowledged and is lost";
        ASSERT_EQ(done.count(id), 1U) << id << " was not handled";
    }
    std::printf("%zu acknowledged in %d lives\n", acknowledged.size(), rounds() + 1);
}

}  // namespace
}  // namespace waybill::test
