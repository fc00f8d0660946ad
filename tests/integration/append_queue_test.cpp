#include "core/runtime/append_queue.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "core/runtime/system_random.hpp"
#include "support/background.hpp"
#include "support/gate.hpp"
#include "support/run_together.hpp"
#include "support/store_decorator.hpp"
#include "waybill/append.hpp"
#include "waybill/memory.hpp"
#include "waybill/system.hpp"

namespace waybill::runtime {
namespace {

using Status = AppendResult::Status;

/// Counts commits; can be made to wait, or to fail.
class BatchStore final : public test::StoreDecorator {
public:
    using StoreDecorator::StoreDecorator;
    Capabilities capabilities() const override {
        Capabilities all = StoreDecorator::capabilities();
        all.appends_at_once = at_once;
        return all;
    }
    std::vector<AppendResult> append(std::span<const Append> batch) override {
        ++batches;
        if (gate) gate->pass();
        if (const auto reaction = fault ? fault(batch) : std::nullopt) {
            throw StoreError{*reaction, "injected"};
        }
        return StoreDecorator::append(batch);
    }
    std::uint32_t at_once = 1;
    std::atomic<int> batches{0};
    std::shared_ptr<test::Gate> gate{};
    std::function<std::optional<Reaction>(std::span<const Append>)> fault{};
};

class AppendQueueTest : public testing::Test {
protected:
    AppendQueueTest() { memory->declare(std::vector<BoxDeclaration>{{"orders"}}, {}); }

    static Append item(const std::string& body, const std::string& key = {}) {
        Message message{.box = "orders", .type = "t", .body = body, .dedup_key = key};
        message.id = random_uuid(thread_random());
        return {.message = std::make_shared<const Message>(std::move(message)),
                .dedup_scope = "orders",
                .body_hash = body};
    }
    static bool has_bad(std::span<const Append> batch) {
        return std::ranges::any_of(batch, [](const Append& a) { return a.message->body == "bad"; });
    }

    std::unique_ptr<memory::MemoryStore> memory = memory::open();
    BatchStore store{*memory};
};

TEST_F(AppendQueueTest, AStoreThatIsBusyForAllIsNotAskedAgainForEach) {
    AppendQueue queue{store, {.patience = Duration{}}};
    store.fault = [](auto) { return Reaction::retry; };
    store.gate = std::make_shared<test::Gate>();
    std::atomic<int> failed{0};
    std::latch answers{9};
    const auto answered = [&](const std::vector<AppendResult>&, const std::exception_ptr& error) {
        failed += error ? 1 : 0;
        answers.count_down();
    };
    queue.append({item("first")}, answered);
    ASSERT_TRUE(store.gate->wait_for_arrivals(1));
    for (int i = 0; i < 8; ++i) queue.append({item(std::to_string(i))}, answered);

    store.gate->open();
    answers.wait();

    EXPECT_EQ(failed, 9);
    EXPECT_EQ(store.batches, 2) << "one for the first, one for those that waited together";
}

TEST_F(AppendQueueTest, CallersThatWaitWhileOneBatchIsStoredAreTheNextBatch) {
    AppendQueue queue{store, {}};
    store.gate = std::make_shared<test::Gate>();
    std::atomic<int> fresh{0};
    std::latch calling{64};
    test::Background opener{[&](std::stop_token) {
        store.gate->wait_for_arrivals(1);
        calling.wait();
        store.gate->open();
    }};

    test::run_together(64, [&](int i) {
        calling.count_down();
        const auto results = queue.append({item(std::to_string(i))});
        if (results.front().status == Status::fresh) ++fresh;
    });

    EXPECT_EQ(fresh, 64);
    EXPECT_LT(store.batches, 64);
    EXPECT_EQ(memory->count({}), 64U);
}

TEST_F(AppendQueueTest, AStoreThatTakesTwoBatchesAtOnceGetsThem) {
    store.at_once = 2;
    AppendQueue queue{store, {}};
    store.gate = std::make_shared<test::Gate>();

    const test::Background first{[&](std::stop_token) { queue.append({item("1")}); }};
    ASSERT_TRUE(store.gate->wait_for_arrivals(1));
    const test::Background second{[&](std::stop_token) { queue.append({item("2")}); }};

    EXPECT_TRUE(store.gate->wait_for_arrivals(2)) << "while the first is under way";
    store.gate->open();
}

/// Who does not wait may have published the next one of a lane already.
TEST_F(AppendQueueTest, NothingOvertakesThatOfACallerWhoDoesNotWait) {
    store.at_once = 2;
    AppendQueue queue{store, {}};
    store.gate = std::make_shared<test::Gate>();
    std::latch answers{3};
    std::array<Sequence, 4> sequences{};
    const auto append = [&](std::size_t place) {
        queue.append(
            {item(std::to_string(place))},
            [&, place](const std::vector<AppendResult>& results, const std::exception_ptr&) {
                sequences.at(place) = results.at(0).sequence;
                answers.count_down();
            });
    };

    append(0);
    ASSERT_TRUE(store.gate->wait_for_arrivals(1));
    append(1);
    append(2);
    std::optional<test::Background> waiting{
        std::in_place,
        [&](std::stop_token) { sequences[3] = queue.append({item("3")}).at(0).sequence; }};
    const LocalTime until = system_clock().now() + std::chrono::seconds{20};
    while (queue.waiting() < 3 && store.batches == 1 && system_clock().now() < until) {
        std::this_thread::yield();
    }

    EXPECT_EQ(store.batches, 1) << "of the others none has begun";
    store.gate->open();
    answers.wait();
    waiting.reset();
    EXPECT_TRUE(std::ranges::is_sorted(sequences));
}

TEST_F(AppendQueueTest, EachCallerGetsItsOwnAnswers) {
    store.at_once = 2;
    AppendQueue queue{store, {}};

    test::run_together(64, [&](int i) {
        for (int round = 0; round < 20; ++round) {
            const std::vector<Append> items{item("a"), item("b", std::to_string(i))};
            const auto results = queue.append(items);
            ASSERT_EQ(results.size(), 2U);
            EXPECT_EQ(results[0].id, items[0].message->id);
            EXPECT_EQ(results[1].status, round == 0 ? Status::fresh : Status::duplicate);
        }
    });
}

TEST_F(AppendQueueTest, StrangersInABatchDoNotShareFate) {
    AppendQueue queue{store, {}};
    store.fault = [](std::span<const Append> batch) -> std::optional<Reaction> {
        if (has_bad(batch)) return Reaction::bad_data;
        return std::nullopt;
    };
    std::atomic<int> fresh{0};
    std::atomic<int> refused{0};

    test::run_together(32, [&](int i) {
        try {
            queue.append({item(i % 8 == 0 ? "bad" : "good")});
            ++fresh;
        } catch (const StoreError& error) {
            EXPECT_EQ(error.reaction(), Reaction::bad_data);
            ++refused;
        }
    });

    EXPECT_EQ(fresh, 28);
    EXPECT_EQ(refused, 4);
}

TEST_F(AppendQueueTest, WhatMayWorkAtOnceIsTriedAgain) {
    AppendQueue queue{store, {}};
    int failures = 2;
    store.fault = [&](std::span<const Append>) -> std::optional<Reaction> {
        if (failures-- > 0) return Reaction::reconnect;
        return std::nullopt;
    };

    EXPECT_EQ(queue.append({item("x")}).front().status, Status::fresh);
}

TEST_F(AppendQueueTest, ALostAnswerIsUnknownAndNothingIsHandedOver) {
    AppendQueue queue{store, {}};
    const auto mailbox = std::make_shared<Mailbox>(100);
    queue.hand_over_to(mailbox);
    store.fault = [](std::span<const Append>) { return Reaction::find_out; };
    const Append sent = item("x");

    const auto results = queue.append({sent});

    EXPECT_EQ(results.front().status, Status::unknown);
    EXPECT_EQ(results.front().id, sent.message->id);
    Letters letters;
    mailbox->take(letters, LocalTime{}, system_clock());
    EXPECT_TRUE(letters.appended.empty());
}

TEST_F(AppendQueueTest, FreshMessagesAreHandedOverWithTheReadsKnownBefore) {
    AppendQueue queue{store, {}};
    const auto mailbox = std::make_shared<Mailbox>(2);
    mailbox->overtaking_reads = 5;
    queue.hand_over_to(mailbox);

    queue.append({item("a", "key")});
    queue.append({item("a", "key")});
    Letters letters;
    mailbox->take(letters, LocalTime{}, system_clock());

    ASSERT_EQ(letters.appended.size(), 1U);
    EXPECT_EQ(letters.appended.front().reads_before, 5U);
    EXPECT_GT(letters.appended.front().sequence, 0);

    // More than the loop may have waiting: the store has them anyway, a wake-up is enough.
    queue.append({item("b"), item("c"), item("d")});
    mailbox->take(letters, LocalTime{}, system_clock());
    EXPECT_TRUE(letters.appended.empty());
    EXPECT_TRUE(letters.wake);
}

TEST_F(AppendQueueTest, BeyondTheLimitACallerIsToldAtOnce) {
    AppendQueue queue{store, {.waiting_max = 3}};
    store.gate = std::make_shared<test::Gate>();
    test::Background first{[&](std::stop_token) { queue.append({item("1")}); }};
    ASSERT_TRUE(store.gate->wait_for_arrivals(1));

    // One is being stored; up to three may wait. Offer more until one is refused.
    std::atomic<int> refused{0};
    std::atomic<int> stored{0};
    test::run_together(8, [&](int) {
        try {
            queue.append({item("x")});
            ++stored;
        } catch (const Overloaded&) {
            if (++refused == 5) store.gate->open();
        }
    });
    first.join();

    EXPECT_EQ(refused, 5);
    EXPECT_EQ(stored, 3);
    EXPECT_EQ(memory->count({}), 4U);
}

TEST_F(AppendQueueTest, WhoeverDoesNotWaitIsAnsweredAfterTheCommit) {
    store.gate = std::make_shared<test::Gate>();
    std::latch answers{100};
    std::atomic<int> fresh{0};
    AppendQueue queue{store, {}};

    for (int i = 0; i < 100; ++i) {
        queue.append({item(std::to_string(i))}, [&](const auto& results, const auto& error) {
            if (!error && results.front().status == Status::fresh) ++fresh;
            answers.count_down();
        });
    }
    ASSERT_TRUE(store.gate->wait_for_arrivals(1));
    EXPECT_EQ(fresh, 0);
    store.gate->open();
    answers.wait();

    EXPECT_EQ(fresh, 100);
    EXPECT_EQ(memory->count({}), 100U);
    EXPECT_LT(store.batches, 100);
}

TEST_F(AppendQueueTest, ThoseWhoWaitAndThoseWhoDoNotShareCommits) {
    std::latch answers{16 * 50};
    std::atomic<int> fresh{0};
    AppendQueue queue{store, {}};

    test::run_together(32, [&](int i) {
        for (int round = 0; round < 50; ++round) {
            if (i % 2 == 0) {
                queue.append({item("x")});
                continue;
            }
            queue.append({item("y")}, [&](const auto& results, const auto&) {
                if (results.front().status == Status::fresh) ++fresh;
                answers.count_down();
            });
        }
    });
    answers.wait();

    EXPECT_EQ(fresh, 16 * 50);
    EXPECT_EQ(memory->count({}), 32U * 50U);
}

TEST_F(AppendQueueTest, AFailureReachesWhoeverDidNotWait) {
    store.fault = [](std::span<const Append> batch) -> std::optional<Reaction> {
        if (has_bad(batch)) return Reaction::bad_data;
        return std::nullopt;
    };
    std::latch answers{2};
    std::atomic<bool> failed{false};
    std::atomic<bool> stored{false};
    AppendQueue queue{store, {}};

    queue.append({item("bad")}, [&](const auto&, const auto& error) {
        failed = error != nullptr;
        answers.count_down();
    });
    queue.append({item("good")}, [&](const auto& results, const auto& error) {
        stored = !error && results.front().status == Status::fresh;
        answers.count_down();
    });
    answers.wait();

    EXPECT_TRUE(failed);
    EXPECT_TRUE(stored);
}

TEST_F(AppendQueueTest, NothingThatWasTakenIsLeftUnansweredAtTheEnd) {
    std::atomic<int> answered{0};
    {
        AppendQueue queue{store, {}};
        for (int i = 0; i < 500; ++i) {
            queue.append({item("x")}, [&](const auto&, const auto&) { ++answered; });
        }
    }
    EXPECT_EQ(answered, 500);
    EXPECT_EQ(memory->count({}), 500U);
}

TEST_F(AppendQueueTest, AFullQueueSaysSoBeforeAnythingIsOffered) {
    store.gate = std::make_shared<test::Gate>();
    std::latch answers{3};
    AppendQueue queue{store, {.waiting_max = 2}};
    const auto answered = [&](const auto&, const auto&) { answers.count_down(); };
    queue.append({item("1")}, answered);
    ASSERT_TRUE(store.gate->wait_for_arrivals(1));

    EXPECT_FALSE(queue.is_full());
    queue.append({item("2")}, answered);
    queue.append({item("3")}, answered);
    EXPECT_TRUE(queue.is_full());
    EXPECT_THROW(queue.append({item("4")}, answered), Overloaded);
    store.gate->open();
    answers.wait();

    EXPECT_FALSE(queue.is_full());
    EXPECT_EQ(memory->count({}), 3U);
}

TEST_F(AppendQueueTest, WithoutAThreadOfItsOwnTheCallerCarriesItOut) {
    AppendQueue queue{store, {.own_thread = false}};
    int answered = 0;

    queue.append({item("1")}, [&](const auto& results, const auto&) {
        answered += results.front().status == Status::fresh ? 1 : 0;
    });

    EXPECT_EQ(answered, 1);
}

}  // namespace
}  // namespace waybill::runtime
