/// Webhooks out from a program of one's own: readers, stores and secrets that fail.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/endpoint.hpp"
#include "support/app.hpp"
#include "support/faulty_store.hpp"
#include "support/gate.hpp"
#include "support/store_decorator.hpp"
#include "waybill/deliver.hpp"
#include "waybill/sqlite.hpp"

namespace waybill::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::UnorderedElementsAre;
using Kind = Event::Kind;

/// Says what it is told to say, or throws it.
class OwnReader final : public SubscriptionReader {
public:
    using Say = std::function<std::optional<std::vector<Subscription>>()>;
    explicit OwnReader(std::vector<Subscription> first) {
        say_ = [first = std::optional{std::move(first)}]() mutable {
            return std::exchange(first, std::nullopt);
        };
    }
    std::optional<std::vector<Subscription>> read() override {
        const std::lock_guard lock{mutex_};
        ++asked_;
        changed_.notify_all();
        return say_();
    }
    void from_now_on(Say say) {
        const std::lock_guard lock{mutex_};
        say_ = std::move(say);
    }
    int asked() {
        const std::lock_guard lock{mutex_};
        return asked_;
    }
    bool wait_until_asked_again() {
        std::unique_lock lock{mutex_};
        // Of two the second began after this.
        return changed_.wait_for(lock, 60s,
                                 [this, before = asked_] { return asked_ >= before + 2; });
    }

private:
    std::mutex mutex_;  ///< guards the two below
    int asked_ = 0;
    Say say_;
    std::condition_variable changed_{};
};

Subscription numbered(const Endpoint& endpoint, std::uint8_t number) {
    Subscription one = to(endpoint);
    one.id.bytes = {number, 1};
    return one;
}

/// An application that has an outbox with subscriptions, on a store of its own.
class Sender {
public:
    explicit Sender(std::vector<Subscription> subscriptions, DeliverOptions options = {},
                    StoreHandle store = memory::open(), const std::string& box = "outbox")
        : reader(std::make_shared<OwnReader>(std::move(subscriptions))),
          app(quick_settings(store)) {
        options.egress = make_egress({.allow = {"127.0.0.1/32"}});
        app.observe(log);
        app.outbox(box, {.attempts_log = AttemptsLog::all})
            .to_subscriptions(std::make_shared<Deliverer>(
                std::move(store), std::vector<std::shared_ptr<SubscriptionReader>>{reader}, nullptr,
                std::move(options)));
    }
    bool has_finished(std::size_t messages) { return log.wait_for(Kind::finished, messages); }

    std::shared_ptr<OwnReader> reader;
    EventLog log;
    Waybill app;
};

// WH4
TEST(DelivererTest, WhoSubscribesIsWhatAReaderOfYourOwnSays) {
    Endpoint first;
    Endpoint second;
    Sender sender{{numbered(first, 1)}, {.refresh = 1ms}};
    sender.app.start();
    sender.app.append({.type = "t", .body = "1"});
    ASSERT_TRUE(sender.has_finished(1));

    sender.reader->from_now_on([&] { return std::vector{numbered(second, 2)}; });
    ASSERT_TRUE(sender.reader->wait_until_asked_again());
    sender.app.append({.type = "t", .body = "2"});
    ASSERT_TRUE(sender.has_finished(2));

    EXPECT_THAT(first.bodies(), ElementsAre("1"));
    EXPECT_THAT(second.bodies(), ElementsAre("2"));
}

/// Its box comes with the start; until then the store refuses what is of it.
TEST(DelivererTest, WhoSubscribedLongBeforeTheStartGetsTheFirstMessage) {
    Endpoint endpoint;
    Sender sender{{numbered(endpoint, 1)}, {.refresh = 1ms}};
    ASSERT_TRUE(sender.reader->wait_until_asked_again());

    sender.app.start();
    sender.app.append({.type = "t", .body = "1"});
    ASSERT_TRUE(sender.has_finished(1));

    EXPECT_THAT(endpoint.bodies(), ElementsAre("1"));
}

// WH5
TEST(DelivererTest, AReaderIsNotAskedForEveryMessage) {
    Endpoint endpoint;
    Sender sender{{numbered(endpoint, 1)}, {.refresh = 1h}};
    sender.app.start();
    const int asked = sender.reader->asked();

    for (int i = 0; i < 200; ++i) {
        sender.app.append({.type = "t" + std::to_string(i % 7), .tenant = std::to_string(i % 3)});
    }
    ASSERT_TRUE(sender.has_finished(200));

    EXPECT_EQ(sender.reader->asked(), asked);
    EXPECT_EQ(endpoint.requests().size(), 200U);
}

// W-ON2
TEST(DelivererTest, AReaderThatThrowsWhateverItIsEndsNothingAndChangesNothing) {
    Endpoint endpoint;
    Endpoint later_one;
    std::atomic<int> told = 0;
    Sender sender{{numbered(endpoint, 1)},
                  {.refresh = 1ms, .on_news = [&](const SubscriptionNews& news) {
                       if (news.kind == SubscriptionNews::Kind::unreadable) ++told;
                   }}};
    sender.app.start();
    sender.reader->from_now_on([]() -> std::optional<std::vector<Subscription>> {
        throw std::runtime_error("the table is locked");
    });
    ASSERT_TRUE(sender.reader->wait_until_asked_again());
    sender.reader->from_now_on([]() -> std::optional<std::vector<Subscription>> { throw 7; });
    ASSERT_TRUE(sender.reader->wait_until_asked_again());
    sender.app.append({.type = "t", .body = "1"});
    ASSERT_TRUE(sender.has_finished(1));
    EXPECT_EQ(told, 2) << "each trouble once";

    sender.reader->from_now_on([&] {
        return std::vector{numbered(endpoint, 1), numbered(later_one, 2)};
    });
    ASSERT_TRUE(sender.reader->wait_until_asked_again());
    sender.app.append({.type = "t", .body = "2"});
    ASSERT_TRUE(sender.has_finished(2));

    EXPECT_THAT(endpoint.bodies(), ElementsAre("1", "2"));
    EXPECT_THAT(later_one.bodies(), ElementsAre("2"));
}

// W-ON2
TEST(DelivererTest, ASecretThatCannotBeHadIsAFailureOfThatMessageAlone) {
    Endpoint endpoint;
    std::atomic<int> turn = 0;
    Sender sender{{numbered(endpoint, 1)},
                  {.tenant_secret = [&](const std::string&) -> std::optional<std::string> {
                       if (++turn == 1) throw std::runtime_error("timed out");
                       if (turn == 2) throw 7;
                       return "of the tenant";
                   },
                   .secret_ttl = 0s}};
    sender.app.start();

    sender.app.append({.type = "t", .body = "1", .tenant = "acme"});
    ASSERT_TRUE(sender.has_finished(1));

    EXPECT_EQ(turn, 3);
    const auto requests = endpoint.requests();
    ASSERT_EQ(requests.size(), 1U);
    EXPECT_TRUE(is_signed_with(requests[0], "of the tenant"));
}

TEST(DelivererTest, ASecretThatTakesLongCostsNoAttemptAndHoldsUpNoOtherTenant) {
    Endpoint endpoint;
    Gate vault;
    Subscription one = numbered(endpoint, 1);
    one.retry.max_attempts = 1;
    Sender sender{{one}, {.tenant_secret = [&](const std::string& tenant) {
                      if (tenant == "slow") vault.pass();
                      return std::optional{"of " + tenant + " and nobody else"};
                  }}};
    const OpenAtTheEnd whatever{vault};
    sender.app.start();

    sender.app.append({.type = "t", .body = "1", .tenant = "slow"});
    ASSERT_TRUE(vault.wait_for_arrivals(1));
    sender.app.append({.type = "t", .body = "2", .tenant = "quick"});
    ASSERT_TRUE(sender.has_finished(1));
    EXPECT_THAT(endpoint.bodies(), ElementsAre("2"));
    ASSERT_TRUE(sender.log.wait_for(Kind::deferred, 1)) << "it waits into its deadline";
    vault.open();
    ASSERT_TRUE(sender.has_finished(2));

    EXPECT_TRUE(is_signed_with(endpoint.requests().at(1), "of slow and nobody else"));
    EXPECT_EQ(sender.log.count(Kind::died), 0U);
    EXPECT_EQ(vault.arrived(), 1U);
}

TEST(DelivererTest, NothingGoesOutUnsignedWhenAllSecretsHaveExpired) {
    Endpoint endpoint;
    Subscription one = numbered(endpoint, 1);
    one.secrets.at(0).until = StoreTime{1s};
    one.retry.max_attempts = 1;
    Sender sender{{one}};
    sender.app.start();

    sender.app.append({.type = "t", .body = "1"});
    ASSERT_TRUE(sender.log.wait_for(Kind::died, 1));

    EXPECT_TRUE(endpoint.requests().empty());
}

// W-ON6
TEST(DelivererTest, WithoutADelivererMessagesWaitForOneAndNothingSpins) {
    Endpoint endpoint;
    const StoreHandle inner = memory::open();
    const auto store = std::make_shared<FaultyStore>(inner);
    {
        Sender before{{numbered(endpoint, 1)}, {}, inner};
        before.app.start();
    }
    Waybill without{quick_settings(store, "without")};
    EventLog log;
    without.observe(log);
    without.outbox("outbox");
    without.start();
    without.append({.type = "t", .body = "1"});
    ASSERT_TRUE(without.wait_idle());
    EXPECT_EQ(store->calls(FaultyStore::Call::settle), 0U);
    EXPECT_EQ(inner.catalogue()->count({.state = Filter::State::open}), 1U);
    without.stop();

    Sender after{{numbered(endpoint, 1)}, {}, inner};
    after.app.start();

    ASSERT_TRUE(after.has_finished(1));
    EXPECT_THAT(endpoint.bodies(), ElementsAre("1"));
}

// W-ON10
TEST(DelivererTest, ASuccessThatCannotBeSavedIsSavedLaterAndNotSentAgain) {
    Endpoint endpoint;
    const auto store = std::make_shared<FaultyStore>(StoreHandle{memory::open()});
    Sender sender{{numbered(endpoint, 1)}, {}, store};
    sender.app.start();
    store->fail_next(FaultyStore::Call::settle, FaultyStore::Fault::before, 3);
    store->fail_next(FaultyStore::Call::settle, FaultyStore::Fault::after, 2);

    sender.app.append({.type = "t", .body = "1"});
    ASSERT_TRUE(sender.has_finished(1));

    EXPECT_TRUE(store->is_calm());
    EXPECT_EQ(endpoint.requests().size(), 1U);
}

/// Counts what is settled, and lets the first settlement wait.
class HeldStore final : public StoreDecorator {
public:
    using StoreDecorator::StoreDecorator;

    SettleReply settle(const SettleBatch& batch) override {
        std::size_t attempts = 0;
        for (const Settlement& one : batch.items) attempts += one.attempts.size();
        if (attempts > 0 && ++calls == 1) gate.pass();
        written += attempts;
        return StoreDecorator::settle(batch);
    }
    Gate gate;
    std::atomic<std::size_t> calls = 0;
    std::atomic<std::size_t> written = 0;
};

/// Until all were answered, nothing is stored of them but the first.
class Countdown {
public:
    explicit Countdown(std::size_t count) : count_(count) {}
    void one_more() {
        const std::lock_guard lock{mutex_};
        if (++got_ == count_) changed_.notify_all();
    }
    bool is_over() {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, 60s, [this] { return got_ >= count_; });
    }

private:
    const std::size_t count_;
    std::mutex mutex_;  ///< guards the one below
    std::size_t got_ = 0;
    std::condition_variable changed_{};
};

// WH12
TEST(DelivererTest, AttemptsOfOneMessageAreWrittenTogetherHoweverManySubscribe) {
    constexpr std::size_t kCount = 250;
    Endpoint endpoint;
    std::vector<Subscription> all;
    for (std::size_t i = 0; i < kCount; ++i) {
        all.push_back(numbered(endpoint, static_cast<std::uint8_t>(i)));
    }
    const auto inner = memory::open();
    const auto store = std::make_shared<HeldStore>(*inner);
    Countdown countdown{kCount};
    Sender sender{
        all, {.on_delivery = [&](const DeliveryReport&) { countdown.one_more(); }}, store};
    sender.app.start();

    sender.app.append({.type = "t"});
    const bool is_answered = countdown.is_over();
    store->gate.open();
    ASSERT_TRUE(is_answered);
    ASSERT_TRUE(sender.has_finished(1));

    EXPECT_EQ(store->written, kCount);
    EXPECT_LE(store->calls, kCount / 10) << "an attempt is a write of its own";
    sender.app.stop();
}

// W-ON12
TEST(DelivererTest, WhatIsAnsweredMeanwhileIsWrittenTogether) {
    constexpr std::size_t kCount = 300;
    Endpoint endpoint;
    Subscription wide = numbered(endpoint, 1);
    wide.concurrency = 1'000;
    const auto inner = memory::open();
    const auto store = std::make_shared<HeldStore>(*inner);
    Countdown countdown{kCount};
    Sender sender{
        {wide}, {.on_delivery = [&](const DeliveryReport&) { countdown.one_more(); }}, store};
    sender.app.start();

    // In one call: what comes while a settlement is held may have to be read, which waits for it.
    sender.app.append(std::vector<Message>(kCount, {.type = "t"}));
    const bool is_answered = countdown.is_over();
    store->gate.open();
    ASSERT_TRUE(is_answered);
    ASSERT_TRUE(sender.has_finished(kCount));

    EXPECT_EQ(store->written, kCount);
    EXPECT_LE(store->calls, kCount / 10) << "a message is a write of its own";
    sender.app.stop();
}

/// Fifty that hang have four hundred requests under way, in a box that nobody gave a larger limit.
TEST(DelivererTest, ManyEndpointsThatHangDoNotHoldUpAHealthyOne) {
    constexpr std::size_t kHanging = 50;
    constexpr std::size_t kMessages = 200;
    Endpoint hanging;
    hanging.hold();
    Endpoint well;
    std::vector<Subscription> all;
    for (std::size_t i = 0; i <= kHanging; ++i) {
        const bool hangs = i < kHanging;
        all.push_back(numbered(hangs ? hanging : well, static_cast<std::uint8_t>(i)));
        all.back().type = hangs ? "hang" : "ok";
        all.back().box = "orders";
        all.back().timeout = 10min;
    }
    Sender sender{all, {}, memory::open(), "orders"};
    sender.app.start();
    sender.app.append(std::vector<Message>(20, {.box = "orders", .type = "hang"}));
    ASSERT_TRUE(hanging.wait_for(kHanging * 8)) << "each has what it may have under way";

    for (std::size_t i = 0; i < kMessages; ++i) {
        sender.app.append({.box = "orders", .type = "ok"});
    }

    EXPECT_TRUE(well.wait_for(kMessages));
    EXPECT_EQ(hanging.waiting(), kHanging * 8);
    hanging.let_go();
    sender.app.stop();
}

}  // namespace
}  // namespace waybill::test
