#include "core/runtime/handler_pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>

#include <gtest/gtest.h>

#include "support/gate.hpp"
#include "support/manual_clock.hpp"
#include "waybill/system.hpp"

namespace waybill::runtime {
namespace {

using namespace std::chrono_literals;
using test::Gate;

/// Collects answers.
class Answers final : public Completion::Sink {
public:
    void complete(std::uint64_t number, DeliveryResults results) noexcept override {
        const std::lock_guard lock{mutex_};
        ++times_[number];
        results_[number] = std::move(results);
        changed_.notify_all();
    }
    bool wait_for(std::size_t count) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, Gate::patience, [&] { return results_.size() >= count; });
    }
    DeliveryResults of(std::uint64_t number) {
        const std::lock_guard lock{mutex_};
        return results_[number];
    }
    bool each_once() {
        const std::lock_guard lock{mutex_};
        return std::ranges::all_of(times_, [](const auto& entry) { return entry.second == 1; });
    }
    std::size_t size() {
        const std::lock_guard lock{mutex_};
        return results_.size();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::uint64_t, int> times_;
    std::map<std::uint64_t, DeliveryResults> results_;
};

class HandlerPoolTest : public testing::Test {
protected:
    std::vector<Job> jobs(std::uint64_t first, std::size_t count,
                          LocalTime deadline = local_never) {
        std::vector<Job> all;
        for (std::uint64_t number = first; number < first + count; ++number) {
            Delivery delivery{.number = number, .deadline = deadline};
            delivery.items.push_back({std::make_shared<const Message>()});
            all.push_back({std::move(delivery), Completion{answers, number, 1}});
        }
        return all;
    }
    static std::shared_ptr<HandlerBody> body(Handler handler) {
        return single_body(std::move(handler));
    }
    /// Polls as the loop would, until `done`.
    template <class Done>
    bool poll_until(HandlerPool& pool, Done done) {
        const LocalTime end = system_clock().now() + Gate::patience;
        while (!done()) {
            if (system_clock().now() > end) return false;
            pool.poll(system_clock().now());
        }
        return true;
    }

    std::shared_ptr<Answers> answers = std::make_shared<Answers>();
};

TEST_F(HandlerPoolTest, EveryJobIsAnsweredExactlyOnce) {
    HandlerPool pool{{.threads_max = 4}, system_clock()};
    const auto work = body([](const Message&, Context&) { return Done{}; });

    for (std::uint64_t i = 0; i < 100; ++i) pool.start(work, jobs(1 + i * 100, 100));

    ASSERT_TRUE(answers->wait_for(10'000));
    EXPECT_TRUE(answers->each_once());
}

TEST_F(HandlerPoolTest, BlockingHandlersGetAsManyThreadsAsAreAllowed) {
    const auto gate = std::make_shared<Gate>();
    HandlerPool pool{{.threads_max = 16}, system_clock()};

    pool.start(body([gate](const Message&, Context&) {
                   gate->pass();
                   return Done{};
               }),
               jobs(1, 20));

    EXPECT_TRUE(poll_until(pool, [&] { return gate->arrived() == 16; }));
    EXPECT_EQ(pool.threads(), 16U);
    gate->open();
    EXPECT_TRUE(answers->wait_for(20));
}

TEST_F(HandlerPoolTest, QuickHandlersAreServedByTwoThreads) {
    // The pool looks at time only through `poll`: the test says what passes between two looks.
    std::counting_semaphore<> tickets{0};
    HandlerPool pool{{.threads_max = 64}, system_clock()};
    pool.start(body([&](const Message&, Context&) {
                   tickets.acquire();
                   return Done{};
               }),
               jobs(1, 300));

    // Two threads that gave three answers since the last look claimed a job since then.
    LocalTime now = system_clock().now();
    for (std::size_t answered = 3; answered <= 300; answered += 3) {
        pool.poll(now += 10ms);
        tickets.release(3);
        ASSERT_TRUE(answers->wait_for(answered));
    }
    EXPECT_EQ(pool.threads(), 2U);
}

TEST_F(HandlerPoolTest, ASlowHandlerHoldsNoOtherJobBack) {
    const auto gate = std::make_shared<Gate>();
    HandlerPool pool{{.threads_max = 2}, system_clock()};

    // All in one vector, the slow one first.
    std::vector<Job> together = jobs(1, 100);
    const Message* slow = together.front().delivery.items.front().message.get();
    pool.start(body([gate, slow](const Message& message, Context&) {
                   if (&message == slow) gate->pass();
                   return Done{};
               }),
               std::move(together));

    EXPECT_TRUE(answers->wait_for(99));
    gate->open();
    EXPECT_TRUE(answers->wait_for(100));
}

TEST_F(HandlerPoolTest, ACancelledJobSeesItsStopTokenAndTheNextOneDoesNot) {
    const auto gate = std::make_shared<Gate>();
    HandlerPool pool{{.threads_max = 1}, system_clock()};
    std::atomic<int> stopped{0};
    const auto work = body([&, gate](const Message&, Context& context) {
        if (!gate->pass(context.stop_token())) ++stopped;
        return Done{};
    });

    pool.start(work, jobs(1, 2));
    ASSERT_TRUE(gate->wait_for_arrivals(1));
    pool.cancel(std::vector<std::uint64_t>{1});
    ASSERT_TRUE(answers->wait_for(1));
    ASSERT_TRUE(gate->wait_for_arrivals(2));
    gate->open();
    ASSERT_TRUE(answers->wait_for(2));

    EXPECT_EQ(stopped, 1);
}

TEST_F(HandlerPoolTest, AJobCancelledBeforeItBeganIsReleasedUnheard) {
    const auto gate = std::make_shared<Gate>();
    HandlerPool pool{{.threads_max = 1}, system_clock()};
    std::atomic<int> calls{0};
    pool.start(body([&, gate](const Message&, Context&) {
                   ++calls;
                   gate->pass();
                   return Done{};
               }),
               jobs(1, 3));
    ASSERT_TRUE(gate->wait_for_arrivals(1));

    pool.cancel(std::vector<std::uint64_t>{2});
    gate->open();
    ASSERT_TRUE(answers->wait_for(3));

    EXPECT_EQ(calls, 2);
    EXPECT_EQ(answers->of(2), DeliveryResults(1));
}

TEST_F(HandlerPoolTest, AThreadStuckPastItsDeadlineIsReplacedUpToTheLimit) {
    const auto gate = std::make_shared<Gate>();
    HandlerPool pool{{.threads_max = 1, .replacements_max = 2}, system_clock()};
    const auto stuck = body([gate](const Message&, Context&) {
        gate->pass();
        return Done{};
    });

    const LocalTime soon = system_clock().now() + 1ms;
    pool.start(stuck, jobs(1, 5, soon));

    EXPECT_TRUE(poll_until(pool, [&] { return gate->arrived() == 3; }));
    EXPECT_EQ(pool.threads(), 3U);

    // When they return they answer and end; one thread is left to do the rest.
    gate->open();
    EXPECT_TRUE(poll_until(pool, [&] { return answers->size() == 5; }));
    EXPECT_TRUE(answers->each_once());
}

TEST_F(HandlerPoolTest, AHandlerThatNeverReturnsDoesNotKeepThePoolFromEnding) {
    const auto gate = std::make_shared<Gate>();
    {
        HandlerPool pool{{.threads_max = 1}, system_clock()};
        pool.start(body([gate](const Message&, Context&) {
                       gate->pass();
                       return Done{};
                   }),
                   jobs(1, 2));
        ASSERT_TRUE(gate->wait_for_arrivals(1));
    }

    // The one that had not begun was released; the stuck one still answers once it can.
    EXPECT_EQ(answers->size(), 1U);
    gate->open();
    EXPECT_TRUE(answers->wait_for(2));
}

}  // namespace
}  // namespace waybill::runtime
