#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/app.hpp"

namespace waybill {
namespace {

using Kind = Event::Kind;

class Hooks : public testing::Test {
protected:
    std::function<void()> note(std::string what) {
        return [this, what] { calls.push_back(what); };
    }
    test::App test;
    std::vector<std::string> calls;
};

TEST_F(Hooks, StartInOrderBeforeAnythingIsHandledAndStopInReverseAfterIt) {
    test.app.inbox("orders").on("*", "t", [this](const Message&) { calls.push_back("handled"); });
    test.app.on_start(note("open database"));
    test.app.on_start(note("open cache"));
    test.app.on_stop(note("close database"));
    test.app.on_stop(note("close cache"));
    test.app.append({.type = "t"});

    ASSERT_TRUE(test.app.run_until_idle());

    EXPECT_EQ(calls, (std::vector<std::string>{"open database", "open cache", "handled",
                                               "close cache", "close database"}));
}

TEST_F(Hooks, RunAtEveryStartAndStop) {
    test.app.inbox("orders");
    test.app.on_start(note("start"));
    test.app.on_stop(note("stop"));

    test.app.start();
    test.app.start();
    test.app.stop();
    test.app.stop();
    test.app.run_once();

    EXPECT_EQ(calls, (std::vector<std::string>{"start", "stop", "start", "stop"}));
}

TEST_F(Hooks, AStartHookThatThrowsStopsEverythingAndIsPassedOn) {
    test.app.inbox("orders").on("*", "t", [this](const Message&) { calls.push_back("handled"); });
    test.app.on_start(note("first"));
    test.app.on_start([] { throw std::runtime_error{"no database"}; });
    test.app.on_start(note("never"));
    test.app.on_stop(note("stopped"));
    test.app.append({.type = "t"});

    EXPECT_THROW(test.app.start(), std::runtime_error);

    EXPECT_EQ(calls, (std::vector<std::string>{"first", "stopped"}));
    EXPECT_FALSE(test.app.status().started);
}

TEST_F(Hooks, AStopHookThatThrowsIsReportedAndTheOthersStillRun) {
    test.app.inbox("orders");
    test.app.on_stop(note("first registered"));
    test.app.on_stop([] { throw std::runtime_error{"cannot close"}; });
    test.app.on_stop([] { throw 42; });
    test.app.start();

    test.app.stop();

    EXPECT_EQ(calls, std::vector<std::string>{"first registered"});
    const auto failed = test.log.lines(Kind::hook_failed);
    ASSERT_EQ(failed.size(), 2U);
    EXPECT_EQ(failed[1].text, "cannot close");
}

TEST_F(Hooks, MayAppend) {
    test.app.inbox("orders").on("*", "t", [this](const Message&) { calls.push_back("handled"); });
    test.app.on_start([this] { test.app.append({.type = "t"}); });

    ASSERT_TRUE(test.app.run_until_idle());

    EXPECT_EQ(calls, std::vector<std::string>{"handled"});
}

}  // namespace
}  // namespace waybill
