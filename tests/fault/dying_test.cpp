#include <set>

#include "fault/fixture.hpp"

/// Instances that die, freeze and come back, under load: of orders in lanes, and of entries that are handled inline, in
/// transactions of the store.
namespace waybill::fault {
namespace {

class DyingInstance : public Fault {
protected:
    static constexpr int kLanes = 64;
    static constexpr auto kLease = 3s;

    void SetUp() override {
        start_together({"one", "two", "three"}, instance(""));
        app_ = publisher(conninfo());
        load_ = std::make_unique<Load>(*app_, kLanes);
        inline_load_ = std::make_unique<Load>(*app_, Load::inlined);
        ASSERT_TRUE(instances_.wait_for(ran(), 100)) << heard_kinds();
        // Whoever is at work inline.
        ASSERT_TRUE(instances_.wait_for(in_box("books"), 100)) << heard_kinds();
        const auto heard = instances_.heard();
        for (const auto& line : heard) {
            if (in_box("books")(line.told)) victim_ = line.told.instance;
        }
    }
    static Instances::Test in_box(const std::string& box) {
        return [=](const Told& told) { return told.kind == Told::Kind::run && told.what == box; };
    }
    /// What it owned when it told us last.
    std::set<std::uint32_t> owned_by(const std::string& name) {
        std::set<std::uint32_t> owned;
        for (const auto& heard : instances_.heard()) {
            const Told& told = heard.told;
            if (told.kind != Told::Kind::event || told.instance != name) continue;
            if (told.what == "owned") owned.insert(told.partition);
            if (told.what == "given" || told.what == "lost") owned.erase(told.partition);
        }
        return owned;
    }
    /// Until others run something of each of these; how long that took.
    Seconds taken_over(const std::set<std::uint32_t>& partitions, const std::string& from) {
        const auto begin = steady_now();  // it was the last thing that happened
        const std::size_t before = instances_.heard().size();
        const bool all = instances_.wait_until([&](const std::vector<Instances::Heard>& heard) {
            std::set<std::uint32_t> left = partitions;
            for (std::size_t i = before; i < heard.size(); ++i) {
                const Told& told = heard[i].told;
                if (told.kind == Told::Kind::run && told.instance != from) {
                    left.erase(told.partition);
                }
            }
            return left.empty();
        });
        EXPECT_TRUE(all) << heard_kinds();
        return steady_now() - begin;
    }
    void expect_all_done() {
        const int published = load_->stop() + inline_load_->stop();
        EXPECT_TRUE(wait_done()) << heard_kinds();
        EXPECT_EQ(count(Filter::State::done), static_cast<std::uint64_t>(published));
        EXPECT_EQ(wrong_effects(), "0");
        EXPECT_EQ(lane_problems(), "");
        EXPECT_EQ(instances_.count(event("reconciled")), 0U);
        EXPECT_EQ(instances_.count(event("failed")), 0U);
        RecordProperty("published", published);
        if (std::getenv("WAYBILL_FAULT_TRACE") != nullptr) print_events();
    }

    std::string victim_{};
    std::unique_ptr<Waybill> app_{};
    std::unique_ptr<Load> load_{};
    std::unique_ptr<Load> inline_load_{};
};

TEST_F(DyingInstance, ThatIsKilledUnderLoadIsReplacedWithinItsLeaseAndTwoSeconds) {
    const auto orphans = owned_by(victim_);
    ASSERT_FALSE(orphans.empty());

    instances_.kill(victim_);
    const Seconds took = taken_over(orphans, victim_);

    EXPECT_LE(took, kLease + 2s);
    RecordProperty("took_ms", static_cast<int>(took.count() * 1000));
    expect_all_done();
}

TEST_F(DyingInstance, ThatIsFrozenIsReplacedAndSettlesNothingWhenItGoesOn) {
    const auto orphans = owned_by(victim_);
    ASSERT_FALSE(orphans.empty());

    instances_.freeze(victim_);
    const Seconds took = taken_over(orphans, victim_);
    EXPECT_LE(took, kLease + 2s);
    RecordProperty("took_ms", static_cast<int>(took.count() * 1000));
    const std::size_t before = instances_.heard().size();
    instances_.thaw(victim_);
    ASSERT_TRUE(instances_.wait_for(event("lost", victim_), orphans.size())) << heard_kinds();

    // A settlement that had reached the store before counts, and its answer is heard now. All else is
    // another's: whatever it calls done, nobody else was given.
    expect_all_done();
    std::set<std::string> run_by_others;
    std::set<std::string> begun_since;
    const auto heard = instances_.heard();
    for (std::size_t i = 0; i < heard.size(); ++i) {
        const Told& told = heard[i].told;
        if (told.kind == Told::Kind::run && told.instance != victim_) {
            run_by_others.insert(told.message);
        } else if (told.kind == Told::Kind::run && i >= before) {
            begun_since.insert(told.message);
        }
    }
    for (std::size_t i = before; i < heard.size(); ++i) {
        const Told& told = heard[i].told;
        const bool is_settled = event("done", victim_)(told) && !begun_since.contains(told.message);
        EXPECT_FALSE(is_settled && run_by_others.contains(told.message)) << told.line();
    }
}

}  // namespace
}  // namespace waybill::fault
