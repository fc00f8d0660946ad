/// Endpoints that come and go: what waited is sent when they are back, and what is sent twice is the same.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/endpoint.hpp"
#include "support/app.hpp"
#include "support/gate.hpp"
#include "support/receiver.hpp"
#include "waybill/deliver.hpp"

namespace waybill::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Event::Kind;

/// A hundred times as fast as this host's: nobody waits ten seconds for a circuit.
class FastClock final : public Clock {
public:
    LocalTime now() override { return begun_ + 100 * (system_clock().now() - begun_); }
    StoreTime wall() override { return begun_wall_ + (now() - begun_); }

private:
    const LocalTime begun_ = system_clock().now();
    const StoreTime begun_wall_ = system_clock().wall();
};

/// One endpoint, and an application in whose time minutes pass within a test.
class Unsteady : public testing::Test {
protected:
    void start(Subscription subscription) {
        Settings settings = quick_settings(store_);
        settings.lease = 10min;
        settings.clock = &clock_;
        app_ = std::make_unique<Waybill>(settings);
        app_->observe(log_);
        const auto tell = [this](const SubscriptionNews& news) {
            const std::lock_guard lock{mutex_};
            news_.push_back(news.kind);
        };
        auto readers = std::vector<std::shared_ptr<SubscriptionReader>>{
            std::make_shared<FixedSubscriptions>(std::vector{std::move(subscription)})};
        app_->outbox("outbox", {.attempts_log = AttemptsLog::all})
            .to_subscriptions(std::make_shared<Deliverer>(
                store_, readers, nullptr,
                DeliverOptions{.egress = make_egress({.allow = {"127.0.0.1/32"}}),
                               .on_news = tell,
                               .clock = &clock_}));
        app_->start();
    }
    Subscription patient() const {
        Subscription one = to(endpoint_);
        one.id.bytes = {1, 1};
        one.retry = {.max_attempts = 100, .backoff = {.schedule = {100ms}}};
        one.timeout = 10min;
        return one;
    }
    bool has_said(SubscriptionNews::Kind kind) {
        const std::lock_guard lock{mutex_};
        return std::ranges::find(news_, kind) != news_.end();
    }

    FastClock clock_;
    std::shared_ptr<memory::MemoryStore> store_ = memory::open(clock_);
    Endpoint endpoint_;
    EventLog log_;
    std::mutex mutex_{};  ///< guards the news
    std::vector<SubscriptionNews::Kind> news_{};
    std::unique_ptr<Waybill> app_{};
};

TEST_F(Unsteady, AQueueDrainsThroughOneRequestThatFindsOutAndTheRestAfterIt) {
    constexpr std::size_t kOpens = 5;
    constexpr std::size_t kQueue = 50;
    endpoint_.answer_with(500);
    endpoint_.hold_after(kOpens, 204);
    Subscription wide = patient();
    wide.concurrency = 20;
    wide.retry.backoff.schedule = {5s};
    start(wide);
    for (std::size_t i = 0; i < kOpens; ++i) app_->append({.type = "t", .body = "opens"});
    ASSERT_TRUE(log_.wait_for(Kind::failed, kOpens));
    ASSERT_TRUE(has_said(SubscriptionNews::Kind::failing)) << "its circuit did not open";

    app_->append(std::vector<Message>(kQueue, {.type = "t", .body = "queue"}));
    ASSERT_TRUE(endpoint_.wait_for(kOpens + 1)) << "nobody finds out";
    // Others ask again once a second, and are told to wait.
    ASSERT_TRUE(log_.wait_for(Kind::released, log_.count(Kind::released) + 3));
    EXPECT_EQ(endpoint_.waiting(), 1U) << "more than one finds out";
    endpoint_.let_go();

    ASSERT_TRUE(log_.wait_for(Kind::finished, kOpens + kQueue));
    EXPECT_EQ(log_.count(Kind::died), 0U);
    EXPECT_TRUE(has_said(SubscriptionNews::Kind::recovered));
    EXPECT_EQ(endpoint_.requests().size(), log_.count(Kind::done) + log_.count(Kind::failed))
        << "waiting costs no attempt";
}

// Fault 38
TEST_F(Unsteady, OneThatFlapsIsNeitherDisabledNorLosesAMessage) {
    constexpr std::size_t kMessages = 12;
    endpoint_.answer([turn = 0](const HttpRequest&) mutable {
        static constexpr std::array<std::uint16_t, 10> kTurns{500, 503, 500, 503, 500,
                                                              503, 500, 204, 204, 204};
        return HttpResponse{.status = kTurns[static_cast<std::size_t>(turn++) % kTurns.size()]};
    });
    Subscription flapping = patient();
    flapping.disable_after = 1min;
    start(flapping);

    for (std::size_t i = 0; i < kMessages; ++i) {
        app_->append({.type = "t", .body = std::to_string(i)});
    }
    ASSERT_TRUE(log_.wait_for(Kind::finished, kMessages));

    EXPECT_TRUE(has_said(SubscriptionNews::Kind::failing)) << "its circuit never opened";
    EXPECT_FALSE(has_said(SubscriptionNews::Kind::disabled));
    EXPECT_EQ(log_.count(Kind::done), kMessages);
    EXPECT_EQ(log_.count(Kind::died), 0U);
    EXPECT_EQ(endpoint_.requests().size(), log_.count(Kind::done) + log_.count(Kind::failed))
        << "an attempt was counted that nobody made";
    const auto bodies = endpoint_.bodies();
    EXPECT_EQ((std::set<std::string>{bodies.begin(), bodies.end()}.size()), kMessages);
}

/// Answers the first request of each connection, keeps it, reads the second one whole, and goes without a word.
class LeavesKeptConnections {
public:
    explicit LeavesKeptConnections(int together) : together_(together) {}

    void operator()(Connection& connection) {
        remember(connection.request());
        // So many connections, and not one after the other.
        if (++begun_ <= together_) {
            if (begun_ == together_) gate_.open();
            gate_.pass();
        }
        connection.send(http_answer(204));
        remember(connection.request());
    }
    std::vector<std::string> requests() {
        const std::lock_guard lock{mutex_};
        return requests_;
    }

private:
    void remember(const std::string& request) {
        if (request.empty()) return;
        const std::lock_guard lock{mutex_};
        requests_.push_back(request);
    }

    const int together_;
    std::atomic<int> begun_ = 0;
    Gate gate_{};
    std::mutex mutex_{};  ///< guards the one below
    std::vector<std::string> requests_{};
};

/// Those that have this body.
std::vector<std::string> with_body(const std::vector<std::string>& requests,
                                   const std::string& body) {
    std::vector<std::string> found;
    for (const std::string& request : requests) {
        if (request.ends_with("\r\n\r\n" + body)) found.push_back(request);
    }
    return found;
}

class KeptConnections : public testing::TestWithParam<int> {};

/// A request that went out on a kept connection which then ends without an answer is sent once more, on a new one: who
/// kept it may have closed it before our request came. libcurl does that, as part of the same attempt of ours.
TEST_P(KeptConnections, OneThatEndsWithoutAnAnswerCostsOneRepetitionOfTheSameRequestAndNoAttempt) {
    const int kept = GetParam();
    LeavesKeptConnections leaves{kept};
    Receiver receiver{std::ref(leaves)};
    Endpoint unused;
    Subscription subscription = to(unused);
    subscription.url = receiver.url("/in");
    subscription.signing = {webhook::HeaderSet::standard, webhook::HeaderSet::outbox};
    subscription.concurrency = 100;
    ServerUnderTest server{with({subscription})};
    std::vector<std::string> warm;
    for (int i = 0; i < kept; ++i) warm.push_back(publish(server, "warm"));
    for (const std::string& id : warm) ASSERT_TRUE(is_done(server, id));
    ASSERT_EQ(receiver.connections(), kept);

    const std::string id = publish(server, "again");
    ASSERT_TRUE(is_done(server, id));

    const auto same = with_body(leaves.requests(), "again");
    ASSERT_EQ(same.size(), 2U) << "with others that are kept, too: not one after the other";
    EXPECT_EQ(same[0], same[1]);
    EXPECT_EQ(receiver.connections(), kept + 1);
    const json::Value message = parsed(server.operate("GET", "/v1/messages/" + id));
    const json::Array& attempts = message.find("attempts")->as_array();
    ASSERT_EQ(attempts.size(), 1U);
    const std::string delivery = attempts.front().find("detail")->find("delivery_id")->as_string();
    EXPECT_THAT(same[0], HasSubstr("webhook-id: " + id + "\r\n"));
    EXPECT_THAT(same[0], HasSubstr("X-Outbox-Delivery-Id: " + delivery + "\r\n"));

    // The next one has a connection like any other.
    ASSERT_TRUE(is_done(server, publish(server, "next")));
    EXPECT_EQ(with_body(leaves.requests(), "next").size(), 2U);
    EXPECT_EQ(receiver.connections(), kept + 2);
}

INSTANTIATE_TEST_SUITE_P(HowMany, KeptConnections, testing::Values(1, 2, 5, 8),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace waybill::test
