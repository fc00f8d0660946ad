#include "fault/fixture.hpp"

/// Somebody holds a transaction open for a long time.
namespace waybill::fault {
namespace {

class HeldTransaction : public Fault {
protected:
    /// What is handled while the load comes as fast as it can, per second.
    double rate_during(Waybill& app, std::chrono::seconds time) {
        const std::size_t before = instances_.count(event("finished"));
        const auto begin = steady_now();
        std::vector<std::unique_ptr<Load>> loads;
        constexpr int loaders = 4;
        for (int n = 0; n < loaders; ++n) {
            loads.push_back(std::make_unique<Load>(app, 16, 0us, 0, std::to_string(n) + "/"));
        }
        pause_for(time);  // It is what is measured.
        const std::size_t handled = instances_.count(event("finished")) - before;
        const Seconds took = steady_now() - begin;
        for (const auto& load : loads) load->stop();
        return static_cast<double>(handled) / took.count();
    }
    /// With a load of that length from the beginning.
    double rate_of_two_instances(std::chrono::seconds time) {
        start_together({"one", "two"}, instance(""));
        const auto app = publisher(conninfo());
        const double rate = rate_during(*app, time);
        EXPECT_TRUE(wait_done(10min));
        return rate;
    }
    std::size_t owned_by(const std::string& name) const {
        return std::stoul(
            cluster_.ask("select count(*) from waybill.partition p join waybill.instance i "
                         "on i.incarnation = p.owner where i.name = '" +
                             name + "'",
                         database_));
    }
};

/// The same without anybody who holds anything, on a database of its own: what grows with time grows in both.
class Control final : public HeldTransaction {
public:
    using HeldTransaction::rate_of_two_instances;

private:
    void TestBody() override {}
};

/// A snapshot keeps every row that goes meanwhile: what reads and takes over must not walk over them.
TEST_F(HeldTransaction, ThatReadsCostsNoThroughputAndNoTakeover) {
    const std::chrono::seconds time{setting("WAYBILL_FAULT_SECONDS", 1)};
    const bool is_long = time >= 60s;
    const double control = Control{}.rate_of_two_instances(time);

    Client holder{conninfo()};
    holder.run("begin isolation level repeatable read; select count(*) from waybill.message");
    const double held = rate_of_two_instances(time);
    // At its end one dies: the dead rows are still there, and another takes over.
    const std::size_t has = owned_by("two");
    const std::size_t since = instances_.position();
    const auto begin = steady_now();
    instances_.kill("one");
    ASSERT_TRUE(instances_.wait_for(event("scanned", "two"), 16 - has, Instances::patience, since))
        << heard_kinds();
    const Seconds took = steady_now() - begin;
    holder.run("commit");

    EXPECT_LE(took, 3s + 2s);
    // A few seconds on a busy machine are no measurement.
    if (is_long) {
        EXPECT_GE(held, 0.9 * control);
    }
    EXPECT_EQ(instances_.count(event("failed")), 0U);
    EXPECT_EQ(lane_problems(), "");
    RecordProperty("control_per_second", static_cast<int>(control));
    RecordProperty("held_per_second", static_cast<int>(held));
    RecordProperty("takeover_ms", static_cast<int>(took.count() * 1000));
}

/// What it published is older than what others published and saw handled meanwhile, and is not skipped.
TEST_F(HeldTransaction, ThatPublishesStallsNobodyAndIsNotSkipped) {
    const int messages = setting("WAYBILL_FAULT_SECONDS", 1) * 200;
    start_together({"one", "two"}, instance(""));
    auto app = publisher(conninfo());
    Client holder{conninfo()};
    holder.run("begin; select waybill.publish('quick', '1', 'orders', lane => 'late')");

    for (int n = 0; n < messages; ++n) {
        app->append(order(n % 32, n));
        if (messages > 1000)
            pause_for(5ms);  // The rate of the load: for as long as it was told to.
    }
    ASSERT_TRUE(wait_done()) << "others wait for a transaction that is open: " << heard_kinds();
    EXPECT_EQ(count(Filter::State::done), static_cast<std::uint64_t>(messages));
    holder.run("commit");

    EXPECT_TRUE(instances_.wait_for([](const Told& told) {
        return told.kind == Told::Kind::well && told.lane == "late";
    })) << heard_kinds();
    ASSERT_TRUE(wait_done());
    EXPECT_EQ(lane_problems(), "");
    EXPECT_EQ(instances_.count(event("reconciled")), 0U);
}

}  // namespace
}  // namespace waybill::fault
