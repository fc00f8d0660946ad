#include <numeric>
#include <random>
#include <set>

#include "fault/fixture.hpp"
#include "waybill/halted_lanes.hpp"
#include "waybill/postgres/publish.hpp"

/// Scenarios of tests/scenarios that are about several processors, with processes.
namespace waybill::fault {
namespace {

class Processes : public Fault {
protected:
    void start(int count, bool more = false) {
        Instance like = instance("");
        like.more = more;
        std::vector<std::string> names;
        for (int n = 0; n < count; ++n) names.push_back("number" + std::to_string(n));
        if (!more) return start_together(names, like);
        for (const std::string& name : names) {
            like.name = name;
            instances_.start(like);
        }
        ASSERT_TRUE(instances_.wait_for(event("scanned"), 40)) << heard_kinds();
    }
    static std::vector<Message> numbered(int count, int lane, const std::string& box = "orders") {
        std::vector<Message> messages;
        for (int n = 0; n < count; ++n) {
            messages.push_back(order(lane, n));
            messages.back().box = box;
        }
        return messages;
    }
    std::vector<std::int64_t> calls_of(const std::string& lane) {
        std::vector<std::int64_t> numbers;
        for (const auto& heard : instances_.heard()) {
            if (heard.told.kind == Told::Kind::run && heard.told.lane == lane) {
                numbers.push_back(heard.told.number);
            }
        }
        return numbers;
    }
    std::map<std::string, int> calls_by_message() {
        std::map<std::string, int> calls;
        for (const auto& heard : instances_.heard()) {
            if (heard.told.kind == Told::Kind::run) ++calls[heard.told.message];
        }
        return calls;
    }
    void append(std::vector<Message> messages) { app_->append(std::move(messages)); }
    /// Of the store. Leases end with it, and begin again with the next beat.
    void advance_an_hour() {
        cluster_.ask(
            "create or replace function waybill.clock() returns bigint language sql stable "
            "parallel safe as $$ select (extract(epoch from statement_timestamp() + "
            "interval '1 hour') * 1000000)::bigint $$",
            database_);
    }
    /// Three in a lane of the box that halts; once the first one is dead.
    Uuid halt_a_lane() {
        app_->inbox("halting", box(8));
        std::vector<Message> messages = numbered(3, 7, "halting");
        messages[0].type = "dead once";
        const Uuid head = app_->append(messages).at(0).id;
        EXPECT_TRUE(instances_.wait_for(event("halted"))) << heard_kinds();
        EXPECT_THAT(calls_of("lane7"), testing::ElementsAre(0));
        return head;
    }
    static Instances::Test in_lane(const std::string& lane) {
        return [=](const Told& told) { return told.kind == Told::Kind::run && told.lane == lane; };
    }

    std::unique_ptr<Waybill> app_ = publisher(conninfo());
};

TEST_F(Processes, RaceOverAThousandMessagesAndEachIsHandledOnce) {
    start(3);
    for (int n = 0; n < 10; ++n) {
        std::vector<Message> batch;
        for (int i = 0; i < 100; ++i) batch.push_back(order(n * 100 + i, 0));
        append(std::move(batch));
    }

    ASSERT_TRUE(wait_done()) << heard_kinds();
    const auto calls = calls_by_message();
    EXPECT_EQ(calls.size(), 1000U);
    for (const auto& [message, times] : calls) EXPECT_EQ(times, 1) << message;
}

TEST_F(Processes, SeeWhatIsPublishedInATransactionWhenItCommitsAndNeverWhenItDoesNot) {
    start(2);
    Client business{conninfo()};
    business.run("create table business (id int)");
    const auto publish = [&](int number) {
        business.run("begin; insert into business values (1)");
        return postgres::publish(business.handle(), order(number, number)).id;
    };
    publish(1);
    business.run("rollback");
    const Uuid kept = publish(2);
    // Meanwhile everybody looks, and finds what others have published since.
    append({order(3, 3)});
    ASSERT_TRUE(instances_.wait_for(in_lane("lane3"))) << heard_kinds();
    EXPECT_TRUE(calls_of("lane2").empty());
    business.run("commit");

    ASSERT_TRUE(instances_.wait_for(in_lane("lane2"))) << heard_kinds();
    ASSERT_TRUE(wait_done());
    EXPECT_EQ(calls_by_message()[waybill::to_string(kept)], 1);
    EXPECT_TRUE(calls_of("lane1").empty());
    EXPECT_EQ(business.run("select count(*) from business"), "1");
}

TEST_F(Processes, KeepTheOrderOfEachLaneWhoeverRunsIt) {
    start(3);
    append(numbered(50, 99));
    for (int n = 0; n < 20; ++n) {
        std::vector<Message> shuffled;
        for (int lane = 0; lane < 5; ++lane) shuffled.push_back(order((lane * 3 + n) % 5, n));
        append(std::move(shuffled));
    }
    // A head that fails twice is not overtaken.
    append({order(50, 0, "fail:2"), order(50, 1), order(50, 2)});

    ASSERT_TRUE(wait_done()) << heard_kinds();
    EXPECT_EQ(calls_of("lane99").size(), 50U);
    for (int lane = 0; lane < 5; ++lane) {
        const auto numbers = calls_of("lane" + std::to_string(lane));
        EXPECT_EQ(numbers.size(), 20U);
        EXPECT_TRUE(std::ranges::is_sorted(numbers));
    }
    EXPECT_THAT(calls_of("lane50"), testing::ElementsAre(0, 0, 0, 1, 2));
    EXPECT_EQ(lane_problems(), "");
}

TEST_F(Processes, StartNothingBehindAHeadThatRunsAndRunOtherLanesBesideIt) {
    instances_.close_gate();
    start(2);
    append({order(1, 0, "gate"), order(1, 1)});
    ASSERT_TRUE(instances_.wait_for(in_lane("lane1"))) << heard_kinds();
    // All heads at the same time, and ten thousand behind the first one cost them nothing.
    for (int n = 0; n < 10; ++n) append(numbered(1000, 1));
    for (int lane = 2; lane < 10; ++lane) append({order(lane, 0, "gate")});
    for (int lane = 2; lane < 10; ++lane) {
        ASSERT_TRUE(instances_.wait_for(in_lane("lane" + std::to_string(lane)))) << heard_kinds();
    }
    EXPECT_EQ(calls_of("lane1").size(), 1U);
    instances_.open_gate();

    ASSERT_TRUE(instances_.wait_for(in_lane("lane1"), 2)) << heard_kinds();
}

TEST_F(Processes, ThatEndInGoodOrderLeaveTheirWorkToOthersAtOnce) {
    instances_.close_gate();
    Instance first = instance("first");
    first.slots = 1;
    first.lease = 1min;
    instances_.start(first);
    ASSERT_TRUE(instances_.wait_for(event("scanned", "first"), 16));
    append({order(0, 0, "gate")});
    ASSERT_TRUE(instances_.wait_for(ran("first")));
    std::vector<Message> waiting;
    for (int lane = 1; lane < 50; ++lane) waiting.push_back(order(lane, 0));
    append(waiting);

    instances_.ask_to_end("first");
    instances_.start(instance("second"));
    // Its lease would last for a minute, and its one handler still runs: only that partition stays.
    const auto free_of = [&](const Told& told) { return ran("second")(told); };
    EXPECT_TRUE(instances_.wait_for(free_of, 20, 30s)) << heard_kinds();
    instances_.open_gate();

    EXPECT_EQ(instances_.wait_for_end("first"), 0);
    ASSERT_TRUE(wait_done()) << heard_kinds();
    EXPECT_EQ(instances_.count(event("failed")), 0U);
    for (const auto& [message, times] : calls_by_message()) EXPECT_EQ(times, 1) << message;
}

TEST_F(Processes, KilledByAMessageEveryTimeLeaveItAsADeadLetterAndTheRestIsDone) {
    Instance like = instance("");
    like.lease = 1s;
    like.beat = 100ms;
    append({order(1, 0, "bomb"), order(2, 1), order(3, 2)});
    const auto is_over = [&] { return store_->count({.state = Filter::State::open}) == 0; };
    for (int life = 0; life < 12 && !is_over(); ++life) {
        like.name = "life" + std::to_string(life);
        instances_.start(like);
        const auto has_ended = [&] { return is_over() || !instances_.is_alive(like.name); };
        ASSERT_TRUE(look_until(has_ended, Instances::patience)) << heard_kinds();
        if (!is_over()) instances_.kill(like.name);
    }

    EXPECT_EQ(count(Filter::State::dead), 1U);
    EXPECT_EQ(count(Filter::State::done), 2U);
    const auto letters = store_->dead_letters({}, {}, 10).items;
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_THAT(letters[0].letter.reason, testing::HasSubstr("crash loop"));
    EXPECT_EQ(instances_.count(event("failed")), 0U);
}

TEST_F(Processes, HaltALaneBehindItsDeadHeadUntilSomebodyRequeuesIt) {
    start(2, true);
    std::vector<Message> messages = numbered(3, 7, "halting");
    messages[0].type = "fail:5";
    const std::vector<Append> items = [&] {
        std::vector<Append> all;
        int number = 0;
        for (Message& message : messages) {
            message.id.bytes[15] = static_cast<std::uint8_t>(++number);
            all.push_back({.message = std::make_shared<const Message>(message)});
        }
        return all;
    }();
    store_->append(items);
    ASSERT_TRUE(instances_.wait_for(event("halted"))) << heard_kinds();
    EXPECT_THAT(calls_of("lane7"), testing::ElementsAre(0, 0, 0, 0, 0));

    const DeliveryRef head{messages[0].id, "work"};
    store_->requeue({&head, 1});
    // It fails as often again: the head is dead once more, and its successors have not run.
    ASSERT_TRUE(instances_.wait_for(event("halted"), 2)) << heard_kinds();
    EXPECT_EQ(calls_of("lane7").size(), 10U);
}

TEST_F(Processes, GoOnWithAHaltedLaneOnceARequeueOfItsHeadSucceeds) {
    start(2, true);
    const DeliveryRef head{halt_a_lane(), "work"};

    store_->requeue({&head, 1});

    ASSERT_TRUE(wait_done()) << heard_kinds();
    EXPECT_THAT(calls_of("lane7"), testing::ElementsAre(0, 0, 1, 2));
    EXPECT_EQ(count(Filter::State::done), 3U);
    EXPECT_EQ(count(Filter::State::dead), 0U);
}

TEST_F(Processes, GoOnWithAHaltedLaneOnceSomebodySkipsItsHead) {
    start(2, true);
    const Uuid head = halt_a_lane();

    EXPECT_EQ(HaltedLanes{*store_}.skip(head).size(), 1U);

    ASSERT_TRUE(wait_done()) << heard_kinds();
    EXPECT_THAT(calls_of("lane7"), testing::ElementsAre(0, 1, 2));
    EXPECT_EQ(count(Filter::State::dead), 1U);
}

TEST_F(Processes, AdvanceBehindADeadHeadUnlessTheyAreToldToHalt) {
    start(2);
    append({order(1, 0, "dead"), order(1, 1), order(1, 2)});

    ASSERT_TRUE(wait_done()) << heard_kinds();
    EXPECT_THAT(calls_of("lane1"), testing::ElementsAre(0, 1, 2));
    EXPECT_EQ(count(Filter::State::dead), 1U);
    EXPECT_EQ(count(Filter::State::done), 2U);
}

TEST_F(Processes, OvertakeAFailedHeadOfAnExclusiveLaneWhichComesBackInItsTime) {
    start(2, true);
    app_->inbox("exclusive", box(8));
    std::vector<Message> messages = numbered(3, 1, "exclusive");
    messages[0].type = "fail:1";

    append(std::move(messages));
    ASSERT_TRUE(instances_.wait_for(event("done"), 2)) << heard_kinds();
    EXPECT_THAT(calls_of("lane1"), testing::ElementsAre(0, 1, 2));
    EXPECT_EQ(count(Filter::State::open), 1U);

    advance_an_hour();
    ASSERT_TRUE(wait_done()) << heard_kinds();
    EXPECT_THAT(calls_of("lane1"), testing::ElementsAre(0, 1, 2, 0));
    EXPECT_EQ(count(Filter::State::done), 3U);
}

TEST_F(Processes, KeepOneLaneInOrderThroughRandomFailuresAndKills) {
    const int kills = setting("WAYBILL_FAULT_KILLS", 2);
    const int messages = kills * 100;
    std::mt19937 random{65};
    Instance like = instance("");
    like.lease = 1s;
    like.beat = 100ms;
    int lives = 0;
    const auto begin_another = [&] {
        like.name = "life" + std::to_string(++lives);
        instances_.start(like);
    };
    begin_another();
    begin_another();
    std::vector<Message> all = numbered(messages, 1);
    for (Message& message : all) message.type = random() % 10 == 0 ? "fail:1" : "quick";
    append(std::move(all));

    for (int n = 0; n < kills; ++n) {
        const std::size_t since = instances_.position();
        const std::size_t runs = 10 + random() % 50;
        ASSERT_TRUE(instances_.wait_for(ran(), runs, Instances::patience, since)) << heard_kinds();
        std::string at_work;
        for (const auto& heard : instances_.heard()) {
            if (heard.told.kind == Told::Kind::run) at_work = heard.told.instance;
        }
        instances_.kill(at_work);
        begin_another();
    }

    ASSERT_TRUE(wait_done()) << heard_kinds();
    EXPECT_EQ(count(Filter::State::done), static_cast<std::uint64_t>(messages));
    EXPECT_EQ(lane_problems(), "");
    EXPECT_EQ(calls_by_message().size(), static_cast<std::size_t>(messages));
}

TEST_F(Processes, KeepTenThousandOfOneWriteInOrderAndSinglesBehindThem) {
    constexpr int kTogether = 10'000;
    constexpr int kAll = kTogether + 20;
    start(2, true);
    app_->inbox("batches", box(8));
    std::vector<Message> all = numbered(kAll, 1, "batches");
    append({all.begin(), all.begin() + kTogether});
    for (int n = kTogether; n < kAll; ++n) append({all[static_cast<std::size_t>(n)]});

    ASSERT_TRUE(wait_done()) << heard_kinds();
    std::vector<std::int64_t> expected(kAll);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(calls_of("lane1"), expected);
}

TEST_F(Processes, BatchTheMessagesOfALaneOnlyAsLongAsTheirTypeIsTheSame) {
    start(2, true);
    app_->inbox("batches", box(8));
    std::vector<Message> all = numbered(4, 1, "batches");
    all[2].type = "another";
    append(std::move(all));

    ASSERT_TRUE(wait_done()) << heard_kinds();
    std::vector<std::string> came_together;
    for (const auto& heard : instances_.heard()) {
        if (in_lane("lane1")(heard.told)) came_together.push_back(heard.told.text);
    }
    EXPECT_THAT(came_together, testing::ElementsAre("2", "2", "1", "1"));
}

TEST_F(Processes, SeeNothingOfATransactionWhoseMessageIsTooLarge) {
    start(2);
    Client business{conninfo()};
    business.run("create table business (id int)");
    Message large = order(1, 1);
    large.body.resize((16U << 20) + 1);

    // In C++ the transaction goes on, and what becomes of it is the caller's to say.
    business.run("begin; insert into business values (1)");
    EXPECT_THROW(postgres::publish(business.handle(), large), InvalidMessage);
    business.run("rollback");
    // In SQL it has failed.
    business.run("begin; insert into business values (2)");
    const std::string refusal = business.refused(
        "select waybill.publish(box => 'orders', type => 'quick', lane => 'lane1', "
        "body => convert_to(repeat('x', 16777217), 'UTF8'))");
    EXPECT_THAT(refusal, testing::HasSubstr("16777217 bytes"));
    business.run("commit");

    append({order(2, 2)});
    ASSERT_TRUE(instances_.wait_for(in_lane("lane2"))) << heard_kinds();
    ASSERT_TRUE(wait_done());
    EXPECT_EQ(calls_by_message().size(), 1U);
    EXPECT_EQ(business.run("select count(*) from business"), "0");
}

TEST_F(Processes, AreGivenAMessageAsItWasWrittenWhicheverWayItCame) {
    const std::string letterhead =
        "shop|text/plain|acme|ada|c-1|k|bool=true|double=1.5|int=-1|long=9223372036854775807|"
        "object={\"a\": [1, null]}|string=a \"b\" ü";
    start(2);
    Message message = order(1, 1, "letterhead");
    message.source = "shop";
    message.content_type = "text/plain";
    message.tenant = "acme";
    message.user = "ada";
    message.correlation_id = "c-1";
    message.collapse_key = "k";
    message.attributes = {{"bool", "true"},
                          {"double", "1.5"},
                          {"int", "-1"},
                          {"long", "9223372036854775807"},
                          {"object", "{\"a\": [1, null]}"},
                          {"string", "a \"b\" ü"}};
    std::map<std::string, std::string> lanes;
    lanes["lane1"] = waybill::to_string(app_->append(message).id);

    Client business{conninfo()};
    business.run("begin");
    message.lane = "lane2";
    lanes["lane2"] = waybill::to_string(postgres::publish(business.handle(), message).id);
    lanes["lane3"] = business.run(
        "select waybill.publish(box => 'orders', type => 'letterhead', body => '1', "
        "lane => 'lane3', source => 'shop', content_type => 'text/plain', tenant => 'acme', "
        "user_id => 'ada', correlation_id => 'c-1', collapse_key => 'k', attributes => "
        "'{\"bool\": true, \"int\": -1, \"long\": 9223372036854775807, \"double\": 1.5, "
        "\"string\": \"a \\\"b\\\" ü\", \"object\": {\"a\": [1, null]}}')");
    business.run("commit");

    ASSERT_TRUE(instances_.wait_for(ran(), lanes.size())) << heard_kinds();
    for (const auto& heard : instances_.heard()) {
        if (heard.told.kind != Told::Kind::run) continue;
        EXPECT_EQ(heard.told.text, letterhead) << heard.told.lane;
        EXPECT_EQ(heard.told.message, lanes[heard.told.lane]) << heard.told.lane;
        EXPECT_EQ(heard.told.what, "orders");
    }
}

}  // namespace
}  // namespace waybill::fault
