#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/app.hpp"
#include "support/gate.hpp"
#include "waybill/testkit.hpp"

/// Several boxes of one application, several stores of one process.
namespace waybill {
namespace {

using namespace std::chrono_literals;
using Kind = Event::Kind;
using State = Filter::State;

TEST(SeveralBoxes, HaveTheirOwnTypesOptionsAndDedup) {
    testkit::Kit kit;
    std::vector<std::string> seen;
    const auto note = [&](std::string where) {
        return [&, where](const Message& m) { seen.push_back(where + m.type); };
    };
    kit.app.inbox("orders", {.dedup_window = 1h}).on("placed", "t", note("orders "));
    kit.app.inbox("mails", {.keep_done = 0s}).on("*", "t", note("mails "));

    const auto results = kit.app.append({{.box = "orders", .type = "placed", .dedup_key = "k"},
                                         {.box = "mails", .type = "placed", .dedup_key = "k"},
                                         {.box = "orders", .type = "other"}});
    kit.run_until_idle();

    for (const AppendResult& result : results) {
        EXPECT_EQ(result.status, AppendResult::Status::fresh);
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"orders placed", "mails placed"}));
    EXPECT_EQ(kit.state_of(results[0].id), State::done);
    EXPECT_EQ(kit.state_of(results[1].id), std::nullopt) << "mails keeps nothing";
    EXPECT_EQ(kit.state_of(results[2].id), State::parked);
}

TEST(SeveralBoxes, AMessageThatNamesNoneIsToldToChooseOne) {
    testkit::Kit kit;
    kit.app.inbox("orders");
    kit.app.inbox("mails");

    try {
        kit.app.append({.type = "placed"});
        ADD_FAILURE() << "it was taken";
    } catch (const InvalidMessage& error) {
        EXPECT_EQ(error.problems(), Problems{"box: this application has several; say which one"});
    }
}

TEST(SeveralBoxes, AMessageForAnUnknownOneHearsOfItsOtherProblemsToo) {
    testkit::Kit kit;
    kit.app.inbox("orders");

    try {
        kit.app.append({{.type = "placed"}, {.box = "order", .type = ""}});
        ADD_FAILURE() << "it was taken";
    } catch (const InvalidMessage& error) {
        ASSERT_EQ(error.problems().size(), 2U);
        EXPECT_TRUE(error.problems()[0].starts_with("message 2 of 2: box: \"order\" is not a box"));
        EXPECT_TRUE(error.problems()[1].starts_with("message 2 of 2: type is empty"));
    }
}

TEST(SeveralBoxes, OneThatIsStuckOrFailsHoldsNoOtherBack) {
    test::App test;
    const auto gate = std::make_shared<test::Gate>();
    test.app.inbox("stuck", {.lanes = Lanes::none, .concurrency = 2})
        .on("*", "s", [gate](const Message&) { gate->pass(); });
    test.app.inbox("failing").on("*", "f", [](const Message&) { throw std::runtime_error{"no"}; });
    test.app.inbox("well").on("*", "w", [](const Message&) {});
    std::vector<Message> messages;
    for (int i = 0; i < 100; ++i) {
        messages.push_back({.box = "stuck", .type = "t"});
        messages.push_back({.box = "failing", .type = "t", .lane = "one"});
        messages.push_back({.box = "well", .type = "t"});
    }
    test.app.append(std::move(messages));
    test.app.start();

    EXPECT_TRUE(test.log.wait_for(Kind::done, 100));
    EXPECT_LE(gate->arrived(), 2U);
    gate->open();
}

TEST(SeveralStores, OneThatIsDownHoldsNoOtherBack) {
    testkit::EventLog log;
    const auto down = std::make_shared<testkit::FaultyStore>(memory::open());
    Waybill first{test::quick_settings(down, "first")};
    first.inbox("orders").on("*", "t", [](const Message&) {});
    first.append({.type = "t"});
    Waybill second{test::quick_settings(memory::open(), "second")};
    second.inbox("orders").on("*", "t", [](const Message&) {});
    second.observe(log);
    down->set_down(true);
    first.start();
    second.start();

    const Uuid id = second.append({.type = "t"}).id;

    EXPECT_TRUE(log.wait_for_message(id));
    EXPECT_THROW(first.append({.type = "t"}), StoreError);
    EXPECT_EQ(first.health().state, Health::State::unhealthy);
    down->set_down(false);
    EXPECT_TRUE(first.wait_idle());
}

TEST(SeveralStores, AHandlerMayMoveWorkFromOneToTheOther) {
    test::App front;
    test::App back;
    back.app.inbox("work").on("*", "t", [](const Message&) {});
    front.app.inbox("intake").on("*", "pass on", [&](const Message& m) {
        // The id is the dedup key: passing it on twice stores it once.
        back.app.append({.id = m.id, .type = m.type, .body = m.body});
    });
    front.app.start();
    back.app.start();

    const Uuid id = front.app.append({.type = "t"}).id;

    EXPECT_TRUE(back.log.wait_for_message(id));
}

TEST(SeveralApplications, OnOneStoreSeeOnlyTheirOwnBoxes) {
    auto root = memory::open();
    test::EventLog first_log;
    test::EventLog second_log;
    Waybill first{test::quick_settings(root->connect(), "first")};
    first.inbox("orders").on("*", "t", [](const Message&) {});
    first.observe(first_log);
    Waybill second{test::quick_settings(root->connect(), "second")};
    second.inbox("mails").on("*", "t", [](const Message&) {});
    second.observe(second_log);
    first.start();
    second.start();

    const Uuid order = first.append({.type = "t"}).id;
    const Uuid mail = second.append({.type = "t"}).id;

    EXPECT_TRUE(first_log.wait_for_message(order));
    EXPECT_TRUE(second_log.wait_for_message(mail));
    EXPECT_EQ(first_log.count(Kind::started), 1U);
    EXPECT_EQ(second_log.count(Kind::started), 1U);
    EXPECT_THROW(first.append({.box = "mails", .type = "t"}), InvalidMessage);
}

TEST(Presets, TheOptionsOfATargetAreThoseOfThePreset) {
    const Preset old = presets::inbox_net();
    testkit::Kit kit;
    int calls = 0;
    kit.app.box("inbox", old.box)
        .on(
            "*", "handler",
            [&](const Message&) {
                ++calls;
                throw std::runtime_error{"no"};
            },
            on_like(old));
    const Uuid id = kit.app.append({.type = "t"}).id;

    EXPECT_EQ(kit.run_until_done(id), State::dead);
    EXPECT_EQ(calls, static_cast<int>(old.target.retry.max_attempts));
    EXPECT_EQ(on_like(old).timeout, old.target.timeout);
    EXPECT_EQ(on_like(old).after_dead, old.after_dead);
}

}  // namespace
}  // namespace waybill
