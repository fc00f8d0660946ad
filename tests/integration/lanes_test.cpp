#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/app.hpp"
#include "support/run_together.hpp"

namespace waybill {
namespace {

using Kind = Event::Kind;

/// The order in which each lane's messages were done.
class Lines {
public:
    void add(const Message& message) {
        const std::lock_guard lock{mutex_};
        lines_[message.lane].push_back(std::stoi(message.body));
    }
    /// Every lane counted up to `count` without a gap, a double or a step back.
    void expect_in_order(std::size_t lanes, int count) {
        const std::lock_guard lock{mutex_};
        ASSERT_EQ(lines_.size(), lanes);
        for (const auto& [lane, line] : lines_) {
            ASSERT_EQ(line.size(), static_cast<std::size_t>(count)) << lane;
            for (int i = 0; i < count; ++i) {
                ASSERT_EQ(line[static_cast<std::size_t>(i)], i) << lane;
            }
        }
    }

private:
    std::mutex mutex_;
    std::map<std::string, std::vector<int>> lines_;
};

TEST(StrictLanes, StayInOrderThroughFailures) {
    test::App test;
    Lines lines;
    test.app.inbox("orders").on("*", "t",
                                [&](const Message& m, Context& context) {
                                    if (std::stoi(m.body) % 5 == 3 && context.attempt() < 3) {
                                        throw std::runtime_error{"again"};
                                    }
                                    lines.add(m);
                                },
                                {.backoff = test::quick_backoff()});
    test.app.start();

    test::run_together(10, [&](int lane) {
        for (int i = 0; i < 60; ++i) {
            test.app.append(
                {.type = "t", .body = std::to_string(i), .lane = "lane " + std::to_string(lane)});
        }
    });

    ASSERT_TRUE(test.log.wait_for(Kind::finished, 600));
    lines.expect_in_order(10, 60);
    EXPECT_EQ(test.log.count(Kind::failed), 10U * 12 * 2);
}

TEST(StrictLanes, StayInOrderWithSeveralInstancesThatComeAndGo) {
    constexpr int kLanes = 24;
    constexpr int kMessages = 80;
    auto root = memory::open({.partitions = 8});
    Lines lines;
    std::atomic<int> failures{0};
    test::EventLog log;
    const auto instance = [&](const std::string& name) {
        auto app = std::make_unique<Waybill>(test::quick_settings(root->connect(), name));
        app->inbox("orders").on("*", "t",
                                [&](const Message& m, Context& context) {
                                    if (std::stoi(m.body) % 9 == 4 && context.attempt() == 1) {
                                        ++failures;
                                        throw std::runtime_error{"again"};
                                    }
                                    lines.add(m);
                                },
                                {.backoff = test::quick_backoff()});
        app->observe(log);
        return app;
    };
    auto first = instance("first");
    auto second = instance("second");
    auto third = instance("third");
    first->start();
    second->start();

    test::run_together(3, [&](int thread) {
        for (int i = 0; i < kMessages; ++i) {
            for (int lane = thread; lane < kLanes; lane += 3) {
                Waybill& by = thread == 0 ? *first : *second;
                by.append({.type = "t",
                           .body = std::to_string(i),
                           .lane = "lane " + std::to_string(lane)});
            }
            if (thread == 2 && i == kMessages / 3) third->start();
            if (thread == 2 && i == kMessages / 2) first->stop();
            if (thread == 2 && i == kMessages * 2 / 3) first->start();
        }
    });

    ASSERT_TRUE(log.wait_for(Kind::finished, kLanes * kMessages, std::chrono::seconds{60}));
    lines.expect_in_order(kLanes, kMessages);
    EXPECT_GT(failures, 0);
    EXPECT_EQ(first->status().reconciled + second->status().reconciled + third->status().reconciled,
              0U);
}

TEST(StrictLanes, ABlockedLaneHoldsNoOtherBack) {
    test::App test;
    std::atomic<bool> blocked{true};
    test.app.inbox("orders").on("*", "t",
                                [&](const Message& m) {
                                    if (m.lane == "stuck" && blocked)
                                        throw std::runtime_error{"not yet"};
                                },
                                {.max_attempts = 1000, .backoff = test::quick_backoff()});
    test.app.start();
    for (int i = 0; i < 20; ++i) test.app.append({.type = "t", .lane = "stuck"});

    for (int i = 0; i < 100; ++i) test.app.append({.type = "t", .lane = "free"});
    ASSERT_TRUE(test.log.wait_for(Kind::finished, 100));

    blocked = false;
    EXPECT_TRUE(test.log.wait_for(Kind::finished, 120));
}

TEST(ExclusiveLanes, RunOneAtATime) {
    test::App test;
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    test.app.inbox("orders", {.lanes = Lanes::exclusive}).on("*", "t", [&](const Message&) {
        most = std::max(most.load(), ++inside);
        --inside;
    });
    test.app.start();

    for (int i = 0; i < 200; ++i) test.app.append({.type = "t", .lane = "one"});

    ASSERT_TRUE(test.log.wait_for(Kind::finished, 200));
    EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace waybill
