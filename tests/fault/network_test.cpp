#include <set>

#include "fault/fixture.hpp"
#include "support/postgres_proxy.hpp"

/// What a network does to a conversation with the server.
namespace waybill::fault {
namespace {

class Network : public Fault {
protected:
    /// One instance and one publisher behind the proxy, and everything they do has an effect to count.
    void publish_all(int messages) {
        auto app = publisher(proxy_.conninfo(database_));
        std::set<std::string> ids;
        for (int n = 0; n < messages; ++n) {
            Message message = n % 2 == 0 ? order(n % 16, n) : entry(n);
            message.dedup_key = "message " + std::to_string(n);
            // What the store did not answer is asked again, as a caller would with its key.
            AppendResult result;
            do {
                result = app->append(message);
            } while (result.status == AppendResult::Status::unknown);
            unknown_resolved_ += result.status == AppendResult::Status::duplicate ? 1 : 0;
            ids.insert(waybill::to_string(result.id));
        }
        EXPECT_EQ(ids.size(), static_cast<std::size_t>(messages));
    }
    void expect_each_once(int messages) {
        ASSERT_TRUE(wait_done()) << heard_kinds();
        EXPECT_EQ(count(Filter::State::done), static_cast<std::uint64_t>(messages));
        EXPECT_EQ(count(Filter::State::dead), 0U);
        EXPECT_EQ(wrong_effects(), "0");
        EXPECT_EQ(lane_problems(), "");
        EXPECT_EQ(instances_.count(event("failed")), 0U) << heard_kinds();
        LaneBook book;
        book.hear(instances_.heard());
        int again = 0;
        for (const auto& [delivery, times] : book.runs()) {
            if (delivery.first == "bill") again += times - 1;
        }
        EXPECT_EQ(again, 0) << "what was settled ran again";
    }

    test::PostgresProxy proxy_{cluster_.socket_folder()};
    int unknown_resolved_ = 0;
};

TEST_F(Network, ThatSwallowsAnswersToCommitsLosesAndDoublesNothing) {
    const int messages = setting("WAYBILL_FAULT_MESSAGES", 120);
    Instance behind = instance("only");
    behind.conninfo = proxy_.conninfo(database_);
    instances_.start(behind);
    ASSERT_TRUE(instances_.wait_for(event("scanned")));
    proxy_.swallow("waybill_append", 3);
    proxy_.swallow("waybill_settle", 3);
    proxy_.swallow("commit", 3);

    publish_all(messages);

    expect_each_once(messages);
    RecordProperty("swallowed", static_cast<int>(proxy_.swallowed()));
    EXPECT_GT(proxy_.swallowed(), static_cast<std::uint64_t>(messages) / 10);
}

/// Most appends have no key, and are one plain statement of their own. What became of one whose answer never came is
/// told by its id; and under its id it can be appended again.
TEST_F(Network, ThatLosesAppendsWithoutKeysOrTheirAnswersLeavesTheTruthUnderTheirIds) {
    const int messages = setting("WAYBILL_FAULT_MESSAGES", 300);
    instances_.start(instance("only"));
    ASSERT_TRUE(instances_.wait_for(event("scanned")));
    auto app = publisher(proxy_.conninfo(database_));
    proxy_.swallow("waybill_append_new", 3);
    proxy_.lose("waybill_append_new", 7);

    std::set<std::string> ids;
    std::uint64_t was_stored = 0;
    std::uint64_t was_not = 0;
    for (int n = 0; n < messages; ++n) {
        Message message = n % 2 == 0 ? order(n % 16, n) : entry(n);
        AppendResult result = app->append(message);
        message.id = result.id;
        while (result.status == AppendResult::Status::unknown) {
            const bool is_stored = store_->get(result.id).has_value();
            ++(is_stored ? was_stored : was_not);
            if (is_stored) break;
            result = app->append(message);
        }
        ids.insert(waybill::to_string(result.id));
    }

    EXPECT_EQ(ids.size(), static_cast<std::size_t>(messages));
    expect_each_once(messages);
    EXPECT_EQ(was_stored, proxy_.swallowed());
    EXPECT_EQ(was_not, proxy_.lost());
    EXPECT_GT(was_stored, static_cast<std::uint64_t>(messages) / 10);
    EXPECT_GT(was_not, static_cast<std::uint64_t>(messages) / 20);
    RecordProperty("swallowed", static_cast<int>(proxy_.swallowed()));
    RecordProperty("lost", static_cast<int>(proxy_.lost()));
}

/// The connections stay open, and nobody answers: heartbeats, the channel of reads and settlements, and whoever appends
/// each find out by themselves. That the one for wake-ups does too is shown by tests/postgres/connecting_test.cpp.
TEST_F(Network, ThatFallsSilentIsNoticedWithinTenSeconds) {
    Instance behind = instance("only");
    behind.conninfo = proxy_.conninfo(database_);
    instances_.close_gate();
    instances_.start(behind);
    ASSERT_TRUE(instances_.wait_for(event("scanned"), 16));
    auto app = publisher(proxy_.conninfo(database_));
    Message first = order(0, 0, "gate");
    first.dedup_key = "so that the statement for keys is prepared";
    app->append(first);
    ASSERT_TRUE(instances_.wait_for(ran()));

    proxy_.silence(true);
    const auto begin = steady_now();
    instances_.open_gate();  // and there is something to settle
    Message lost = order(0, 1);
    lost.dedup_key = "asked again";
    EXPECT_EQ(app->append(lost).status, AppendResult::Status::unknown);
    EXPECT_TRUE(instances_.wait_for(event("beat_failed")));
    const auto of_the_channel = [](const Told& told) {
        return event("read_failed")(told) || event("settle_failed")(told);
    };
    EXPECT_TRUE(instances_.wait_for(of_the_channel)) << heard_kinds();
    EXPECT_LE(Seconds{steady_now() - begin}, 10s);
    proxy_.silence(false);

    // What was on its way arrives now, or is asked again and found.
    EXPECT_NE(app->append(lost).status, AppendResult::Status::unknown);
    for (int n = 2; n < 20; ++n) app->append(order(n % 4, n));
    expect_each_once(20);
}

TEST_F(Network, ThatCutsEveryConnectionAgainAndAgainLosesNothing) {
    Instance behind = instance("only");
    behind.conninfo = proxy_.conninfo(database_);
    instances_.start(behind);
    ASSERT_TRUE(instances_.wait_for(event("scanned"), 16));

    auto app = publisher(proxy_.conninfo(database_));
    Load load{*app, 16, 1ms};
    for (int n = 1; n <= 10; ++n) {
        ASSERT_TRUE(instances_.wait_for(ran(), static_cast<std::size_t>(n) * 30)) << heard_kinds();
        proxy_.cut();
    }

    const int published = load.stop();
    ASSERT_TRUE(wait_done()) << heard_kinds();
    // Of the last one we may not have heard.
    EXPECT_GE(count(Filter::State::done), static_cast<std::uint64_t>(published));
    EXPECT_LE(count(Filter::State::done), static_cast<std::uint64_t>(published) + 1);
    EXPECT_EQ(lane_problems(), "");
    EXPECT_EQ(instances_.count(event("failed")), 0U);
    EXPECT_EQ(instances_.count(event("lost")), 0U) << heard_kinds();
}

}  // namespace
}  // namespace waybill::fault
