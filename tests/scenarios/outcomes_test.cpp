#include <atomic>
#include <stdexcept>

#include "scenarios/scenario.hpp"

/// What results lead to, in batches and dead letters: T38, T40 … T43, T45, T49.
namespace waybill::test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

WAYBILL_SCENARIOS(Results);

TEST_P(Results, WhatNobodyWillEverHandleIsDeadAtOnceInAllFourBehaviours) {
    Application app{place()};
    std::atomic<int> calls{0};
    const auto bad_body = [&](const Message&) {
        ++calls;
        throw PermanentFailure{"not JSON"};
    };
    const auto bad_batch = [&](Batch batch, BatchContext&) {
        ++calls;
        return BatchOutcomes(batch.size(), Outcome{Fail{.reason = "not JSON", .permanent = true}});
    };
    const BoxOptions free{.lanes = Lanes::none, .unmatched = Unmatched::dead};
    const BoxOptions fifo{.lanes = Lanes::strict, .unmatched = Unmatched::dead};
    app->box("single", free).on("known", "t", bad_body);
    app->box("batched", free).on_batch("known", "t", bad_batch);
    app->box("fifo", fifo).on("known", "t", bad_body);
    app->box("fifo-batched", fifo).on_batch("known", "t", bad_batch);

    for (const std::string box : {"single", "batched", "fifo", "fifo-batched"}) {
        app->append({.box = box, .type = "known", .body = "{", .lane = "l"});
        app->append({.box = box, .type = "unknown", .body = box, .lane = "l"});
    }
    ASSERT_TRUE(app->run_until_idle());

    EXPECT_EQ(calls, 4);
    int unreadable = 0;
    int unmatched = 0;
    for (const auto& dead : app.dead()) {
        unreadable += dead.letter.reason == "not JSON" && dead.message->body == "{";
        unmatched += dead.message->type == "unknown" && !dead.letter.reason.empty();
    }
    EXPECT_EQ(unreadable, 4);
    EXPECT_EQ(unmatched, 4);
    EXPECT_EQ(app.open(), 0U);
}

TEST_P(Results, EachOfAMixedBatchIsApplied) {
    Application app{place()};
    Notes again;
    app->inbox("orders", {.lanes = Lanes::none, .partitions = 1})
        .on_batch("*", "t",
                  [&](Batch batch, BatchContext& context) {
                      BatchOutcomes outcomes;
                      for (std::size_t i = 0; i < batch.size(); ++i) {
                          const std::string& body = batch[i]->body;
                          if (batch.size() < 4) {
                              again.add(body + " " + std::to_string(context.attempt_of(i)));
                              outcomes.emplace_back(Done{});
                          } else if (body == "0") {
                              outcomes.emplace_back(Done{});
                          } else if (body == "1") {
                              outcomes.emplace_back(Fail{"failed"});
                          } else if (body == "2") {
                              outcomes.emplace_back(Defer{1ms});
                          } else {
                              outcomes.emplace_back(Dead{"asked to die"});
                          }
                      }
                      return outcomes;
                  },
                  {.backoff = quick_backoff()});
    app->append(numbered(4));
    app->start();

    ASSERT_TRUE(app.log.wait_for(Kind::finished, 4));

    EXPECT_THAT(again.all(), UnorderedElementsAre("1 2", "2 1"));
    EXPECT_EQ(app.log.count(Kind::failed), 1U);
    EXPECT_EQ(app.log.count(Kind::deferred), 1U);
    const auto letters = app.dead();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].letter.reason, "asked to die");
    EXPECT_EQ(letters[0].message->body, "3");
}

TEST_P(Results, AnEmptyListOfMessagesIsNothing) {
    Application app{place()};
    app->inbox("orders").on("*", "t", [](const Message&) {});

    EXPECT_TRUE(app->append(std::vector<Message>{}).empty());

    ASSERT_TRUE(app->run_until_idle());
    EXPECT_EQ(app.count(Filter::State::any), 0U);
}

TEST_P(Results, AFailedBatchIsRetriedForThoseWithAttemptsLeftAndDeadForTheOthers) {
    Application app{place()};
    app->inbox("orders", {.lanes = Lanes::none, .partitions = 1})
        .on_batch("*", "t",
                  [&](Batch batch, BatchContext& context) -> BatchOutcomes {
                      BatchOutcomes outcomes(batch.size(), Outcome{Fail{"all of you"}});
                      for (std::size_t i = 0; i < batch.size(); ++i) {
                          const bool fresh = batch[i]->body == "fresh";
                          if (fresh && context.attempt_of(i) == 3) outcomes[i] = Done{};
                      }
                      return outcomes;
                  },
                  {.max_attempts = 3, .backoff = quick_backoff()});
    app->append({{.type = "t", .body = "tired"}, {.type = "t", .body = "fresh"}});
    app->start();

    ASSERT_TRUE(app.log.wait_for(Kind::finished, 2));

    const auto letters = app.dead();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].message->body, "tired");
    EXPECT_EQ(letters[0].letter.failures, 3U);
    EXPECT_EQ(app.count(Filter::State::done), 1U);
}

TEST_P(Results, ABatchHandlerGetsFiveInOneCallAndItsExceptionIsAFailureOfEach) {
    Application app{place()};
    std::vector<std::size_t> sizes;
    app->inbox("orders", {.lanes = Lanes::none, .partitions = 1})
        .on_batch("*", "t",
                  [&](Batch batch, BatchContext& context) {
                      sizes.push_back(batch.size());
                      EXPECT_EQ(context.attempt_of(0), 1U);
                      throw std::runtime_error{"the database is away"};
                  },
                  {.backoff = in_an_hour()});
    std::vector<Uuid> ids;
    for (const AppendResult& result : app->append(numbered(5))) ids.push_back(result.id);

    ASSERT_TRUE(app->run_until_idle());

    // All together, and then each alone: whose fault it was. Two calls, one attempt.
    EXPECT_THAT(sizes, ElementsAre(5U, 1U, 1U, 1U, 1U, 1U));
    for (const Uuid& id : ids) {
        EXPECT_EQ(app.progress(id, "t").failures, 1U);
        EXPECT_EQ(app.progress(id, "t").last_error, "the database is away");
    }
}

TEST_P(Results, OnePoisonItemDoesNotKillItsBatchForEver) {
    Application app{place()};
    app->inbox("orders", {.lanes = Lanes::none, .partitions = 1})
        .on_batch("*", "t",
                  [&](Batch batch, BatchContext&) {
                      for (const Message* message : batch) {
                          if (message->body == "2") throw std::runtime_error{"poison"};
                      }
                  },
                  {.max_attempts = 3, .backoff = quick_backoff()});
    app->append(numbered(5));
    app->start();

    ASSERT_TRUE(app.log.wait_for(Kind::finished, 5));

    EXPECT_EQ(app.count(Filter::State::done), 4U);
    const auto letters = app.dead();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].message->body, "2");
}

TEST_P(Results, WhatABatchDoesNotMentionComesAgainAtOnceAndUncounted) {
    Application app{place()};
    Notes unmentioned;
    app->inbox("orders", {.lanes = Lanes::none, .partitions = 1})
        .on_batch("*", "t",
                  [&](Batch batch, BatchContext& context) {
                      BatchOutcomes outcomes(batch.size());
                      // The first call answers for its first message only.
                      outcomes[0] = Done{};
                      for (std::size_t i = 1; i < batch.size(); ++i) {
                          EXPECT_EQ(context.attempt_of(i), 1U);
                          unmentioned.add(batch[i]->body);
                      }
                      return outcomes;
                  },
                  {.max_attempts = 1, .backoff = in_an_hour()});
    app->append(numbered(3));
    app->start();

    ASSERT_TRUE(app.log.wait_for(Kind::finished, 3));
    EXPECT_GE(unmentioned.all().size(), 2U);
    EXPECT_EQ(app.log.count(Kind::failed), 0U);
}

TEST_P(Results, ADeadLetterKeepsItsMessageReasonAttemptsAndTime) {
    Application app{place()};
    app->inbox("orders", {.lanes = Lanes::none})
        .on("*", "t", [](const Message& m) { throw std::runtime_error{"no " + m.body}; },
            {.max_attempts = 2, .backoff = quick_backoff()});
    const StoreTime before = place().now();
    Message message{.type = "order.placed", .source = "shop", .body = "order 1"};
    message.attributes = {{"k", "v"}};
    message.tenant = "acme";
    app->append(message);
    app->start();

    ASSERT_TRUE(app.log.wait_for(Kind::died));
    ASSERT_TRUE(app->wait_idle());

    const auto letters = app.dead();
    ASSERT_EQ(letters.size(), 1U);
    const DeadLetterDetail& dead = letters[0];
    EXPECT_EQ(dead.message->body, "order 1");
    EXPECT_EQ(dead.message->attributes, message.attributes);
    EXPECT_EQ(dead.message->tenant, "acme");
    EXPECT_THAT(dead.letter.reason, HasSubstr("no order 1"));
    EXPECT_EQ(dead.letter.failures, 2U);
    EXPECT_EQ(dead.letter.target, "t");
    EXPECT_GE(dead.letter.at, before);
    // The engine's idea of the store's time is extrapolated: a moment ahead is possible.
    EXPECT_LE(dead.letter.at, place().now() + 5s);
    EXPECT_EQ(app->catalogue().get(dead.message->id)->attempts.size(), 2U);
}

TEST_P(Results, DeadLettersAreReadOldestFirstAndNoMoreThanAsked) {
    Application app{place()};
    app->inbox("orders").on("*", "t", [](const Message&) -> Outcome { return Dead{"no"}; });
    app->append(numbered(5, "lane"));
    ASSERT_TRUE(app->run_until_idle());

    const auto page = app->catalogue().dead_letters({}, {}, 3);
    const auto rest = app->catalogue().dead_letters({}, page.next, 3);

    std::vector<std::string> bodies;
    for (const auto& dead : page.items) bodies.push_back(dead.message->body);
    EXPECT_THAT(bodies, ElementsAre("0", "1", "2"));
    for (const auto& dead : rest.items) bodies.push_back(dead.message->body);
    EXPECT_THAT(bodies, ElementsAre("0", "1", "2", "3", "4"));
    EXPECT_TRUE(rest.next.empty());
}

TEST_P(Results, OnlyWhoAsksForItLosesWhatDies) {
    Application app{place()};
    const auto die = [](const Message&) -> Outcome { return Dead{"no"}; };
    const BoxOptions drop{.keep_done = 0s, .keep_dead = 0s};
    app->inbox("kept").on("*", "t", die);
    app->inbox("dropped", drop).on("*", "t", die);

    const Uuid dropped = app->append({.box = "dropped", .type = "t"}).id;
    const Uuid kept = app->append({.box = "kept", .type = "t"}).id;
    ASSERT_TRUE(app->run_until_idle());
    app->upkeep().sweep(std::vector<BoxDeclaration>{{"kept", {}}, {"dropped", drop}}, 10);

    ASSERT_EQ(app.dead().size(), 1U);
    EXPECT_EQ(app.dead()[0].letter.message, kept);
    EXPECT_FALSE(app->catalogue().get(dropped).has_value());
    EXPECT_EQ(app.open(), 0U);
}

TEST_P(Results, WhatSucceededIsDurableWhileTheNextOneStillFails) {
    Application app{place()};
    app->inbox("orders").on("*", "t",
                            [](const Message& m) {
                                if (m.body == "1") throw std::runtime_error{"second fails"};
                            },
                            {.backoff = in_an_hour()});
    app->append(numbered(2, "lane"));

    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::failed));

    // Before the failure is even recorded: the first was, or the second would not have started.
    EXPECT_EQ(app.count(Filter::State::done), 1U);
}

TEST_P(Results, ARequeuedDeadLetterStartsAtZeroAndRunsAtOnceAndALivingOneIsRefused) {
    Application app{place()};
    std::atomic<bool> mended{false};
    Notes calls;
    app->inbox("orders").on(
        "*", "t",
        [&](const Message&, Context& context) {
            calls.add(std::to_string(context.requeues()) + "/" + std::to_string(context.attempt()));
            if (!mended) throw std::runtime_error{"broken"};
        },
        {.max_attempts = 2, .backoff = quick_backoff()});
    const Uuid id = app->append({.type = "t"}).id;
    app->start();
    ASSERT_TRUE(app.log.wait_for(Kind::finished));
    mended = true;
    const std::vector<DeliveryRef> delivery{{id, "t"}};

    EXPECT_TRUE(app->catalogue().requeue(delivery).front().carried_out);
    ASSERT_TRUE(app.log.wait_for(Kind::finished, 2));
    const OperationResult refused = app->catalogue().requeue(delivery).front();

    EXPECT_FALSE(refused.carried_out);
    EXPECT_THAT(refused.text, HasSubstr("no dead letter"));
    EXPECT_THAT(calls.all(), ElementsAre("0/1", "0/2", "1/1"));
    EXPECT_EQ(app.count(Filter::State::done), 1U);
    EXPECT_EQ(app.count(Filter::State::dead), 0U);
}

}  // namespace waybill::test
