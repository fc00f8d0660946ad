#include <algorithm>
#include <cstdio>

#include <malloc.h>

#include "core/engine/model.hpp"
#include "engine/fixture.hpp"

namespace waybill::test {
namespace {

constexpr std::uint64_t kWindow = 64ULL << 20;

/// Sanitizers make everything ten times slower and replace the allocator we measure.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kMany = 50'000;
#else
constexpr std::uint64_t kMany = 1'000'000;
#endif

std::size_t heap_bytes() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

}  // namespace

/// The window's limit is a promise about real memory: what the engine gives back when it is destroyed
/// is what it held, the store beside it left alone.
class MemoryBound : public EngineTest {
protected:
    static Message in_lane(std::uint64_t number) {
        return {
            .box = "orders", .type = "t", .body = "x", .lane = "lane-" + std::to_string(number)};
    }

    void append_many(std::uint64_t count, const std::function<Message(std::uint64_t)>& make) {
        std::vector<Message> batch;
        for (std::uint64_t i = 0; i < count; ++i) {
            batch.push_back(make(i));
            if (batch.size() == 1000 || i + 1 == count) {
                stepper->append(std::exchange(batch, {}));
                most_accounted = std::max(most_accounted, stepper->engine().status().window_used);
                clock.advance(1ms);
            }
        }
    }

    /// How long a fresh message waits, in store time.
    Duration wait_of(Message message) {
        const StoreTime before = clock.wall();
        const std::size_t starts = stepper->starts().size();
        stepper->append({std::move(message)});
        while (stepper->starts().size() == starts && clock.wall() - before < 1min) {
            stepper->run_for(1ms);
        }
        return clock.wall() - before;
    }

    void expect_within_window(const char* what) {
        const std::size_t with = heap_bytes();
        most_accounted = std::max(most_accounted, stepper->engine().status().window_used);
        const engine::Status status = stepper->engine().status();
        const std::uint64_t starts = stepper->starts().capacity() * sizeof(std::string) +
                                     stepper->batches().capacity() * sizeof(std::size_t);
        stepper.reset();
        const auto held = static_cast<std::int64_t>(with) -
                          static_cast<std::int64_t>(heap_bytes()) -
                          static_cast<std::int64_t>(starts);
        std::printf(
            "%s: accounted at most %.1f MiB, heap %.1f MiB, blocked lanes %llu, window %.0f MiB\n",
            what, static_cast<double>(most_accounted) / 1048576.0,
            static_cast<double>(held) / 1048576.0,
            static_cast<unsigned long long>(status.blocked_lanes),
            static_cast<double>(kWindow) / 1048576.0);
        EXPECT_LE(most_accounted, kWindow + (4ULL << 20));
        EXPECT_LE(held, static_cast<std::int64_t>(kWindow + (8ULL << 20)));
    }

    static engine::Config with_window() {
        engine::Config config;
        config.boxes = {a_box("orders", {}, {"a"})};
        config.boxes[0].targets[0].options.retry.backoff = {.base = 1h, .cap = 2h};
        config.options.window_bytes = kWindow;
        return config;
    }

    std::uint64_t most_accounted = 0;
};

TEST_F(MemoryBound, AMillionDistinctBlockedLanesStayWithinTheWindow) {
    fail_first = true;
    run(with_window());

    append_many(kMany, in_lane);
    stepper->run_for(2s);

    EXPECT_EQ(stepper->starts().size(), kMany);
    EXPECT_LE(wait_of({.box = "orders", .type = "t", .body = "free", .lane = "free"}), 50ms);
    expect_within_window("1,000,000 blocked lanes");
}

TEST_F(MemoryBound, LanesThatBackOffForSecondsLeaveMemoryUnderPressureAndComeBackInTime) {
    fail_first = true;
    engine::Config tight = with_window();
    tight.options.window_bytes = kWindow / 4;
    tight.boxes[0].targets[0].options.retry.backoff = {.base = 30s, .cap = 30s};
    run(tight);

    append_many(kMany / 5, in_lane);

    EXPECT_EQ(stepper->starts().size(), kMany / 5);
    EXPECT_LE(wait_of({.box = "orders", .type = "t", .body = "free", .lane = "free"}), 50ms);
    stepper->run_for(2min);
    EXPECT_EQ(open_messages(), 0U);
    EXPECT_LE(most_accounted, kWindow / 4 + (4ULL << 20));
}

TEST_F(MemoryBound, AHundredThousandMessagesBehindABlockedHeadCostAFreeLaneNothing) {
    script["a:head"] = {Fail{"no"}};
    run(with_window());
    stepper->append({{.box = "orders", .type = "t", .body = "head", .lane = "blocked"}});

    append_many(kMany / 10, [](std::uint64_t) {
        return Message{
            .box = "orders", .type = "t", .body = std::string(1024, 'x'), .lane = "blocked"};
    });

    EXPECT_EQ(stepper->starts().size(), 1U);
    EXPECT_LE(wait_of({.box = "orders", .type = "t", .body = "free", .lane = "free"}), 50ms);
    stepper->run_for(3h);
    EXPECT_EQ(open_messages(), 0U);
    expect_within_window("100,000 behind a blocked head");
}

TEST_F(MemoryBound, AScheduledMessageInTheStoreIsNotOvertakenWhileMemoryIsFull) {
    engine::Config tight = with_window();
    tight.options.window_bytes = 1 << 20;
    tight.options.due_ahead = 1s;
    tight.boxes[0].options.concurrency = 1;
    tight.boxes[0].targets[0].options.timeout = 1h;
    hold_all = "a";
    run(tight);
    Message scheduled = message("first", "lane");
    scheduled.not_before = clock.wall() + 10s;
    stepper->append({scheduled});
    stepper->append({message(std::string(900 << 10, 'x'), "other")});
    stepper->append({message("second", "lane")});
    ASSERT_EQ(stepper->starts().size(), 1U);

    stepper->run_for(11s);
    stepper->finish_held(stepper->held().front().id, Done{});
    stepper->run_for(1s);

    EXPECT_EQ(stepper->starts().back(), "a:first");
}

TEST_F(MemoryBound, LanesThatWereLongOnceGiveTheirMemoryBack) {
    constexpr std::uint64_t kLanes = 500;
    std::vector<engine::Work> works(10'000);
    for (std::size_t i = 0; i < works.size(); ++i) works[i].sequence = static_cast<Sequence>(i + 1);
    engine::LaneTable lanes;
    const std::size_t before = heap_bytes();

    for (std::uint64_t key = 1; key <= kLanes; ++key) {
        SequenceQueue<engine::Work>& queue = lanes.insert(key).queue;
        for (engine::Work& work : works) queue.insert(work.sequence, work);
    }
    for (std::uint64_t key = 1; key <= kLanes; ++key) {
        SequenceQueue<engine::Work>& queue = lanes.at(key).queue;
        // Half of them leave as they would in life, and wait with one left.
        for (std::size_t i = 0; key % 2 == 0 && i + 1 < works.size(); ++i) {
            queue.erase(works[i].sequence);
        }
        if (key % 2 == 1) lanes.erase(key);
    }

    EXPECT_LE(heap_bytes(), before + (2ULL << 20)) << "of 40 MiB";
}

TEST_F(MemoryBound, AMillionFutureRetriesWaitInTheStore) {
    fail_first = true;
    run(with_window());

    append_many(kMany,
                [](std::uint64_t) { return Message{.box = "orders", .type = "t", .body = "x"}; });
    stepper->run_for(2s);

    EXPECT_EQ(stepper->starts().size(), kMany);
    EXPECT_LE(wait_of({.box = "orders", .type = "t", .body = "free"}), 50ms);
    expect_within_window("1,000,000 future retries");
}

TEST_F(MemoryBound, ATargetThatHangsDoesNotTakeTheMemoryOfTheOthers) {
    engine::Config tight = with_window();
    tight.boxes[0].targets.push_back({.target = {.box = "orders", .key = "slow"}});
    tight.boxes[0].targets[1].options.concurrency = 1;
    tight.boxes[0].targets[1].options.timeout = 24h;
    tight.options.window_bytes = 8ULL << 20;
    run(tight);
    hold_all = "slow";

    append_many(kMany / 10,
                [](std::uint64_t) { return Message{.box = "orders", .type = "t", .body = "x"}; });
    stepper->run_for(5s);

    EXPECT_EQ(std::ranges::count(stepper->starts(), "a:x"),
              static_cast<std::ptrdiff_t>(kMany / 10));
    EXPECT_EQ(std::ranges::count(stepper->starts(), "slow:x"), 1);
    EXPECT_LE(most_accounted, 9ULL << 20);
}

}  // namespace waybill::test
