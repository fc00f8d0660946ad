#include "engine/fixture.hpp"

namespace waybill::test {

using Starts = std::vector<std::string>;

TEST_F(EngineTest, AStrictLaneWaitsForItsHeadThroughBackOff) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    script["a:1"] = {Fail{"no"}, Fail{"no"}};

    engine.append({message("1", "L"), message("2", "L"), message("3", "L")});
    engine.run_for(1min);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:1", "a:1", "a:2", "a:3"}));
}

TEST_F(EngineTest, AnExclusiveLaneIsOvertakenWhileItsHeadBacksOff) {
    Stepper& engine = run(a_box("orders", {.lanes = Lanes::exclusive}, {"a"}));
    script["a:1"] = {Fail{"no"}};

    engine.append({message("1", "L"), message("2", "L"), message("3", "L")});
    engine.run_for(1min);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:2", "a:3", "a:1"}));
}

TEST_F(EngineTest, AnExclusiveLaneHasOneInFlight) {
    Stepper& engine = run(a_box("orders", {.lanes = Lanes::exclusive}, {"a"}));
    hold = {"a:1"};

    engine.append({message("1", "L"), message("2", "L")});
    engine.run_for(1s);

    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
    engine.finish_held(engine.held().front().id, Done{});
    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:2"}));
}

TEST_F(EngineTest, OtherLanesDoNotWait) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    script["a:1"] = {Fail{"no"}};

    engine.append({message("1", "L"), message("2", "L"), message("3", "M")});
    engine.run_for(10ms);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:3"}));
}

TEST_F(EngineTest, IndependentTargetsKeepTheirOwnOrder) {
    Stepper& engine = run(a_box("orders", {}, {"a", "b"}));
    script["a:1"] = {Fail{"no"}};

    engine.append({message("1", "L"), message("2", "L")});
    engine.run_for(1s);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "b:1", "b:2"}));
}

TEST_F(EngineTest, AChainSharesOneOrder) {
    engine::LocalBox box = a_box("orders", {}, {"a", "b"});
    box.targets[1].target.after = "a";
    Stepper& engine = run(box);
    script["b:1"] = {Fail{"no"}};

    engine.append({message("1", "L"), message("2", "L")});
    engine.run_for(1min);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "b:1", "b:1", "a:2", "b:2"}));
}

TEST_F(EngineTest, ADeadHeadLetsItsLaneAdvance) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    script["a:1"] = {Dead{"bad"}};

    engine.append({message("1", "L"), message("2", "L")});
    engine.run_for(1s);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:2"}));
    EXPECT_EQ(dead_letters(), 1U);
}

TEST_F(EngineTest, ADeadHeadHaltsItsLaneUntilRequeued) {
    Stepper& engine = run(a_box("orders", {.on_dead = OnDead::halt}, {"a"}));
    script["a:1"] = {Dead{"bad"}};
    const auto results = engine.append({message("1", "L"), message("2", "L"), message("3", "M")});
    engine.run_for(10min);
    ASSERT_EQ(engine.starts(), (Starts{"a:1", "a:3"}));

    const DeliveryRef dead{results[0].id, "a"};
    ASSERT_TRUE(store->requeue(std::span{&dead, 1})[0].carried_out);
    engine.run_for(5s);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:3", "a:1", "a:2"}));
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(EngineTest, AHaltedLaneGoesOnWhenItsHeadIsSkipped) {
    Stepper& engine = run(a_box("orders", {.on_dead = OnDead::halt}, {"a"}));
    script["a:1"] = {Dead{"bad"}};
    const auto results = engine.append({message("1", "L"), message("2", "L")});
    engine.run_for(1s);

    const std::uint64_t id =
        store->command({.kind = Command::Kind::skip, .sequence = results[0].sequence});
    engine.run_for(5s);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:2"}));
    ASSERT_TRUE(store->command_result(id).has_value());
    EXPECT_TRUE(store->command_result(id)->carried_out);
    EXPECT_EQ(dead_letters(), 1U);
}

TEST_F(EngineTest, AHaltIsRememberedByTheNextOwner) {
    script["a:1"] = {Dead{"bad"}};
    run(a_box("orders", {.on_dead = OnDead::halt}, {"a"}))
        .append({message("1", "L"), message("2", "L")});
    stepper->run_for(1s);
    stepper->stop();

    Stepper& next = run(a_box("orders", {.on_dead = OnDead::halt}, {"a"}));
    next.append({message("3", "L")});
    next.run_for(1min);

    EXPECT_EQ(next.count(Event::Kind::scanned), 1U);
    EXPECT_EQ(next.starts(), Starts{});
}

TEST_F(EngineTest, AScheduledMessageEntersItsLaneWhenItsTimeHasCome) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    Message later = message("1", "L");
    later.not_before = clock.wall() + 1h;

    engine.append({later, message("2", "L")});
    engine.run_for(59min);
    EXPECT_EQ(engine.starts(), (Starts{"a:2"}));

    engine.run_for(2min);
    EXPECT_EQ(engine.starts(), (Starts{"a:2", "a:1"}));
}

TEST_F(EngineTest, ALaneLongerThanMemoryKeepsIsReadOnInOrder) {
    engine::Config with;
    with.boxes = {a_box("orders", {}, {"a"})};
    with.options.lane_rows = 4;
    with.options.window_bytes = 64 << 10;
    Stepper& engine = run(with);
    hold = {"a:0"};
    std::vector<Message> messages;
    Starts expected;
    for (int i = 0; i < 500; ++i) {
        messages.push_back(message(std::to_string(i), "L"));
        expected.push_back("a:" + std::to_string(i));
    }

    engine.append(messages);
    EXPECT_LE(engine.engine().status().window_used, with.options.window_bytes / 4 * 3);
    engine.finish_held(engine.held().front().id, Done{});
    engine.run_for(1s);

    EXPECT_EQ(engine.starts(), expected);
}

/// A store may have to find out first what is in a lane, and says so: nothing yet, and there is more.
TEST_F(EngineTest, ALaneIsReadOnWhenTheStoreSaidThatItComesLater) {
    engine::Config with;
    with.boxes = {a_box("orders", {}, {"a"})};
    with.options.lane_rows = 4;
    with.options.window_bytes = 64 << 10;
    Stepper& engine = run(with);
    hold = {"a:0"};
    int not_yet = 10;
    engine.after_read = [&](const ReadRequest& request, ReadPage& page) {
        if (request.kind != ReadRequest::Kind::lanes || not_yet == 0) return;
        --not_yet;
        page.entries.clear();
        page.more = true;
    };
    std::vector<Message> messages;
    Starts expected;
    for (int i = 0; i < 500; ++i) {
        messages.push_back(message(std::to_string(i), "L"));
        expected.push_back("a:" + std::to_string(i));
    }

    engine.append(messages);
    engine.finish_held(engine.held().front().id, Done{});
    engine.run_for(1s);

    EXPECT_EQ(not_yet, 0);
    EXPECT_EQ(engine.starts(), expected);
}

TEST_F(EngineTest, BatchesOfALaneAreRunsOfEqualType) {
    engine::LocalBox box = a_box("orders", {}, {"a"});
    box.targets[0].options.calls = Calls::batch;
    Stepper& engine = run(box);

    engine.append({message("1", "L", "A"), message("2", "L", "A"), message("3", "L", "B"),
                   message("4", "L", "A")});
    engine.run_for(1s);

    EXPECT_EQ(engine.batches(), (std::vector<std::size_t>{2, 1, 1}));
    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:2", "a:3", "a:4"}));
}

TEST_F(EngineTest, AFailureInsideABatchKeepsTheLaneInOrder) {
    engine::LocalBox box = a_box("orders", {}, {"a"});
    box.targets[0].options.calls = Calls::batch;
    Stepper& engine = run(box);
    script["a:1"] = {Fail{"no"}};

    engine.append({message("1", "L"), message("2", "L"), message("3", "L")});
    engine.run_for(1min);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:2", "a:3", "a:1", "a:2", "a:3"}));
    EXPECT_EQ(engine.count(Event::Kind::released), 2U);
}

TEST_F(EngineTest, AHandOverThatFollowsOnWhatIsKnownIsNotReadAgain) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    const std::uint64_t reads = engine.reads();

    engine.append({message("1", "L"), message("2", "L"), message("3")}, true);

    EXPECT_EQ(engine.reads(), reads);
    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:3", "a:2"}));
    engine.run_for(5s);
    EXPECT_EQ(engine.starts().size(), 3U);
}

TEST_F(EngineTest, AMessageWithALaneWaitsForItsReadIfTheStoreIsNotInOrder) {
    store_is_in_order = false;
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    const std::uint64_t reads = engine.reads();

    engine.append({message("1")}, true);
    EXPECT_EQ(engine.reads(), reads);
    engine.append({message("2", "L")}, true);
    EXPECT_GT(engine.reads(), reads);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:2"}));
}

TEST_F(EngineTest, AMessageWithALaneWaitsForWhatOthersAppendedBeforeIt) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    SeededRandom random{7};
    Message others = message("1", "L");
    others.id = uuid7(clock.wall(), random);
    store->append(
        std::vector<Append>{{.message = std::make_shared<const Message>(std::move(others))}});

    engine.append({message("2", "L")}, true);

    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:2"}));
}

TEST_F(EngineTest, AHandOverIsNotForgottenWhileItsLaneIsRead) {
    const BoxOptions halting{.lanes = Lanes::strict, .on_dead = OnDead::halt};
    Stepper& engine = run(a_box("orders", halting, {"a"}));
    script["a:1"] = {Dead{"no"}};
    const auto results = engine.append({message("1", "L"), message("2", "L")});
    bool is_appended = false;
    engine.after_read = [&](const ReadRequest& request, ReadPage&) {
        if (request.kind == ReadRequest::Kind::lanes && !std::exchange(is_appended, true)) {
            engine.append({message("3", "L")}, true);
        }
    };

    store->command({.kind = Command::Kind::skip,
                    .message = results.front().id,
                    .sequence = results.front().sequence});
    engine.engine().on_wake(clock.now());
    engine.run_for(5s);
    engine.append({message("4", "L")}, true);
    engine.run_for(5s);

    ASSERT_TRUE(is_appended);
    EXPECT_EQ(engine.starts(), (Starts{"a:1", "a:2", "a:3", "a:4"}));
}

TEST_F(EngineTest, AScheduledHandOverIsNotForgottenWhileDueRowsAreRead) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    bool is_appended = false;
    engine.after_read = [&](const ReadRequest& request, ReadPage&) {
        if (request.kind == ReadRequest::Kind::due && !std::exchange(is_appended, true)) {
            Message scheduled = message("1");
            scheduled.not_before = request.due_until - 1s;
            engine.append({scheduled}, true);
        }
    };

    engine.run_for(3min);

    ASSERT_TRUE(is_appended);
    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
}

TEST_F(EngineTest, AHandOverThatComesAfterTheReadThatBroughtItIsIgnored) {
    Stepper& engine = run(a_box("orders", {}, {"a"}));
    auto late = std::make_shared<Message>(message("1"));
    SeededRandom random{7};
    late->id = uuid7(clock.wall(), random);
    const AppendResult result = engine.append({*late}).front();
    ASSERT_EQ(engine.starts(), (Starts{"a:1"}));

    engine.engine().on_appended(
        clock.now(), std::vector<engine::HandOver>{{late, result.sequence, result.partition,
                                                    engine.engine().overtaking_reads()}});
    engine.settle_down();

    EXPECT_EQ(engine.starts(), (Starts{"a:1"}));
}

}  // namespace waybill::test
