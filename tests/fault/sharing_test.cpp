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
    void expect_all_at_once(std::vector<Message> jobs, std::chrono::milliseconds each) {
        auto app = publisher(conninfo());
        for (Message& job : jobs) job.type = "sleep:" + std::to_string(each.count());
        const auto begin = steady_now();
        app->append(std::move(jobs));
        ASSERT_TRUE(instances_.wait_for(event("finished"), kJobs)) << heard_kinds();
        const Seconds took = steady_now() - begin;
        EXPECT_LE(took, each * 13 / 10) << heard_kinds();
        EXPECT_EQ(instances_.count(ran()), kJobs);
        RecordProperty("took_ms", static_cast<int>(took.count() * 1000));
    }

    std::vector<std::string> owners_{};
};

TEST_F(LongJobs, AsManyAsThereAreSlotsTakeLittleLongerThanOne) {
    start(instance(""));
    std::vector<Message> jobs;
    std::map<std::string, int> given;
    for (int lane = 0; jobs.size() < kJobs; ++lane) {
        const Message job = order(lane, lane);
        if (given[owners_[partition_of(job)]]++ < 2) jobs.push_back(job);
    }

    expect_all_at_once(jobs, 3000ms);
}

/// The long version: whoever has more of them than slots gives, whoever has none takes.
TEST_F(LongJobs, DISABLED_WhereverTheyWereAppendedTakeLittleLongerThanOne) {
    const std::chrono::milliseconds each{setting("WAYBILL_FAULT_JOB_MS", 10'000)};
    Instance like = instance("");
    like.lease = 5s;
    like.beat = 1s;
    start(like);
    // An owner keeps what it took for three leases.
    pause_for(3 * like.lease + 1s);
    std::vector<Message> jobs;
    std::set<std::uint32_t> partitions;
    for (int lane = 0; jobs.size() < kJobs; ++lane) {
        const Message job = order(lane, lane);
        // A partition goes to whoever is free only while nothing of it runs.
        if (partitions.insert(partition_of(job)).second) jobs.push_back(job);
    }

    expect_all_at_once(jobs, each);
}

}  // namespace
}  // namespace waybill::fault
