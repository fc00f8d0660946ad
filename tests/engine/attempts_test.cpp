#include <algorithm>

#include "engine/fixture.hpp"

/// What is written into the log of attempts.
namespace waybill::test {
namespace {

engine::LocalBox logging_box() {
    engine::LocalBox box = a_box("orders", {}, {"a"});
    box.options.attempts_log = AttemptsLog::all;
    return box;
}

}  // namespace

TEST_F(EngineTest, WhatAnExecutorSaysOfAnAttemptIsLoggedWhateverItEndedIn) {
    Stepper& engine = run(logging_box());
    hold_all = "a";
    const auto results = engine.append({message("1"), message("2")});

    engine.finish_held(engine.held()[0].id, Fail{"no"}, R"({"status":500})");
    engine.finish_held(engine.held()[0].id, Dead{"gone"}, R"({"status":410})");
    engine.run_for(8s);
    engine.finish_held(engine.held()[0].id, Done{}, R"({"status":204})");

    const auto first = store->get(results[0].id)->attempts;
    ASSERT_EQ(first.size(), 2U);
    EXPECT_EQ(first[0].detail, R"({"status":500})");
    EXPECT_EQ(first[1].detail, R"({"status":204})");
    const auto second = store->get(results[1].id)->attempts;
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].detail, R"({"status":410})");
}

TEST_F(EngineTest, ADetailThatIsTooLongIsLeftOutAsAWhole) {
    Stepper& engine = run(logging_box());
    hold_all = "a";
    const auto results = engine.append({message("1"), message("2"), message("3")});
    const std::string fits(detail_bytes_max, '7');

    engine.finish_held(engine.held()[0].id, Done{}, fits);
    engine.finish_held(engine.held()[0].id, Done{}, fits + "7");
    // Not UTF-8, and therefore longer once it is.
    engine.finish_held(engine.held()[0].id, Done{}, std::string(detail_bytes_max / 2, '\xFF'));

    EXPECT_EQ(store->get(results[0].id)->attempts.at(0).detail, fits);
    for (const std::size_t place : {1U, 2U}) {
        EXPECT_EQ(store->get(results[place].id)->attempts.at(0).detail,
                  R"({"left_out":"the detail is longer than 131072 bytes"})");
    }
}

TEST_F(EngineTest, ADetailThatNoDatabaseWouldTakeIsCleaned) {
    Stepper& engine = run(logging_box());
    hold_all = "a";
    const auto results = engine.append({message("1")});

    engine.finish_held(engine.held()[0].id, Done{}, std::string("{\"b\":\"\0\xFF\"}", 10));

    EXPECT_EQ(store->get(results[0].id)->attempts.at(0).detail, "{\"b\":\"\uFFFD\"}");
}

TEST_F(EngineTest, ManyLongDetailsAreSettledInSeveralBatches) {
    engine::LocalBox box = logging_box();
    Stepper& engine = run(box);
    hold_all = "a";
    std::vector<Message> messages;
    for (int i = 0; i < 64; ++i) messages.push_back(message(std::to_string(i)));
    const auto results = engine.append(messages);
    ASSERT_EQ(engine.held().size(), 64U);

    std::size_t most = 0;
    engine.before_settle = [&](const SettleBatch& batch) {
        std::size_t bytes = 0;
        for (const Settlement& item : batch.items) bytes += item.attempts.at(0).detail.size();
        most = std::max(most, bytes);
    };
    std::vector<engine::Completed> ended;
    for (const engine::Run& run : engine.held()) {
        ended.push_back(
            {run.id, {engine::RunResult{.detail = std::string(detail_bytes_max, '7')}}});
    }

    engine.engine().on_outcomes(clock.now(), ended);
    engine.settle_down();

    EXPECT_EQ(open_messages(), 0U);
    EXPECT_GT(most, detail_bytes_max);
    EXPECT_LE(most, std::size_t{5} << 20);
    EXPECT_TRUE(std::ranges::all_of(results, [&](const AppendResult& result) {
        return store->get(result.id)->attempts.at(0).detail.size() == detail_bytes_max;
    }));
}

}  // namespace waybill::test
