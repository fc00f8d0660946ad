#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/app.hpp"
#include "support/gate.hpp"
#include "support/run_together.hpp"
#include "waybill/system.hpp"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using Kind = Event::Kind;
using test::App;

/// How often each body was handled.
class Tally {
public:
    int add(const std::string& body) {
        const std::lock_guard lock{mutex_};
        return ++times_[body];
    }
    std::size_t distinct() {
        const std::lock_guard lock{mutex_};
        return times_.size();
    }
    bool all(int times) {
        const std::lock_guard lock{mutex_};
        for (const auto& [body, count] : times_) {
            if (count != times) return false;
        }
        return true;
    }

private:
    std::mutex mutex_;
    std::map<std::string, int> times_;
};

TEST(EndToEnd, EveryMessageIsHandledOnce) {
    App test;
    Tally tally;
    test.app.inbox("orders", {.lanes = Lanes::none}).on("order.*", "bill", [&](const Message& m) {
        tally.add(m.body);
    });
    test.app.start();

    test::run_together(4, [&](int thread) {
        for (int i = 0; i < 500; ++i) {
            test.app.append(
                {.type = "order.placed", .body = std::to_string(thread) + "/" + std::to_string(i)});
        }
    });

    ASSERT_TRUE(test.log.wait_for(Kind::finished, 2'000));
    EXPECT_TRUE(test.app.wait_idle());
    EXPECT_EQ(tally.distinct(), 2'000U);
    EXPECT_TRUE(tally.all(1));
    EXPECT_EQ(test.store->count({.state = Filter::State::open}), 0U);
}

TEST(EndToEnd, WhatWasAppendedBeforeTheStartIsHandledAfterIt) {
    App test;
    Tally tally;
    test.app.inbox("orders").on("*", "bill", [&](const Message& m) { tally.add(m.body); });
    std::vector<Message> batch;
    for (int i = 0; i < 3'000; ++i) {
        batch.push_back({.type = "t", .body = std::to_string(i), .lane = std::to_string(i % 7)});
    }
    test.app.append(std::move(batch));

    test.app.start();

    ASSERT_TRUE(test.log.wait_for(Kind::finished, 3'000));
    EXPECT_TRUE(tally.all(1));
}

TEST(EndToEnd, EveryTargetGetsTheMessageAndAChainKeepsItsOrder) {
    App test;
    std::mutex mutex;
    std::vector<std::string> calls;
    const auto note = [&](std::string name) {
        return [&, name](const Message& m) {
            const std::lock_guard lock{mutex};
            calls.push_back(name + m.body);
        };
    };
    test.app.inbox("orders")
        .on("order.placed", "charge", note("charge "))
        .on("order.placed", "receipt", note("receipt "), {.after = "charge"})
        .on("order.*", "audit", note("audit "))
        .on("other", "never", note("never "));

    test.app.append({.type = "order.placed", .body = "1"});

    ASSERT_TRUE(test.app.run_until_idle());
    ASSERT_EQ(calls.size(), 3U);
    const auto at = [&](std::string_view what) {
        return std::find(calls.begin(), calls.end(), what) - calls.begin();
    };
    EXPECT_LT(at("charge 1"), at("receipt 1"));
    EXPECT_LT(at("audit 1"), 3);
}

TEST(EndToEnd, AFailureIsRetriedAndTheLastOneIsADeadLetter) {
    App test;
    Tally tally;
    test.app.inbox("orders")
        .on("twice", "t",
            [&](const Message& m, Context& context) {
                EXPECT_EQ(context.attempt(), static_cast<std::uint32_t>(tally.add(m.body)));
                if (context.attempt() < 3) throw std::runtime_error{"not yet"};
            },
            {.max_attempts = 3, .backoff = test::quick_backoff()})
        .on("never", "n", [](const Message&) { throw 42; },
            {.max_attempts = 2, .backoff = test::quick_backoff()});
    test.app.start();

    test.app.append({{.type = "twice", .body = "a"}, {.type = "never", .body = "b"}});

    ASSERT_TRUE(test.log.wait_for(Kind::finished, 2));
    EXPECT_EQ(tally.add("a"), 4);
    EXPECT_EQ(test.log.count(Kind::died), 1U);
    const auto dead = test.app.catalogue().dead_letters({}, {}, 10);
    ASSERT_EQ(dead.items.size(), 1U);
    EXPECT_EQ(dead.items[0].letter.failures, 2U);
    EXPECT_NE(dead.items[0].letter.reason.find("int"), std::string::npos)
        << dead.items[0].letter.reason;
}

TEST(EndToEnd, ADeadLetterThatIsRequeuedRunsAgain) {
    App test;
    std::atomic<bool> mended{false};
    test.app.inbox("orders").on("*", "t", [&](const Message&, Context& context) -> Outcome {
        if (!mended) return Dead{"broken"};
        EXPECT_EQ(context.requeues(), 1U);
        return Done{};
    });
    test.app.start();
    const Uuid id = test.app.append({.type = "t"}).id;
    ASSERT_TRUE(test.log.wait_for(Kind::died));

    mended = true;
    const auto answer = test.app.catalogue().requeue(std::vector<DeliveryRef>{{id, "t"}});

    EXPECT_TRUE(answer.front().carried_out) << answer.front().text;
    EXPECT_TRUE(test.log.wait_for(Kind::done));
}

TEST(EndToEnd, ADeferredMessageComesBackUncounted) {
    App test;
    std::atomic<int> calls{0};
    test.app.inbox("orders").on("*", "t", [&](const Message&, Context& context) -> Outcome {
        EXPECT_EQ(context.attempt(), 1U);
        if (++calls < 3) return Defer{1ms};
        return Done{};
    });

    test.app.append({.type = "t"});
    test.app.start();

    EXPECT_TRUE(test.log.wait_for(Kind::done));
    EXPECT_EQ(test.log.count(Kind::deferred), 2U);
}

TEST(EndToEnd, AMessageWithATimeOfItsOwnWaitsForIt) {
    App test;
    test.app.inbox("orders").on("*", "t", [](const Message&) {});
    const StoreTime due = system_clock().wall() + 150ms;

    test.app.append({.type = "t", .not_before = due});
    test.app.start();

    ASSERT_TRUE(test.log.wait_for(Kind::done));
    EXPECT_GE(system_clock().wall(), due);
}

TEST(EndToEnd, ABatchHandlerGetsManyAndAnswersForEach) {
    App test;
    Tally tally;
    std::atomic<std::size_t> largest{0};
    test.app.inbox("orders", {.lanes = Lanes::none})
        .on_batch("*", "b",
                  [&](Batch batch, BatchContext& context) {
                      if (batch.size() > largest) largest = batch.size();
                      BatchOutcomes outcomes(batch.size(), Outcome{Done{}});
                      for (std::size_t i = 0; i < batch.size(); ++i) {
                          tally.add(batch[i]->body);
                          if (batch[i]->body == "7" && context.attempt_of(i) == 1) {
                              outcomes[i] = Fail{"once"};
                          }
                      }
                      return outcomes;
                  },
                  {.backoff = test::quick_backoff(), .batch_max = 50});
    std::vector<Message> batch;
    for (int i = 0; i < 200; ++i) batch.push_back({.type = "t", .body = std::to_string(i)});
    test.app.append(std::move(batch));
    test.app.start();

    ASSERT_TRUE(test.log.wait_for(Kind::finished, 200));
    EXPECT_EQ(test.log.count(Kind::failed), 1U);
    EXPECT_EQ(tally.add("7"), 3);
    EXPECT_GT(largest, 1U);
    EXPECT_LE(largest, 50U);
}

TEST(EndToEnd, WhatABatchHandlerDoesNotMentionIsTriedAgainUncounted) {
    App test;
    std::atomic<int> calls{0};
    test.app.inbox("orders", {.lanes = Lanes::none})
        .on_batch("*", "b", [&](Batch batch, BatchContext& context) -> BatchOutcomes {
            EXPECT_EQ(context.attempt(), 1U);
            if (++calls == 1) return {};
            return BatchOutcomes(batch.size(), Outcome{Done{}});
        });
    test.app.append({{.type = "t"}, {.type = "t"}});
    test.app.start();

    EXPECT_TRUE(test.log.wait_for(Kind::finished, 2));
    EXPECT_EQ(test.log.count(Kind::failed), 0U);
}

TEST(EndToEnd, AnInlineHandlersWritesCommitWithItsSuccess) {
    App test;
    test.app.inbox("orders", {.lanes = Lanes::none})
        .on_inline("in", "copy",
                   [](const Message& m, Context&, void* native) {
                       Message out{.box = "orders", .type = "out", .body = m.body};
                       out.id = m.id;
                       out.id.bytes[15] ^= 0xFF;
                       static_cast<memory::Transaction*>(native)->appends.push_back(
                           {.message = std::make_shared<const Message>(std::move(out))});
                   })
        .on("out", "seen", [](const Message&) {});
    test.app.start();

    for (int i = 0; i < 50; ++i) test.app.append({.type = "in", .body = std::to_string(i)});

    EXPECT_TRUE(test.log.wait_for(Kind::finished, 100));
    EXPECT_EQ(test.store->count({.type = "out"}), 50U);
}

TEST(EndToEnd, HandlersMayAppend) {
    App test;
    test.app.inbox("orders")
        .on("0", "next", [&](const Message&) { test.app.append({.type = "1"}); })
        .on("1", "next1", [&](const Message&) { test.app.append({.type = "2"}); })
        .on("2", "end", [](const Message&) {});

    test.app.start();
    test.app.append({.type = "0"});

    EXPECT_TRUE(test.log.wait_for(Kind::finished, 3));
}

TEST(EndToEnd, ADuplicateIsAnsweredAndNotHandled) {
    App test;
    test.app.inbox("orders").on("*", "t", [](const Message&) {});
    test.app.start();

    const auto first = test.app.append({.type = "t", .body = "x", .dedup_key = "k"});
    const auto second = test.app.append({.type = "t", .body = "x", .dedup_key = "k"});
    const auto other = test.app.append({.type = "t", .body = "y", .dedup_key = "k"});

    EXPECT_EQ(first.status, AppendResult::Status::fresh);
    EXPECT_EQ(second.status, AppendResult::Status::duplicate);
    EXPECT_EQ(other.status, AppendResult::Status::conflict);
    EXPECT_EQ(second.id, first.id);
    EXPECT_TRUE(test.app.wait_idle());
    EXPECT_EQ(test.log.count(Kind::finished), 1U);
}

TEST(EndToEnd, AnExecutorOfOnesOwnCompletesFromAnyThread) {
    /// Answers each delivery when the next one comes; drops the last.
    class Lagging final : public Executor {
    public:
        void start(std::vector<Job> jobs) override {
            for (Job& job : jobs) {
                if (held_) held_->completion(DeliveryResults(1, DeliveryResult{Done{}}));
                held_.emplace(std::move(job));
            }
        }
        void cancel(std::span<const std::uint64_t>) override { held_.reset(); }

    private:
        std::optional<Job> held_;
    };
    App test;
    test.app.inbox("orders", {.lanes = Lanes::none}).to("*", "x", std::make_shared<Lagging>());
    test.app.start();

    test.app.append({{.type = "t"}, {.type = "t"}, {.type = "t"}});
    ASSERT_TRUE(test.log.wait_for(Kind::done, 2));
    test.app.stop();

    EXPECT_EQ(test.log.count(Kind::done), 2U);
    EXPECT_EQ(test.store->count({.state = Filter::State::open}), 1U);
}

}  // namespace
}  // namespace waybill
