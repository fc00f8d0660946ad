#include "core/engine/ready_queue.hpp"

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

namespace waybill::engine {
namespace {

using testing::ElementsAre;

class ReadyQueueTest : public testing::Test {
protected:
    void push(const std::string& tenant, const std::string& body, std::uint32_t delivery = 0) {
        Work& work = works_.emplace_back();
        work.message = std::make_shared<const Message>(Message{.body = body, .tenant = tenant});
        work.tenanted = !tenant.empty();
        queue.push(work, delivery);
    }
    void push_all(const std::string& tenant, const std::vector<std::string>& bodies) {
        for (const std::string& body : bodies) push(tenant, body);
    }
    static std::string body(const ReadyQueue::Item& item) { return item.work->message->body; }
    std::vector<std::string> pop_all() {
        std::vector<std::string> bodies;
        while (!queue.empty()) bodies.push_back(body(queue.pop()));
        return bodies;
    }
    /// What a batch takes after its first one.
    std::vector<std::string> more(std::size_t at_most) {
        std::vector<std::string> bodies;
        ReadyQueue::Item item;
        while (bodies.size() < at_most && queue.pop_more(item, [](const auto&) { return true; })) {
            bodies.push_back(body(item));
        }
        return bodies;
    }

    ReadyQueue queue;

private:
    std::deque<Work> works_;
};

TEST_F(ReadyQueueTest, ServesOneTenantInOrder) {
    push_all("acme", {"1", "2", "3"});

    EXPECT_EQ(queue.size(), 3U);
    EXPECT_THAT(pop_all(), ElementsAre("1", "2", "3"));
    EXPECT_TRUE(queue.empty());
}

TEST_F(ReadyQueueTest, HandsOutTheDeliveryThatWasPutIn) {
    push("acme", "1", 3);

    EXPECT_EQ(queue.pop().delivery, 3U);
}

TEST_F(ReadyQueueTest, GivesEachTenantOneTurn) {
    push_all("big", {"b1", "b2", "b3", "b4"});
    push_all("small", {"s1"});
    push_all("", {"n1", "n2"});

    EXPECT_THAT(pop_all(), ElementsAre("b1", "s1", "n1", "b2", "n2", "b3", "b4"));
}

TEST_F(ReadyQueueTest, ATenantThatComesBackWaitsForItsTurn) {
    push_all("a", {"a1"});
    push_all("b", {"b1", "b2"});
    EXPECT_EQ(body(queue.pop()), "a1");
    push_all("a", {"a2"});

    EXPECT_THAT(pop_all(), ElementsAre("b1", "a2", "b2"));
}

TEST_F(ReadyQueueTest, ABatchIsFilledFromTheTenantWhoseTurnItIs) {
    push_all("a", {"a1", "a2", "a3"});
    push_all("b", {"b1"});

    EXPECT_EQ(body(queue.pop()), "a1");
    EXPECT_THAT(more(1), ElementsAre("a2"));
    EXPECT_EQ(body(queue.pop()), "b1");
    EXPECT_THAT(more(9), ElementsAre());
    EXPECT_EQ(body(queue.pop()), "a3");
    EXPECT_TRUE(queue.empty());
}

TEST_F(ReadyQueueTest, ABatchStopsAtTheFirstOneItDoesNotLike) {
    push_all("a", {"a1", "other", "a3"});
    queue.pop();
    ReadyQueue::Item item;

    EXPECT_FALSE(queue.pop_more(item, [](const auto& next) { return body(next) != "other"; }));
    EXPECT_EQ(queue.size(), 2U);
    EXPECT_THAT(pop_all(), ElementsAre("other", "a3"));
}

TEST_F(ReadyQueueTest, ATenantEmptiedByABatchLosesNothingThatComesLater) {
    push_all("a", {"a1", "a2"});
    push_all("b", {"b1"});
    queue.pop();
    EXPECT_THAT(more(9), ElementsAre("a2"));

    push_all("a", {"a3"});

    EXPECT_THAT(pop_all(), ElementsAre("b1", "a3"));
}

TEST_F(ReadyQueueTest, NothingIsBeforeTheFirstTurn) {
    push("a", "a1");
    ReadyQueue::Item item;

    EXPECT_FALSE(queue.pop_more(item, [](const auto&) { return true; }));
}

/// What the heap holds for `queue` alone; nothing under a sanitizer, which has a heap of its own.
std::size_t held_by(std::unique_ptr<ReadyQueue> queue) {
    const auto heap = [] {
        const struct mallinfo2 info = mallinfo2();
        return info.uordblks + info.hblkhd;
    };
    const std::size_t with = heap();
    queue.reset();
    return with - heap();
}

TEST(ReadyQueue, ManyTenantsThatComeAndGoAreForgotten) {
    auto queue = std::make_unique<ReadyQueue>();
    for (int tenant = 0; tenant < 25'000; ++tenant) {
        Work work;
        work.message = std::make_shared<const Message>(Message{.tenant = std::to_string(tenant)});
        work.tenanted = true;
        queue->push(work, 0);
        queue->pop();
    }

    EXPECT_LE(held_by(std::move(queue)), 2U << 20);
}

TEST(ReadyQueue, TenantsThatABatchEmptiedAreForgottenToo) {
    auto queue = std::make_unique<ReadyQueue>();
    for (int tenant = 0; tenant < 25'000; ++tenant) {
        Work work;
        work.message = std::make_shared<const Message>(Message{.tenant = std::to_string(tenant)});
        work.tenanted = true;
        queue->push(work, 0);
        queue->push(work, 1);
        ReadyQueue::Item item = queue->pop();
        ASSERT_TRUE(queue->pop_more(item, [](const auto&) { return true; }));
    }

    EXPECT_LE(held_by(std::move(queue)), 2U << 20);
}

TEST_F(ReadyQueueTest, ATenantInABatchIsNotForgottenMeanwhile) {
    for (int tenant = 0; tenant < 3'000; ++tenant) {
        push_all(std::to_string(tenant), {"1", "2", "3"});
    }

    std::size_t served = 0;
    while (!queue.empty()) {
        queue.pop();
        served += 1 + more(1).size();
    }

    EXPECT_EQ(served, 9'000U);
}

}  // namespace
}  // namespace waybill::engine
