#include <atomic>
#include <stdexcept>

#include "scenarios/scenario.hpp"

/// Lanes: T61 … T64, T66 … T69.
namespace waybill::test {

using testing::ElementsAre;

/// What ran in each lane, in order.
class Ordering : public Scenario {
protected:
    void note(const Message& message) {
        const std::lock_guard lock{mutex_};
        lanes_[message.lane].push_back(message.body);
    }
    std::map<std::string, std::vector<std::string>> lanes() {
        const std::lock_guard lock{mutex_};
        return lanes_;
    }
    static std::vector<std::string> up_to(int count) {
        std::vector<std::string> bodies;
        for (int i = 0; i < count; ++i) bodies.push_back(std::to_string(i));
        return bodies;
    }

private:
    std::mutex mutex_;  ///< guards lanes_
    std::map<std::string, std::vector<std::string>> lanes_;
};
INSTANTIATE_TEST_SUITE_P(Stores, Ordering, testing::ValuesIn(places()),
                         [](const auto& test) { return test.param.name; });

TEST_P(Ordering, EachLaneIsHandledInTheOrderOfItsWrites) {
    Application app{place()};
    app->inbox("orders").on("*", "t", [this](const Message& m) { note(m); });
    app->start();
    app->append(numbered(50, "alone"));

    for (int i = 0; i < 20; ++i) {
        std::vector<Message> shuffled;
        for (int lane = 0; lane < 5; ++lane) {
            shuffled.push_back({.type = "t",
                                .body = std::to_string(i),
                                .lane = "lane " + std::to_string((lane * 3 + i) % 5)});
        }
        app->append(shuffled);
    }

    ASSERT_TRUE(app.log.wait_for(Kind::finished, 150));
    auto seen = lanes();
    EXPECT_EQ(seen.size(), 6U);
    EXPECT_EQ(seen["alone"], up_to(50));
    seen.erase("alone");
    for (const auto& [lane, bodies] : seen) EXPECT_EQ(bodies, up_to(20)) << lane;
}

TEST_P(Ordering, BehindARunningHeadNothingOfItsLaneStarts) {
    Application app{place()};
    const auto gate = std::make_shared<Gate>();
    app->inbox("orders").on("*", "t", [this, gate](const Message& m) {
        note(m);
        if (m.lane == "held" && m.body == "0") gate->pass();
    });
    app->start();
    app->append(numbered(3, "held"));
    ASSERT_TRUE(gate->wait_for_arrivals(1));
    app->append(numbered(3, "free"));
    ASSERT_TRUE(app.log.wait_for(Kind::finished, 3));

    EXPECT_EQ(lanes()["held"], up_to(1));
    gate->open();

    ASSERT_TRUE(app.log.wait_for(Kind::finished, 6));
    EXPECT_EQ(lanes()["held"], up_to(3));
}

TEST_P(Ordering, LanesRunBesideEachOther) {
    constexpr std::size_t kLanes = 8;
    Application app{place()};
    const auto gate = std::make_shared<Gate>();
    app->inbox("orders").on("*", "t", [gate](const Message&) { gate->pass(); });
    app->start();

    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        app->append(numbered(2, "lane " + std::to_string(lane)));
    }

    // All heads are inside their handler at the same time.
    EXPECT_TRUE(gate->wait_for_arrivals(kLanes));
    EXPECT_EQ(gate->arrived(), kLanes);
    gate->open();
    EXPECT_TRUE(app.log.wait_for(Kind::finished, kLanes * 2));
}

TEST_P(Ordering, AStrictHeadThatFailsTwiceIsNotOvertakenAndAnExclusiveOneIs) {
    Application app{place()};
    const auto handler = [this](const Message& m, Context& context) {
        note(m);
        if (m.body == "0" && context.attempt() < 3) throw std::runtime_error{"twice"};
    };
    // An exclusive head comes back when its successors are through.
    const auto exclusive_handler = [this](const Message& m, Context& context) {
        note(m);
        if (m.body == "0" && context.attempt() == 1) throw std::runtime_error{"once"};
    };
    app->inbox("strict").on("*", "t", handler, {.backoff = quick_backoff()});
    app->inbox("exclusive", {.lanes = Lanes::exclusive})
        .on("*", "t", exclusive_handler, {.backoff = in_an_hour()});
    for (const std::string box : {"strict", "exclusive"}) {
        std::vector<Message> messages = numbered(3, box);
        for (Message& message : messages) message.box = box;
        app->append(std::move(messages));
    }
    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::finished, 5));
    place().advance(1h);
    ASSERT_TRUE(app.log.wait_for(Kind::finished, 6));

    EXPECT_THAT(lanes()["strict"], ElementsAre("0", "0", "0", "1", "2"));
    EXPECT_THAT(lanes()["exclusive"], ElementsAre("0", "1", "2", "0"));
}

TEST_P(Ordering, TenThousandInOneWriteAndThenSinglesStayInOrder) {
    constexpr int kBatch = 10'000;
    Application app{place()};
    std::atomic<int> next{0};
    std::atomic<bool> in_order{true};
    app->inbox("orders").on_batch("*", "t", [&](Batch batch, BatchContext&) {
        for (const Message* message : batch) {
            if (message->body != std::to_string(next++)) in_order = false;
        }
    });
    app->append(numbered(kBatch, "lane"));
    app->start();

    for (int i = kBatch; i < kBatch + 20; ++i) {
        app->append({.type = "t", .body = std::to_string(i), .lane = "lane"});
    }

    ASSERT_TRUE(app.log.wait_for(Kind::finished, kBatch + 20, long_patience));
    EXPECT_TRUE(in_order);
    EXPECT_EQ(next, kBatch + 20);
}

TEST_P(Ordering, AfterADeadHeadALaneAdvancesUnlessItIsToldToHalt) {
    Application app{place()};
    std::atomic<bool> mended{false};
    const auto handler = [this, &mended](const Message& m) -> Outcome {
        note(m);
        if (m.body == "0" && !mended) return Dead{"bad"};
        return Done{};
    };
    const BoxOptions halt{.on_dead = OnDead::halt};
    app->inbox("advance").on("*", "t", handler);
    app->inbox("requeued", halt).on("*", "t", handler);
    app->inbox("skipped", halt).on("*", "t", handler);
    std::map<std::string, AppendResult> heads;
    for (const std::string box : {"advance", "requeued", "skipped"}) {
        std::vector<Message> messages = numbered(3, box);
        for (Message& message : messages) message.box = box;
        heads[box] = app->append(std::move(messages)).front();
    }
    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::halted, 2));
    ASSERT_TRUE(app.log.wait_for(Kind::finished, 3));
    ASSERT_TRUE(app->wait_idle());
    EXPECT_EQ(lanes()["advance"], up_to(3));
    EXPECT_EQ(lanes()["requeued"], up_to(1));
    EXPECT_EQ(lanes()["skipped"], up_to(1));

    mended = true;
    app->catalogue().requeue(std::vector<DeliveryRef>{{heads["requeued"].id, "t"}});
    app->catalogue().command({.kind = Command::Kind::skip, .sequence = heads["skipped"].sequence});

    ASSERT_TRUE(app.log.wait_for(Kind::finished, 9));
    EXPECT_THAT(lanes()["requeued"], ElementsAre("0", "0", "1", "2"));
    EXPECT_THAT(lanes()["skipped"], ElementsAre("0", "1", "2"));
    // The skipped head stays a dead letter, and so does the one its lane went past.
    EXPECT_EQ(app.count(Filter::State::dead), 2U);
}

TEST_P(Ordering, BatchesOfALaneAreRunsOfOneType) {
    Application app{place()};
    Notes batches;
    app->inbox("orders").on_batch("*", "t", [&](Batch batch, BatchContext&) {
        std::string bodies = batch.front()->type + ":";
        for (const Message* message : batch) bodies += " " + message->body;
        batches.add(bodies);
    });
    int number = 0;
    std::vector<Message> messages;
    for (const std::string type : {"A", "A", "B", "A"}) {
        messages.push_back({.type = type, .body = std::to_string(++number), .lane = "lane"});
    }
    app->append(std::move(messages));

    ASSERT_TRUE(app->run_until_idle());

    EXPECT_THAT(batches.all(), ElementsAre("A: 1 2", "B: 3", "A: 4"));
}

TEST_P(Ordering, TenThousandBehindABlockedHeadCostAFreeLaneNothing) {
    constexpr int kBlocked = 10'000;
    Application app{place()};
    std::atomic<bool> blocked{true};
    std::atomic<int> handled{0};
    app->inbox("orders").on_batch("*", "t",
                                  [&](Batch batch, BatchContext&) {
                                      if (batch.front()->lane == "blocked" && blocked) {
                                          throw std::runtime_error{"not yet"};
                                      }
                                      handled += static_cast<int>(batch.size());
                                  },
                                  {.backoff = in_an_hour()});
    app->append(numbered(kBlocked, "blocked"));
    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::failed));

    app->append(numbered(10, "free"));
    ASSERT_TRUE(app.log.wait_for(Kind::finished, 10));
    EXPECT_EQ(handled, 10);

    blocked = false;
    place().advance(1h);
    EXPECT_TRUE(app.log.wait_for(Kind::finished, kBlocked + 10, long_patience));
}

}  // namespace waybill::test
