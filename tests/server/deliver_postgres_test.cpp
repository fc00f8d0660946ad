/// Webhooks out of two servers that share one PostgreSQL.

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/delivered_book.hpp"
#include "server/program_fixture.hpp"
#include "server/recorder.hpp"
#include "support/background.hpp"
#include "support/http_client.hpp"
#include "support/pacing.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_server.hpp"
#include "waybill/json.hpp"

namespace waybill::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr auto kPatience = 60s;

int deaths() {
    const char* const given = std::getenv("WAYBILL_KILL_ROUNDS");
    return given != nullptr ? std::atoi(given) : 5;
}

class DeliverTogether : public Program {
protected:
    DeliverTogether() {
        static int databases = 0;
        const std::string database = "deliver_" + std::to_string(++databases);
        PostgresServer::instance().create(database);
        url_ = PostgresServer::instance().url(database);
        write("token", kToken);
        configure("60s");
    }
    /// A long lease where it is not about dying: the machine may be slow.
    void configure(const std::string& lease, const std::string& more = {}) {
        write("waybill.toml", "store = '" + url_ + "'\n[engine]\nlease = '" + lease +
                                  "'\n[server]\nadmin_tokens = ['file:token']\n"
                                  "[egress]\nallow = ['127.0.0.1/32']\n" +
                                  more);
    }
    std::unique_ptr<Process> serve() {
        return std::make_unique<Process>(
            folder_.path().string(),
            std::vector<std::string>{"serve", "--listen", "127.0.0.1:0", "--log-level", "error"});
    }
    /// An operator's order to one of them; its answer.
    static std::string order(std::uint16_t server, const std::string& target,
                             const std::string& body) {
        const auto answer =
            HttpClient{server}.post(target, body, "Authorization: Bearer " + kToken + "\r\n");
        EXPECT_TRUE(answer && answer->status / 100 == 2) << target << ": " << answer->body;
        return answer->body;
    }
    /// Its id.
    std::string subscribe(std::uint16_t server, const char* path) {
        const std::string answer =
            order(server, "/v1/subscriptions",
                  R"({"url":")" + recorder_.url(path) + R"(","retry":{"schedule":["50ms"]}})");
        return json::parse(answer).find("id")->as_string();
    }
    static std::string publish(int lane, int number) {
        const std::string body = std::to_string(lane) + "/" + std::to_string(number);
        return "select waybill.publish(box => 'outbox', type => 'order.placed', body => "
               "convert_to('" +
               body + "', 'UTF8'), lane => 'lane" + std::to_string(lane) + "')";
    }
    bool received(std::size_t count) {
        return look_until([&] { return recorder_.count() >= count; }, kPatience);
    }
    bool wait_done(PostgresClient& database) {
        return look_until([&] { return database.run("select count(*) from waybill.open") == "0"; },
                          kPatience);
    }

    void expect_gone_to_both(Process& first, std::uint16_t to_first, const std::string& gone) {
        constexpr int kMessages = 20;
        subscribe(to_first, "/a");
        const auto second = serve();
        const std::uint16_t to_second = second->port();
        PostgresClient shop{url_};
        shop.run(publish(0, 0));
        ASSERT_TRUE(received(2));
        ASSERT_TRUE(eventually({"subscriptions", "show", gone}, "410"));

        // Everything is the second one's now. It looks every second, and with every order it is given.
        EXPECT_EQ(first.end(SIGTERM), 0);
        subscribe(to_second, "/b");
        for (int n = 1; n <= kMessages; ++n) shop.run(publish(n % 4, n));
        ASSERT_TRUE(received(2 + 2 * kMessages));
        EXPECT_EQ(recorder_.bodies("/a").size(), static_cast<std::size_t>(1 + kMessages));
        EXPECT_THAT(recorder_.bodies("/gone"), ElementsAre("0/0"));

        is_gone_ = false;
        order(to_second, "/v1/subscriptions/" + gone + "/enable", "{}");
        EXPECT_TRUE(wait_done(shop));
        const std::vector<std::string> bodies = recorder_.bodies("/gone");
        EXPECT_EQ((std::set<std::string>{bodies.begin(), bodies.end()}.size()),
                  static_cast<std::size_t>(1 + kMessages));
        EXPECT_EQ(shop.run("select reason from waybill.dead"), "answered 410") << "the first one";
        EXPECT_EQ(second->end(SIGTERM), 0);
    }

    static inline const std::string kToken = "an-operators-token-of-some-length";
    std::string url_;
    std::atomic<bool> is_gone_ = false;
    RefusesEveryTenthOnce at_b_{"/b"};
    Recorder recorder_{[this](const HttpRequest& request) {
        return is_gone_ && request.target == "/gone" ? 410U : at_b_(request);
    }};
};

TEST_F(DeliverTogether, WhatWasCommittedReachesASubscriptionOnceAndWhatWasRolledBackNever) {
    const auto first = serve();
    const std::uint16_t to_first = first->port();
    const auto second = serve();
    second->port();
    subscribe(to_first, "/a");
    PostgresClient shop{url_};

    shop.run("begin");
    shop.run(publish(1, 0));
    shop.run("rollback");
    shop.run("begin");
    shop.run(publish(1, 1));
    EXPECT_EQ(recorder_.count(), 0U);
    shop.run("commit");

    ASSERT_TRUE(received(1));
    EXPECT_TRUE(wait_done(shop));
    EXPECT_THAT(recorder_.bodies("/a"), ElementsAre("1/1"));
    EXPECT_EQ(first->end(SIGTERM), 0);
    EXPECT_EQ(second->end(SIGTERM), 0);
}

TEST_F(DeliverTogether,
       KillingOneAfterTheOtherLosesNothingRepeatsNothingThatIsRecordedAndKeepsEveryOrder) {
    constexpr int kLanes = 4;
    configure("1s");
    std::unique_ptr<Process> one = serve();
    const std::uint16_t to_first = one->port();
    std::map<std::string, std::string> path_of_target;
    for (const char* path : {"/a", "/b"}) {
        path_of_target["subscription:" + subscribe(to_first, path)] = path;
    }
    DeliveredBook book{url_, path_of_target};
    std::unique_ptr<Process> other = serve();
    other->port();
    std::vector<int> committed(kLanes);
    std::vector<std::unique_ptr<Background>> shops;
    for (int lane = 0; lane < kLanes; ++lane) {
        shops.push_back(std::make_unique<Background>([&, lane](const std::stop_token& stop) {
            PostgresClient shop{url_};
            int& number = committed[static_cast<std::size_t>(lane)];
            for (; !stop.stop_requested(); ++number) {
                shop.run(publish(lane, number));
                pause_for(10ms);  // The rate of the load.
            }
        }));
    }

    // The first has taken everything: whoever lives takes it over, and dies next.
    for (int death = 0; death < deaths(); ++death) {
        ASSERT_TRUE(received(recorder_.count() + 100));
        one->end(SIGKILL);
        book.look(recorder_);
        one = std::exchange(other, serve());
        other->port();
    }
    ASSERT_TRUE(received(recorder_.count() + 100));
    for (const auto& shop : shops) shop->stop();
    for (const auto& shop : shops) shop->join();
    PostgresClient database{url_};
    ASSERT_TRUE(wait_done(database)) << database.run("select count(*) from waybill.open");

    EXPECT_THAT(book.received_again(recorder_.receipts()), testing::IsEmpty())
        << "although it was recorded as delivered";
    EXPECT_GT(book.in_part(), 0U) << "nobody died between one endpoint and the other";
    std::printf("%zu receipts over %d deaths, %zu recorded before one, %zu of them in part\n",
                recorder_.count(), deaths(), book.size(), book.in_part());
    const auto firsts = first_receipts(recorder_.receipts());
    for (int lane = 0; lane < kLanes; ++lane) {
        for (const char* path : {"/a ", "/b "}) {
            const auto found = firsts.find(path + std::to_string(lane));
            ASSERT_NE(found, firsts.end()) << path << lane;
            EXPECT_TRUE(std::ranges::is_sorted(found->second)) << "out of order: " << path << lane;
            EXPECT_EQ(found->second.size(),
                      static_cast<std::size_t>(committed[static_cast<std::size_t>(lane)]));
        }
    }
    EXPECT_EQ(database.run("select count(*) from waybill.dead"), "0");
}

TEST_F(DeliverTogether, AnEndpointThatSaidGoneToOneIsNotCalledByTheOtherUntilItIsEnabled) {
    is_gone_ = true;
    const auto first = serve();
    const std::uint16_t to_first = first->port();
    expect_gone_to_both(*first, to_first, subscribe(to_first, "/gone"));
}

/// It stands in the file of both, and what became of it in neither.
TEST_F(DeliverTogether, AnEndpointOfTheFileThatSaidGoneToOneIsNotCalledByTheOtherEither) {
    const std::string gone = "5f0c2d1e-8a57-4c7e-9d53-0e2b6f6a1c11";
    configure("60s",
              "[[subscriptions]]\nid = '" + gone + "'\nurl = '" + recorder_.url("/gone") + "'\n");
    is_gone_ = true;
    const auto first = serve();
    expect_gone_to_both(*first, first->port(), gone);
}

}  // namespace
}  // namespace waybill::test
