#include "scenarios/scenario.hpp"

/// Collapse: T11, T12.
namespace waybill::test {

using Status = AppendResult::Status;

class Versions : public Scenario {
protected:
    static Message version(const std::string& key, int number) {
        return {.type = "t", .body = key + "v" + std::to_string(number), .collapse_key = key};
    }
    void handle(Application& app) {
        app->inbox("pages").on("*", "index", [this](const Message& m) { handled.add(m.body); });
    }
    /// Returns when the engine has read everything appended so far: a later message of another lane ran.
    static void let_it_read(Application& app) {
        const Uuid marker = app->append({.type = "marker", .lane = "marker"}).id;
        EXPECT_TRUE(app.log.wait_for_line([&](const EventLog::Line& line) {
            return line.kind == Kind::finished && line.message == marker;
        }));
    }
    Notes handled;
};
INSTANTIATE_TEST_SUITE_P(Stores, Versions, testing::ValuesIn(places()),
                         [](const auto& test) { return test.param.name; });

TEST_P(Versions, WrittenBeforeTheStartOnlyTheYoungestOfEachKeyIsHandled) {
    Application app{place()};
    handle(app);
    for (int number = 1; number <= 3; ++number) app->append(version("a", number));
    app->append(version("b", 1));
    app->append({.type = "t", .body = "no key"});
    app->append({.type = "t", .body = "no key"});

    ASSERT_TRUE(app->run_until_idle());

    EXPECT_EQ(handled.tally(), (std::map<std::string, int>{{"av3", 1}, {"bv1", 1}, {"no key", 2}}));
    EXPECT_EQ(app.log.count(Kind::collapsed), 2U);
    EXPECT_EQ(app.open(), 0U);
}

TEST_P(Versions, AnOlderOneThatRunsIsFollowedByTheYoungest) {
    Application app{place()};
    const auto gate = std::make_shared<Gate>();
    app->outbox("pages").on("t", "index", [this, gate](const Message& m) {
        handled.add(m.body);
        if (m.body == "av1") gate->pass();
    });
    app->start();
    app->append(version("a", 1));
    ASSERT_TRUE(gate->wait_for_arrivals(1));

    app->append(version("a", 2));
    app->append(version("a", 3));
    let_it_read(app);
    gate->open();

    ASSERT_TRUE(app->wait_idle());
    EXPECT_EQ(handled.all(), (std::vector<std::string>{"av1", "av3"}));
}

TEST_P(Versions, OfOneBatchLeaveOnePerKey) {
    Application app{place()};
    handle(app);

    app->append({version("a", 1), version("a", 2), version("b", 1)});

    ASSERT_TRUE(app->run_until_idle());
    EXPECT_EQ(handled.tally(), (std::map<std::string, int>{{"av2", 1}, {"bv1", 1}}));
}

TEST_P(Versions, AHundredOfAFewKeysLeaveTheLastOfEach) {
    Application app{place()};
    handle(app);
    for (int number = 0; number < 100; ++number) {
        app->append(version(std::string(1, static_cast<char>('a' + number % 5)), number));
    }

    ASSERT_TRUE(app->run_until_idle());

    EXPECT_EQ(handled.tally(),
              (std::map<std::string, int>{
                  {"av95", 1}, {"bv96", 1}, {"cv97", 1}, {"dv98", 1}, {"ev99", 1}}));
}

TEST_P(Versions, WithOneCollapseKeyAndOneIdExactlyOneRemains) {
    Application app{place()};
    handle(app);
    Message message = version("a", 1);
    message.id.bytes[0] = 7;

    EXPECT_EQ(app->append(message).status, Status::fresh);
    EXPECT_EQ(app->append(message).status, Status::duplicate);
    ASSERT_TRUE(app->run_until_idle());

    EXPECT_EQ(handled.all(), std::vector<std::string>{"av1"});
    EXPECT_EQ(app.count(Filter::State::done), 1U);
}

TEST_P(Versions, AFailedOlderOneIsNotRetriedOverAYoungerOne) {
    Application app{place()};
    const auto gate = std::make_shared<Gate>();
    app->outbox("pages").on("t", "index",
                            [this, gate](const Message& m) {
                                handled.add(m.body);
                                if (m.body != "av1") return;
                                gate->pass();
                                throw std::runtime_error{"the index is busy"};
                            },
                            {.backoff = quick_backoff()});
    app->start();
    app->append(version("a", 1));
    ASSERT_TRUE(gate->wait_for_arrivals(1));
    app->append(version("a", 2));
    let_it_read(app);
    gate->open();

    ASSERT_TRUE(app->wait_done());
    EXPECT_EQ(handled.all(), (std::vector<std::string>{"av1", "av2"}));
    EXPECT_EQ(app.count(Filter::State::dead), 0U);
}

}  // namespace waybill::test
