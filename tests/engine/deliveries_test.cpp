#include <algorithm>

#include "engine/fixture.hpp"

namespace waybill::test {

using Starts = std::vector<std::string>;

TEST_F(EngineTest, OnlyTheFailedTargetRunsAgain) {
    Stepper& engine = run(a_box("orders", {}, {"a", "b"}));
    script["b:1"] = {Fail{"no"}};

    engine.append({message("1")});
    engine.run_for(1min);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "b:1", "b:1"}));
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(EngineTest, AfterItsLastAttemptADeliveryIsADeadLetterWithItsReason) {
    engine::LocalBox box = a_box("orders", {}, {"a"});
    box.targets[0].options.retry.max_attempts = 3;
    Stepper& engine = run(box);
    script["a:1"] = {Fail{"x"}, Fail{"y"}, Fail{"z"}};

    engine.append({message("1")});
    engine.run_for(1h);

    const auto letters = store->dead_letters({}, {}, 10).items;
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].letter.reason, "failed 3 times: z");
    EXPECT_EQ(letters[0].letter.failures, 3U);
    EXPECT_EQ(engine.starts().size(), 3U);
}

TEST_F(EngineTest, APermanentFailureIsDeadAtOnce) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    script["a:1"] = {Fail{.reason = "undecodable", .permanent = true}};

    engine.append({message("1")});
    engine.run_for(1s);

    EXPECT_EQ(dead_letters(), 1U);
}

TEST_F(EngineTest, ADeferredDeliveryIsNotCounted) {
    engine::LocalBox box = a_box("orders", {}, {"a"});
    box.targets[0].options.retry.max_attempts = 1;
    Stepper& engine = run(box);
    script["a:1"] = {Defer{1s}, Defer{1s}, Defer{1s}};

    engine.append({message("1")});
    engine.run_for(10s);

    EXPECT_EQ(engine.starts().size(), 4U);
    EXPECT_EQ(dead_letters(), 0U);
}

TEST_F(EngineTest, ABlockedSuccessorDiesWithItsPredecessorAndIsRevivedWithIt) {
    engine::LocalBox box = a_box("orders", {}, {"a", "b", "c"});
    box.targets[1].target.after = "a";
    box.targets[2].target.after = "b";
    Stepper& engine = run(box);
    script["a:1"] = {Dead{"bad"}};
    const auto results = engine.append({message("1")});
    engine.run_for(1s);
    ASSERT_EQ(dead_letters(), 3U);

    const DeliveryRef dead{results[0].id, "a"};
    store->requeue(std::span{&dead, 1});
    engine.run_for(5s);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:1", "b:1", "c:1"}));
    EXPECT_EQ(dead_letters(), 0U);
}

TEST_F(EngineTest, ASuccessorThatGoesOnRunsAfterADeadPredecessor) {
    engine::LocalBox box = a_box("orders", {}, {"a", "b"});
    box.targets[1].target.after = "a";
    box.targets[1].target.after_dead = AfterDead::go_on;
    Stepper& engine = run(box);
    script["a:1"] = {Dead{"bad"}};

    engine.append({message("1")});
    engine.run_for(1s);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "b:1"}));
    EXPECT_EQ(dead_letters(), 1U);
}

TEST_F(EngineTest, AnUnmatchedMessageIsParkedUntilATargetAppears) {
    engine::LocalBox box = a_box("orders", {}, {"a"});
    box.targets[0].target.matcher.type = "other";
    run(box).append({message("1", "L"), message("2", "L")});
    stepper->run_for(1s);
    EXPECT_EQ(stepper->count(Event::Kind::parked), 2U);
    EXPECT_EQ(store->count({.state = Filter::State::parked}), 2U);
    stepper->stop();

    Stepper& next = run(a_box("orders", {}, {"b"}));
    next.run_for(1s);

    EXPECT_EQ(next.starts(), (Starts{"b:1", "b:2"}));
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(EngineTest, AMessageIsNotDoneWhileARegisteredTargetHasNoCodeHere) {
    run(a_box("orders", {}, {"a", "b"}));
    stepper->stop();

    Stepper& old = run(a_box("orders", {}, {"a"}));
    old.append({message("1")});
    old.run_for(1s);
    EXPECT_EQ(old.starts(), (Starts{"a:1"}));
    EXPECT_EQ(open_messages(), 1U);
    old.stop();

    Stepper& fresh = run(a_box("orders", {}, {"a", "b"}));
    fresh.run_for(1s);
    EXPECT_EQ(fresh.starts(), (Starts{"b:1"}));
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(EngineTest, AForgottenTargetHoldsNothingBack) {
    run(a_box("orders", {}, {"a", "b"}));
    stepper->stop();
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    engine.append({message("1")});
    engine.run_for(1s);
    ASSERT_EQ(open_messages(), 1U);

    store->forget_target("orders", "b");
    engine.run_for(3s);

    EXPECT_EQ(open_messages(), 0U);
}

/// Its only target goes and comes back, as after a failover that lost the registration.
TEST_F(EngineTest, AMessageIsParkedWhenTheOnlyTargetItWaitsForIsForgotten) {
    engine::LocalBox box = a_box("orders", {.unmatched = Unmatched::park}, {"a", "b"});
    box.targets[0].target.matcher.type = "other";
    Stepper& engine = run(box);
    Message later = message("1", "L");
    later.not_before = clock.wall() + 10s;
    engine.append({later});
    engine.run_for(1s);

    store->forget_target("orders", "b");
    engine.run_for(3s);
    EXPECT_EQ(engine.count(Event::Kind::parked), 1U);
    EXPECT_EQ(engine.count(Event::Kind::finished), 0U);

    declare(box);
    engine.run_for(20s);
    EXPECT_EQ(engine.starts(), (Starts{"b:1"}));
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(EngineTest, ATargetThatIsRegisteredAgainGetsWhatWaitsInMemoryAndKeepsItsFailures) {
    engine::LocalBox box = a_box("orders", {}, {"a", "b"});
    box.targets[1].options.retry = {.max_attempts = 2,
                                    .backoff = {.base = 5s, .cap = 5s, .jitter = Jitter::none()}};
    hold = {"a:1"};
    script["b:1"] = {Fail{"no"}, Fail{"no"}};
    Stepper& engine = run(box);
    engine.append({message("1", "L")});
    engine.run_for(100ms);
    ASSERT_EQ(engine.held().size(), 1U);

    store->forget_target("orders", "b");
    engine.run_for(2s);
    declare(box);
    engine.run_for(2s);
    engine.finish_held(engine.held()[0].id, Done{});
    engine.run_for(10s);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "b:1", "b:1"}));
    EXPECT_EQ(open_messages(), 0U);
    EXPECT_EQ(dead_letters(), 1U) << "two in all";
}

TEST_F(EngineTest, WhatAForgottenTargetHasDoneIsNotCollapsed) {
    Message first = message("1", "L");
    first.collapse_key = "k";
    script["a:1"] = {Fail{"not now"}};
    run(a_box("orders", {}, {"a", "b"})).append({first});
    stepper->run_for(100ms);
    stepper->stop();
    store->forget_target("orders", "b");

    engine::LocalBox without = a_box("orders", {}, {"a"});
    without.targets[0].options.retry.backoff = {.base = 1h, .cap = 1h};
    Stepper& next = run(without);
    Message second = first;
    second.body = "2";
    next.append({second});
    next.run_for(2h);

    EXPECT_EQ(next.count(Event::Kind::collapsed), 0U);
    EXPECT_EQ(next.starts(), (Starts{"a:1", "a:2"}));
}

TEST_F(EngineTest, ANewTargetThatIsRevivedWithItsPredecessorLeavesNoDeadLetter) {
    const BoxOptions halting{.on_dead = OnDead::halt};
    script["a:1"] = {Dead{"bad"}};
    const auto results = run(a_box("orders", halting, {"a"})).append({message("1", "L")});
    stepper->run_for(1s);
    stepper->stop();

    engine::LocalBox with_successor = a_box("orders", halting, {"a", "late"});
    with_successor.targets[1].target.after = "a";
    Stepper& next = run(with_successor);
    const DeliveryRef dead{results[0].id, "a"};
    ASSERT_TRUE(store->requeue(std::span{&dead, 1})[0].carried_out);
    next.run_for(5s);

    EXPECT_EQ(next.starts(), (Starts{"a:1", "late:1"}));
    EXPECT_EQ(dead_letters(), 0U);
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(EngineTest, SuccessUnderALegacyKeyCountsForTheNewOne) {
    script["b:1"] = {Fail{"no"}};
    run(a_box("orders", {}, {"old", "b"})).append({message("1")});
    stepper->run_for(100ms);
    stepper->stop();

    engine::LocalBox renamed = a_box("orders", {}, {"new", "b"});
    renamed.targets[0].target.legacy_keys = {"old"};
    Stepper& next = run(renamed);
    next.run_for(1min);

    EXPECT_EQ(next.starts(), (Starts{"b:1"}));
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(EngineTest, TheYoungestOfACollapseKeyReplacesTheOlderOnes) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    std::vector<Message> versions;
    for (int i = 1; i <= 3; ++i) {
        versions.push_back(message(std::to_string(i), "k"));
        versions.back().collapse_key = "k";
    }
    hold = {"a:1"};

    engine.append({versions[0]});
    engine.append({versions[1], versions[2]});
    engine.finish_held(engine.held().front().id, Done{});
    engine.run_for(1s);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:3"}));
    EXPECT_EQ(engine.count(Event::Kind::collapsed), 1U);
}

TEST_F(EngineTest, AFailedOlderVersionIsNotRetriedOverAYoungerOne) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    std::vector<Message> versions{message("1", "k"), message("2", "k")};
    versions[0].collapse_key = versions[1].collapse_key = "k";
    hold = {"a:1"};

    engine.append({versions[0]});
    engine.append({versions[1]});
    engine.finish_held(engine.held().front().id, Fail{"no"});
    engine.run_for(1min);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:2"}));
}

TEST_F(EngineTest, ABatchHoldsOneTypeAndAFailedItemGoesAlone) {
    engine::LocalBox box = a_box("orders", {}, {"a"});
    box.targets[0].options.calls = Calls::batch;
    Stepper& engine = run(box);
    script["a:2"] = {Fail{"no"}};

    engine.append({message("1"), message("2"), message("3", {}, "u"), message("4")});
    engine.run_for(1min);

    ASSERT_EQ(engine.starts().size(), 5U);
    EXPECT_EQ(engine.batches().back(), 1U);
    EXPECT_EQ(engine.starts().back(), "a:2");
}

TEST_F(EngineTest, ATimedOutRunCountsAsFailedAndHoldsItsLaneUntilItReturns) {
    engine::LocalBox box = a_box("orders", {}, {"a"});
    box.targets[0].options.timeout = 1s;
    box.targets[0].options.retry.max_attempts = 1;
    Stepper& engine = run(box);
    hold = {"a:1"};

    engine.append({message("1", "L"), message("2", "L")});
    engine.run_for(10s);
    EXPECT_EQ(dead_letters(), 1U);
    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));

    engine.finish_held(engine.held().front().id, Done{});
    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:2"}));
    EXPECT_EQ(dead_letters(), 1U);
}

TEST_F(EngineTest, TooManyAbandonedRunsMakeItResign) {
    engine::Config with;
    with.boxes = {a_box("orders", {}, {"a"})};
    with.boxes[0].targets[0].options.timeout = 1s;
    with.options.abandoned_max = 2;
    Stepper& engine = run(with);
    hold = {"a:1", "a:2", "a:3"};

    engine.append({message("1"), message("2"), message("3")});
    engine.run_for(10s);

    EXPECT_TRUE(engine.engine().status().resigned);
    EXPECT_FALSE(engine.engine().status().ready);
    EXPECT_EQ(engine.count(Event::Kind::given), 0U);
}

TEST_F(EngineTest, StoppingIsNotAFailure) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    hold = {"a:1"};
    const auto results = engine.append({message("1"), message("2")});

    engine.stop();
    EXPECT_FALSE(engine.engine().is_stopped());
    engine.finish_held(engine.held().front().id, Fail{"cancelled"});
    engine.run_for(1s);

    EXPECT_TRUE(engine.engine().is_stopped());
    EXPECT_TRUE(store->get(results[0].id)->open.front().progress.empty());
}

TEST_F(EngineTest, CancelEndsWhatIsOpen) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    script["a:1"] = {Fail{"no"}};
    const auto results = engine.append({message("1")});
    engine.run_for(100ms);

    const std::uint64_t id =
        store->command({.kind = Command::Kind::cancel, .message = results[0].id});
    engine.run_for(3s);

    ASSERT_TRUE(store->command_result(id).has_value());
    EXPECT_TRUE(store->command_result(id)->carried_out);
    EXPECT_EQ(open_messages(), 0U);
    EXPECT_EQ(store->dead_letters({}, {}, 1).items.at(0).letter.reason, "cancelled by an operator");
}

TEST_F(EngineTest, CancellingADeadHeadLetsItsHaltedLaneGoOn) {
    script["a:1"] = {Dead{"bad"}};
    Stepper& engine = run(a_box("orders", {.on_dead = OnDead::halt}, {"a"}));
    const auto results = engine.append({message("1", "L"), message("2", "L")});
    engine.run_for(1s);

    const std::uint64_t id =
        store->command({.kind = Command::Kind::cancel, .message = results[0].id});
    engine.run_for(3s);

    ASSERT_TRUE(store->command_result(id).has_value());
    EXPECT_TRUE(store->command_result(id)->carried_out);
    EXPECT_EQ(store->command_result(id)->text, "skipped; its dead letter stays");
    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:2"}));
    EXPECT_EQ(engine.count(Event::Kind::died), 1U) << "it did not die again";
}

TEST_F(EngineTest, APausedBoxStartsNothing) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    store->pause_box("orders", true);
    engine.run_for(2s);

    engine.append({message("1")});
    engine.run_for(5s);
    EXPECT_EQ(engine.starts(), Starts{});

    store->pause_box("orders", false);
    engine.run_for(2s);
    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
}

TEST_F(EngineTest, ConcurrencyOfTheTargetIsKept) {
    engine::LocalBox box = a_box("orders", {}, {"a"});
    box.targets[0].options.concurrency = 2;
    Stepper& engine = run(box);
    hold = {"a:1", "a:2", "a:3"};

    engine.append({message("1"), message("2"), message("3")});

    EXPECT_EQ(engine.held().size(), 2U);
}

TEST_F(EngineTest, TheRateOfATargetIsKept) {
    engine::LocalBox box = a_box("orders", {}, {"a"});
    box.targets[0].options.rate = 10;
    Stepper& engine = run(box);
    std::vector<Message> messages;
    for (int i = 0; i < 100; ++i) {
        messages.push_back(message(std::to_string(i)));
    }

    engine.append(messages);
    engine.run_for(2s);

    EXPECT_GE(engine.starts().size(), 20U);
    EXPECT_LE(engine.starts().size(), 23U);
}

TEST_F(EngineTest, ATenantWithManyMessagesGetsOneTurnLikeTheOthers) {
    engine::Config with;
    with.boxes = {a_box("orders", {.concurrency = 1}, {"a"})};
    Stepper& engine = run(with);
    std::vector<Message> messages;
    for (int i = 0; i < 20; ++i) {
        messages.push_back(message("big" + std::to_string(i)));
        messages.back().tenant = "big";
    }
    messages.push_back(message("small"));
    messages.back().tenant = "small";
    hold = {"a:big0"};

    engine.append(messages);
    engine.finish_held(engine.held().front().id, Done{});
    engine.run_for(1s);

    const auto small = std::ranges::find(engine.starts(), "a:small") - engine.starts().begin();
    EXPECT_LE(small, 2);
}

TEST_F(EngineTest, AnInlineRunThatCollidesForAMinuteIsTriedAboutOnceASecondAndNotCounted) {
    engine::LocalBox box = a_box("orders", {}, {"a"});
    box.targets[0].options.calls = Calls::inline_single;
    Stepper& engine = run(box);
    hold_all = "a";
    engine.append({message("1")});

    std::size_t runs = 0;
    for (const LocalTime end = clock.now() + 1min; clock.now() < end;) {
        if (engine.held().empty()) {
            engine.run_for(1ms);
        } else {
            engine.give_back_held(engine.held().front().id);
            ++runs;
        }
    }

    EXPECT_GT(runs, 50U);
    EXPECT_LT(runs, 90U);
    EXPECT_EQ(engine.count(Event::Kind::failed), 0U);
    while (engine.held().empty()) engine.run_for(1ms);
    EXPECT_EQ(engine.held().front().items.front().attempt, 1U);
    // One that gets through is as patient as a new one.
    engine.finish_held(engine.held().front().id, Fail{"no"});
    while (engine.held().empty()) engine.run_for(1ms);
    engine.give_back_held(engine.held().front().id);
    engine.run_for(20ms);
    EXPECT_EQ(engine.held().size(), 1U);
}

}  // namespace waybill::test
