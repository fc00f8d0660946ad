#include <iterator>
#include <set>

#include "fault/fixture.hpp"
#include "waybill/slot.hpp"

/// Instances that come and go on purpose, and what they share.
namespace waybill::fault {
namespace {

class Sharing : public Fault {};

/// Three of the old version are replaced by three of a new one that has a target more, one after the other.
TEST_F(Sharing, ARollingRestartUnderLoadLosesNothingAndGivesTheNewTargetAllThatCameAfterIt) {
    start_together({"old1", "old2", "old3"}, instance(""));
    auto app = publisher(conninfo());
    Load load{*app, 48, 2ms};
    ASSERT_TRUE(instances_.wait_for(ran(), 100)) << heard_kinds();

    Instance renewed = instance("");
    renewed.targets = "bill,mail";
    int registered_at = -1;
    for (const char* number : {"1", "2", "3"}) {
        const std::string leaves = std::string{"old"} + number;
        EXPECT_EQ(instances_.end(leaves), 0) << leaves;
        renewed.name = std::string{"new"} + number;
        instances_.start(renewed);
        if (registered_at < 0) {
            const auto has_mail = [&] { return store_->targets().size() == 3; };
            ASSERT_TRUE(look_until(has_mail, Instances::patience));
            // All that is appended from here on; the next one may be on its way.
            registered_at = load.published() + 1;
        }
        const std::size_t before = instances_.count(ran());
        ASSERT_TRUE(instances_.wait_for(ran(), before + 100)) << heard_kinds();
    }
    const int published = load.stop();

    ASSERT_TRUE(wait_done()) << heard_kinds();
    EXPECT_EQ(count(Filter::State::done), static_cast<std::uint64_t>(published));
    EXPECT_EQ(lane_problems(), "");
    EXPECT_EQ(instances_.count(event("failed")), 0U) << heard_kinds();
    std::set<std::int64_t> billed;
    std::set<std::int64_t> mailed;
    for (const auto& heard : instances_.heard()) {
        if (heard.told.kind != Told::Kind::well) continue;
        (heard.told.target == "bill" ? billed : mailed).insert(heard.told.number);
    }
    EXPECT_EQ(billed.size(), static_cast<std::size_t>(published));
    for (int n = registered_at; n < published; ++n) {
        EXPECT_TRUE(mailed.contains(n)) << n << " of " << registered_at << " … " << published;
    }
    RecordProperty("published", published);
    RecordProperty("after_registration", published - registered_at);
}

/// Six of them, on three instances with two slots each.
class LongJobs : public Sharing {
protected:
    static constexpr std::size_t kJobs = 6;

    /// Each owns some of the busy box.
    void start(Instance like) {
        like.slots = 2;
        start_together({"one", "two", "three"}, like);
        const auto all_have_some = [&] {
            owners_ = owners_by_slot();
            return std::set<std::string>(owners_.begin(), owners_.end()).size() == 3;
        };
        ASSERT_TRUE(look_until(all_have_some, Instances::patience)) << heard_kinds();
    }
    std::vector<std::string> owners_by_slot() const {
        std::istringstream in{cluster_.ask(
            "select string_agg(owner::text, ' ' order by first_slot) from waybill.partition p "
            "join waybill.box b on b.id = p.box where b.name = 'orders'",
            database_)};
        return {std::istream_iterator<std::string>{in}, {}};
    }
    static std::uint32_t partition_of(const Message& message) {
        return slot_of(message) * 8 / slot_count;
    }
    /// One for each of six partitions: it goes to whoever is free only while nothing of it runs.
    static std::vector<Message> jobs(const std::string& type) {
        std::vector<Message> all;
        std::set<std::uint32_t> partitions;
        for (int lane = 0; all.size() < kJobs; ++lane) {
            const Message job = order(lane, lane, type);
            if (partitions.insert(partition_of(job)).second) all.push_back(job);
        }
        return all;
    }

    std::vector<std::string> owners_{};
};

/// Whoever has more of them than slots gives, whoever has none takes. `script/torture postgres jobs` looks at the
/// clock as well, which needs a quiet machine.
TEST_F(LongJobs, RunAllAtOnceWhereverTheyWereAppended) {
    const std::chrono::milliseconds each{setting("WAYBILL_FAULT_JOB_MS", 0)};
    const bool is_timed = each > 0ms;
    Instance like = instance("");
    like.lease = is_timed ? 5s : 1s;
    like.beat = is_timed ? 1000ms : 100ms;
    start(like);
    // An owner keeps what it took for three leases.
    if (is_timed) pause_for(3 * like.lease + 1s);
    instances_.close_gate();
    auto app = publisher(conninfo());
    const auto begin = steady_now();
    app->append(jobs(is_timed ? "sleep:" + std::to_string(each.count()) : "gate"));

    const auto all_run = [&](const std::vector<Instances::Heard>& heard) {
        std::set<std::string> messages;
        for (const auto& [told, at] : heard) {
            if (told.kind == Told::Kind::run) messages.insert(told.message);
        }
        return messages.size() == kJobs;
    };
    EXPECT_TRUE(instances_.wait_until(all_run)) << heard_kinds();
    instances_.open_gate();
    ASSERT_TRUE(wait_done()) << heard_kinds();
    if (!is_timed) return;
    const Seconds took = steady_now() - begin;
    EXPECT_LE(took, each * 13 / 10) << heard_kinds();
    EXPECT_EQ(instances_.count(ran()), kJobs);
    RecordProperty("took_ms", static_cast<int>(took.count() * 1000));
}

}  // namespace
}  // namespace waybill::fault
