#include <condition_variable>
#include <functional>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/app.hpp"
#include "support/gate.hpp"
#include "support/store_decorator.hpp"
#include "waybill/testkit.hpp"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Sweep, DeletesInBatchesWhatIsNoLongerKeptAndNothingElse) {
    testkit::Kit kit{{.sweep = {.batch_rows = 2}}};
    kit.app.inbox("orders", {.lanes = Lanes::none, .keep_done = 1h, .keep_dead = 1h})
        .on("done", "t", [](const Message&) {})
        .on("dead", "d", [](const Message&) { return Dead{"no"}; })
        .on("later", "l", [](const Message&) {});
    const StoreTime tomorrow = kit.clock.wall() + 24h;
    for (int i = 0; i < 5; ++i) {
        kit.app.append({{.type = "done"}, {.type = "dead"}, {.type = "nobody"}});
    }
    kit.app.append({.type = "later", .not_before = tomorrow});
    kit.run_until_idle();
    kit.clock.advance(1h);

    const Swept swept = kit.app.sweep();

    EXPECT_EQ(swept.dead_letters, 5U);
    EXPECT_EQ(swept.messages, 10U) << "five done, and five whose letter has just gone";
    EXPECT_FALSE(swept.more);
    EXPECT_EQ(kit.app.catalogue().count({.state = Filter::State::parked}), 5U);
    EXPECT_EQ(kit.app.catalogue().count({.state = Filter::State::open}), 1U);
    EXPECT_EQ(kit.app.sweep(), Swept{});
}

TEST(Sweep, WorksWithoutAnEngine) {
    testkit::Kit kit;
    kit.app.inbox("orders", {.dedup_window = 1h});
    kit.app.append({.type = "t", .dedup_key = "k"});
    kit.clock.advance(2h);

    EXPECT_EQ(kit.app.sweep().dedup_records, 1U);
    EXPECT_FALSE(kit.app.status().started);
}

TEST(Sweep, ItsOptionsAreChecked) {
    EXPECT_TRUE(check(SweepOptions{}).empty());
    EXPECT_TRUE(check(SweepOptions{.interval = 0s}).empty());
    EXPECT_THAT(check(SweepOptions{.interval = 9ms}), Contains(HasSubstr("10 ms")));
    EXPECT_THAT(check(SweepOptions{.interval = 24h * 31}), Contains(HasSubstr("30 days")));
    EXPECT_THAT(check(SweepOptions{.batch_rows = 0}), Contains(HasSubstr("batch_rows")));
    EXPECT_THROW(Waybill({.store = memory::open(), .sweep = {.batch_rows = 100'001}}), ConfigError);
}

/// A memory store that tells when it is swept and does beforehand what a test wants.
class WatchedStore final : public test::StoreDecorator, public Upkeep {
public:
    explicit WatchedStore(memory::MemoryStore& inner) : StoreDecorator(inner), inner_(inner) {}

    /// With the number of the call, from 1.
    std::function<void(int)> before_sweep = [](int) {};
    bool wait_for_dead_letters(std::uint64_t count) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, test::EventLog::patience, [&] { return dead_ >= count; });
    }

    void migrate() override {}
    Swept sweep(std::span<const BoxDeclaration> boxes, std::uint32_t rows_max) override {
        before_sweep(++calls_);
        const Swept swept = inner_.sweep(boxes, rows_max);
        EXPECT_LE(swept.dead_letters, rows_max);
        const std::lock_guard lock{mutex_};
        dead_ += swept.dead_letters;
        changed_.notify_all();
        return swept;
    }
    StoreHealth health() override { return {.reachable = true}; }
    Problems check_settings() override { return {}; }

private:
    memory::MemoryStore& inner_;
    int calls_ = 0;     // the sweeper's own
    std::mutex mutex_;  ///< guards dead_
    std::condition_variable changed_;
    std::uint64_t dead_ = 0;
};

TEST(Sweep, ARunningApplicationDoesItByItself) {
    const auto memory = memory::open();
    const auto store = std::make_shared<WatchedStore>(*memory);
    Settings settings = test::quick_settings(store);
    settings.sweep = {.interval = 10ms, .batch_rows = 7};
    Waybill app{settings};
    app.inbox("orders", {.lanes = Lanes::none, .keep_dead = 1ms}).on("*", "t", [](const Message&) {
        return Dead{"no"};
    });
    app.append(std::vector<Message>(50, Message{.type = "t"}));

    app.start();

    EXPECT_TRUE(store->wait_for_dead_letters(50));
    app.stop();
    EXPECT_EQ(memory->count({.state = Filter::State::dead}), 0U);
}

TEST(Sweep, GoesOnAfterAnErrorAndSaysSoMeanwhile) {
    const auto memory = memory::open();
    const auto store = std::make_shared<WatchedStore>(*memory);
    test::Gate after_the_error;
    test::Gate after_the_mending;
    store->before_sweep = [&](int call) {
        if (call == 1) throw StoreError{Reaction::back_off, "the disk is full"};
        if (call == 2) after_the_error.pass();
        if (call == 3) after_the_mending.pass();
    };
    Settings settings = test::quick_settings(store);
    settings.sweep.interval = 10ms;
    Waybill app{settings};
    app.inbox("orders");
    app.start();

    ASSERT_TRUE(after_the_error.wait_for_arrivals(1));
    EXPECT_THAT(app.health().reasons, Contains(HasSubstr("the disk is full")));
    EXPECT_EQ(app.health().state, Health::State::degraded);
    after_the_error.open();
    ASSERT_TRUE(after_the_mending.wait_for_arrivals(1));
    EXPECT_THAT(app.health().reasons, Not(Contains(HasSubstr("the disk is full"))));
    after_the_mending.open();
}

TEST(Sweep, NoneRunsInTheBackgroundWhenItIsSwitchedOff) {
    const auto memory = memory::open();
    const auto store = std::make_shared<WatchedStore>(*memory);
    store->before_sweep = [](int) { ADD_FAILURE() << "it was off"; };
    Settings settings = test::quick_settings(store);
    settings.sweep.interval = 0s;
    Waybill app{settings};
    app.inbox("orders").on("*", "t", [](const Message&) {});
    app.append({.type = "t"});

    EXPECT_TRUE(app.run_until_idle());
}

}  // namespace
}  // namespace waybill
