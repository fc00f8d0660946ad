#include <atomic>
#include <set>

#include "scenarios/scenario.hpp"
#include "support/background.hpp"
#include "support/run_together.hpp"
#include "waybill/append.hpp"

/// Accept and deduplicate: T1 … T6, T13, T14.
namespace waybill::test {

using Status = AppendResult::Status;
using testing::HasSubstr;

WAYBILL_SCENARIOS(Accepting);

TEST_P(Accepting, TheSameIdTwiceIsOneMessageHandledOnceAndTheFirstBodyStays) {
    Application app{place()};
    Notes handled;
    app->inbox("orders").on("*", "t", [&](const Message& m) { handled.add(m.body); });
    Message message{.type = "t", .body = "first"};
    message.id.bytes[0] = 1;

    EXPECT_EQ(app->append(message).status, Status::fresh);
    EXPECT_EQ(app->append(message).status, Status::duplicate);
    message.body = "another";
    const AppendResult other = app->append(message);

    EXPECT_EQ(other.status, Status::conflict);
    EXPECT_EQ(other.id, message.id);
    ASSERT_TRUE(app->run_until_idle());
    EXPECT_EQ(handled.all(), std::vector<std::string>{"first"});
    EXPECT_EQ(app.count(Filter::State::any), 1U);
}

TEST_P(Accepting, OfManyThreadsWithOneIdOneIsFreshAndAllGetAnAnswer) {
    Application app{place()};
    Notes handled;
    app->inbox("orders").on("*", "t", [&](const Message& m) { handled.add(m.body); });
    app->start();

    for (std::uint8_t round = 1; round <= 20; ++round) {
        std::atomic<int> fresh{0};
        std::atomic<int> duplicate{0};
        run_together(4, [&](int) {
            Message message{.type = "t", .body = std::to_string(round)};
            message.id.bytes[0] = round;
            const Status status = app->append(message).status;
            ++(status == Status::fresh ? fresh : duplicate);
            EXPECT_TRUE(status == Status::fresh || status == Status::duplicate);
        });
        EXPECT_EQ(fresh, 1);
        EXPECT_EQ(duplicate, 3);
    }

    ASSERT_TRUE(app->wait_idle());
    const auto tally = handled.tally();
    EXPECT_EQ(tally.size(), 20U);
    for (const auto& [body, times] : tally) EXPECT_EQ(times, 1) << body;
}

TEST_P(Accepting, AHandlerOfANewVersionGetsWhatIsStillOpenAndTheOthersDoNotRunAgain) {
    Notes calls;
    const auto note = [&](const std::string& name) {
        return [&calls, name](const Message&) { calls.add(name); };
    };
    const auto never_now = [&](const Message&) -> Outcome { return Defer{1h}; };
    Message message{.type = "t", .body = "x"};
    message.id.bytes[0] = 1;
    {
        Application old_version{place()};
        old_version->inbox("orders").on("*", "a", note("a")).on("*", "slow", never_now);
        old_version->append(message);
        old_version->start();
        ASSERT_TRUE(old_version.log.wait_for(Kind::done));
        ASSERT_TRUE(old_version.log.wait_for(Kind::deferred));
        ASSERT_TRUE(old_version->wait_idle());
    }

    Application new_version{place()};
    new_version->inbox("orders")
        .on("*", "a", note("a"))
        .on("*", "b", note("b"))
        .on("*", "slow", note("slow"));
    EXPECT_EQ(new_version->append(message).status, Status::duplicate);
    new_version->start();
    ASSERT_TRUE(new_version.log.wait_for(Kind::done, 1));
    place().advance(1h);
    ASSERT_TRUE(new_version.log.wait_for(Kind::finished));

    EXPECT_EQ(calls.count("a"), 1U);
    EXPECT_EQ(calls.count("b"), 1U);
    EXPECT_EQ(calls.count("slow"), 1U);
}

TEST_P(Accepting, SeveralInstancesHandleEveryMessageOnce) {
    constexpr int kInstances = 3;
    constexpr int kMessages = 600;
    Notes handled;
    EventLog all;
    std::vector<std::unique_ptr<Application>> instances;
    for (int i = 0; i < kInstances; ++i) {
        auto& app = instances.emplace_back(
            std::make_unique<Application>(place(), "instance " + std::to_string(i)));
        (*app)->inbox("orders", {.lanes = Lanes::none}).on("*", "t", [&](const Message& m) {
            handled.add(m.body);
        });
        (*app)->observe(all);
    }
    for (auto& app : instances) (*app)->start();

    run_together(kInstances, [&](int i) {
        for (int n = i; n < kMessages; n += kInstances) {
            (*instances[static_cast<std::size_t>(i)])
                ->append({.type = "t", .body = std::to_string(n)});
        }
    });

    ASSERT_TRUE(all.wait_for(Kind::finished, kMessages, long_patience));
    for (auto& app : instances) ASSERT_TRUE((*app)->wait_idle());
    const auto tally = handled.tally();
    EXPECT_EQ(tally.size(), static_cast<std::size_t>(kMessages));
    for (const auto& [body, times] : tally) EXPECT_EQ(times, 1) << body;
}

TEST_P(Accepting, DuplicatesInABatchAndAcrossWritesLeaveTheUniquesAndWhatHasNoKey) {
    Application app{place()};
    Notes handled;
    app->inbox("orders", {.lanes = Lanes::none}).on("*", "t", [&](const Message& m) {
        handled.add(m.body);
    });
    const auto keyed = [](std::string key) {
        return Message{.type = "t", .body = key, .dedup_key = key};
    };

    const auto first = app->append({keyed("a"), keyed("b"), keyed("a")});
    const auto second = app->append({keyed("b"), keyed("c")});
    app->append({{.type = "t", .body = "none"}, {.type = "t", .body = "none"}});

    EXPECT_EQ(first[2].status, Status::duplicate);
    EXPECT_EQ(first[2].id, first[0].id);
    EXPECT_EQ(second[0].status, Status::duplicate);
    EXPECT_EQ(second[0].id, first[1].id);
    EXPECT_EQ(second[1].status, Status::fresh);
    ASSERT_TRUE(app->run_until_idle());
    EXPECT_EQ(handled.tally(),
              (std::map<std::string, int>{{"a", 1}, {"b", 1}, {"c", 1}, {"none", 2}}));
}

TEST_P(Accepting, ManyUniquesAndDuplicatesAtOnceKeepTheExactCount) {
    constexpr int kThreads = 4;
    constexpr int kKeys = 250;
    Application app{place()};
    Notes handled;
    app->inbox("orders", {.lanes = Lanes::none}).on("*", "t", [&](const Message& m) {
        handled.add(m.body);
    });
    app->start();
    std::atomic<int> fresh{0};

    run_together(kThreads, [&](int thread) {
        for (int i = 0; i < kKeys; ++i) {
            // Each key comes twice from every thread, from each in an order of its own.
            const std::string key = std::to_string((i * 7 + thread * 61) % kKeys);
            const auto results = app->append({{.type = "t", .body = key, .dedup_key = key},
                                              {.type = "t", .body = key, .dedup_key = key}});
            for (const AppendResult& result : results) fresh += result.status == Status::fresh;
        }
    });

    EXPECT_EQ(fresh, kKeys);
    ASSERT_TRUE(app.log.wait_for(Kind::finished, kKeys, long_patience));
    ASSERT_TRUE(app->wait_idle());
    const auto tally = handled.tally();
    EXPECT_EQ(tally.size(), static_cast<std::size_t>(kKeys));
    for (const auto& [key, times] : tally) EXPECT_EQ(times, 1) << key;
}

TEST_P(Accepting, AnExpiredKeyIsLetInAgainWhetherSweptOrNot) {
    Application app{place()};
    const BoxOptions options{.lanes = Lanes::none, .dedup_window = 10min};
    app->inbox("orders", options).on("*", "t", [](const Message&) {});
    const Message message{.type = "t", .body = "x", .dedup_key = "k"};
    const std::vector<BoxDeclaration> boxes{{"orders", options}};

    EXPECT_EQ(app->append(message).status, Status::fresh);
    EXPECT_EQ(app->upkeep().sweep(boxes, 100).dedup_records, 0U);
    EXPECT_EQ(app->append(message).status, Status::duplicate);

    place().advance(10min);
    EXPECT_EQ(app->append(message).status, Status::fresh);

    place().advance(10min);
    EXPECT_EQ(app->upkeep().sweep(boxes, 100).dedup_records, 1U);
    EXPECT_EQ(app->append(message).status, Status::fresh);
}

TEST_P(Accepting, SweepingBesideWritesLetsNoDuplicateInAndLosesNothing) {
    Application app{place()};
    Notes handled;
    const BoxOptions options{.lanes = Lanes::none, .dedup_window = 1h, .keep_done = 0s};
    app->inbox("orders", options).on("*", "t", [&](const Message& m) { handled.add(m.body); });
    app->start();
    const std::vector<BoxDeclaration> boxes{{"orders", options}};
    std::atomic<int> fresh{0};
    {
        Background sweeper{[&](std::stop_token stop) {
            while (!stop.stop_requested()) app->upkeep().sweep(boxes, 10);
        }};
        run_together(2, [&](int) {
            for (int i = 0; i < 300; ++i) {
                const std::string key = std::to_string(i);
                const Status status =
                    app->append({.type = "t", .body = key, .dedup_key = key}).status;
                fresh += status == Status::fresh;
            }
        });
        sweeper.stop();
    }

    EXPECT_EQ(fresh, 300);
    ASSERT_TRUE(app.log.wait_for(Kind::finished, 300, long_patience));
    EXPECT_EQ(handled.tally().size(), 300U);
    EXPECT_EQ(handled.all().size(), 300U);
}

TEST_P(Accepting, ATypeOf256CharactersIsAcceptedAndOneMoreIsRefusedBeforeAnythingIsStored) {
    Application app{place()};
    app->inbox("orders").on("*", "t", [](const Message&) {});

    EXPECT_EQ(app->append({.type = std::string(256, 't')}).status, Status::fresh);
    EXPECT_THROW(app->append({{.type = "t"}, {.type = std::string(257, 't')}}), InvalidMessage);
    EXPECT_THROW(app->append({.type = "t", .dedup_key = std::string(257, 'k')}), InvalidMessage);

    EXPECT_EQ(app.count(Filter::State::any), 1U);
    EXPECT_TRUE(app->run_until_idle());
}

TEST_P(Accepting, AnEndlessErrorTextIsCutAndTheOthersOfItsBatchAreSettled) {
    Application app{place()};
    app->inbox("orders", {.lanes = Lanes::none}).on("*", "t", [](const Message& m) -> Outcome {
        if (m.body != "3") return Done{};
        return Fail{.reason = std::string(5'000, 'x'), .permanent = true};
    });
    app->append(numbered(10));

    ASSERT_TRUE(app->run_until_idle());

    EXPECT_EQ(app.log.count(Kind::done), 9U);
    const auto letters = app.dead();
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].letter.failures, 1U);
    EXPECT_LE(letters[0].letter.reason.size(), 4'000U);
    EXPECT_THAT(letters[0].letter.reason, HasSubstr("xxx"));
}

TEST_P(Accepting, EveryByteReachesTheHandlerUnchanged) {
    Application app{place()};
    std::string every_byte;
    for (int byte = 0; byte < 256; ++byte) every_byte.push_back(static_cast<char>(byte));
    Message sent{.type = "a <type> with \"quotes\"", .source = "/s'ource;--", .body = every_byte};
    sent.content_type = "application/octet-stream";
    sent.attributes = {
        {"quotes", "\"'`"}, {"brackets", "<>&{}[]"}, {"accents", "äéîøß 漢字 🙂"}};
    sent.occurred_at = StoreTime{1'234'567'890'123'456us};
    sent.tenant = "ténant";
    sent.user = "üser";
    sent.correlation_id = "c\\or";
    sent.lane = "läne";
    sent.dedup_key = "ke'y";
    Message received;
    app->inbox("orders").on("*", "t", [&](const Message& m) { received = m; });

    sent.id = app->append(sent).id;
    sent.box = "orders";
    ASSERT_TRUE(app->run_until_idle());

    EXPECT_EQ(received, sent);
}

TEST_P(Accepting, AWriterWithoutHandlersLosesNothingWhetherItRunsOrNot) {
    {
        Application writer{place(), "writer"};
        writer->inbox("orders");
        writer->append({.type = "t", .body = "before"});
        writer->start();
        writer->append({.type = "t", .body = "while it runs"});
        ASSERT_TRUE(writer.log.wait_for(Kind::parked, 2));
        writer->stop();
        EXPECT_EQ(writer.count(Filter::State::parked), 2U);
        EXPECT_EQ(writer.count(Filter::State::dead), 0U);
    }
    Application reader{place(), "reader"};
    Notes handled;
    reader->inbox("orders").on("*", "t", [&](const Message& m) { handled.add(m.body); });
    reader->start();

    ASSERT_TRUE(reader.log.wait_for(Kind::finished, 2));
    EXPECT_THAT(handled.all(), testing::UnorderedElementsAre("before", "while it runs"));
}

}  // namespace waybill::test
