#include <map>

#include "engine/fixture.hpp"

/// Targets that come and go while the engine runs.
namespace waybill::test {
namespace {

using Starts = std::vector<std::string>;

/// Only their options: the stepper carries them out.
class Options final : public TargetFamily {
public:
    void start(std::vector<Job>) override {}
    void cancel(std::span<const std::uint64_t>) override {}
    void on_change(std::function<void()>) override {}
    std::uint64_t version() const override { return version_; }
    TargetOptions options_of(const std::string& key) override {
        const auto found = all_.find(key);
        return found == all_.end() ? TargetOptions{.held = true} : found->second;
    }
    void put(const std::string& key, TargetOptions options) {
        all_[key] = std::move(options);
        ++version_;
    }

private:
    std::map<std::string, TargetOptions> all_{};
    std::uint64_t version_ = 1;
};

class Subscriptions : public EngineTest {
protected:
    Options family;

    Stepper& run_outbox(BoxOptions options = {.unmatched = Unmatched::done}) {
        engine::LocalBox box = a_box("orders", options, {});
        box.family = &family;
        return run(box);
    }
    void subscribe(const std::string& name, Matcher matcher = {}, TargetOptions options = {}) {
        family.put("subscription:" + name, std::move(options));
        const Target target{
            .box = "orders", .key = "subscription:" + name, .matcher = std::move(matcher)};
        const BoxDeclaration box{.name = "orders", .options = {.unmatched = Unmatched::done}};
        store->declare({&box, 1}, {&target, 1});
    }
    static Message of_tenant(std::string body, std::string tenant) {
        Message one = message(std::move(body));
        one.tenant = std::move(tenant);
        return one;
    }
};

TEST_F(Subscriptions, OneThatIsAddedWhileTheEngineRunsGetsWhatIsPublishedAfterIt) {
    Stepper& engine = run_outbox();
    engine.append({message("before")});
    engine.run_for(1s);
    subscribe("a");

    engine.append({message("after")});
    engine.run_for(3s);

    EXPECT_EQ(engine.starts(), (Starts{"subscription:a:after"}));
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(Subscriptions, OneWhoseOptionsAreNotHereYetWaitsForThem) {
    Stepper& engine = run_outbox();
    const Target target{.box = "orders", .key = "subscription:a"};
    store->declare({}, {&target, 1});
    engine.append({message("1")});
    engine.run_for(3s);
    ASSERT_TRUE(engine.starts().empty());

    family.put("subscription:a", {});
    engine.run_for(2s);

    EXPECT_EQ(engine.starts().size(), 1U);
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(Subscriptions, AHeldOneKeepsItsMessagesInOrderWhileOthersAreServed) {
    subscribe("a");
    subscribe("b", {}, {.held = true});
    Stepper& engine = run_outbox({.unmatched = Unmatched::done});
    engine.append({message("1", "lane"), message("2", "lane")});
    engine.run_for(1min);
    ASSERT_EQ(engine.starts(), (Starts{"subscription:a:1", "subscription:a:2"}));
    ASSERT_TRUE(engine.engine().is_idle());

    family.put("subscription:b", {});
    engine.run_for(2s);

    EXPECT_EQ(engine.starts(), (Starts{"subscription:a:1", "subscription:a:2", "subscription:b:1",
                                       "subscription:b:2"}));
    EXPECT_EQ(open_messages(), 0U);
}

TEST_F(Subscriptions, OneThatRestsStartsNothingUntilItHasRestedAndCountsNothing) {
    subscribe("a", {}, {.retry = {.max_attempts = 1}});
    Stepper& engine = run_outbox();
    script["subscription:a:1"] = {Defer{.delay = 1min, .whole_target = true}};
    engine.append({message("1")});
    engine.append({message("2")});
    engine.run_for(59s);
    ASSERT_EQ(engine.starts(), (Starts{"subscription:a:1"}));

    engine.run_for(3s);

    EXPECT_EQ(engine.starts().size(), 3U);
    EXPECT_EQ(open_messages(), 0U);
    EXPECT_EQ(dead_letters(), 0U);
}

TEST_F(Subscriptions, ChangedOptionsCountFromTheNextAttempt) {
    subscribe("a", {}, {.retry = {.max_attempts = 1}});
    Stepper& engine = run_outbox();
    family.put("subscription:a", {.retry = {.max_attempts = 3}});
    script["subscription:a:1"] = {Fail{"x"}, Fail{"y"}};

    engine.append({message("1")});
    engine.run_for(10min);

    EXPECT_EQ(engine.starts().size(), 3U);
    EXPECT_EQ(dead_letters(), 0U);
}

TEST_F(Subscriptions, TheOneForOtherTenantsGetsWhatNobodyElseIsNamedFor) {
    subscribe("a", {.tenant = "Acme"});
    subscribe("rest", {.tenant = std::string{other_tenants}});
    Stepper& engine = run_outbox();

    engine.append({of_tenant("1", "acme"), of_tenant("2", "other"), of_tenant("3", "")});
    engine.run_for(2s);

    EXPECT_EQ(engine.starts(),
              (Starts{"subscription:a:1", "subscription:rest:2", "subscription:rest:3"}));
}

TEST_F(Subscriptions, AForgottenOneHoldsNoMessageBack) {
    subscribe("a", {}, {.held = true});
    Stepper& engine = run_outbox();
    engine.append({message("1")});
    engine.run_for(1s);
    ASSERT_EQ(open_messages(), 1U);

    store->forget_target("orders", "subscription:a");
    engine.run_for(5s);

    EXPECT_EQ(open_messages(), 0U);
    EXPECT_TRUE(engine.starts().empty());
}

TEST_F(Subscriptions, AHeldOneWithMoreThanFitsIntoMemoryDoesNotHoldOthersUp) {
    subscribe("held", {.type = "t"}, {.held = true});
    subscribe("other", {.type = "u"});
    engine::Config with;
    with.options.window_bytes = 256U << 10;
    engine::LocalBox box = a_box("orders", {.unmatched = Unmatched::done}, {});
    box.family = &family;
    with.boxes.push_back(box);
    Stepper& engine = run(with);
    for (int n = 0; n < 50; ++n) {
        std::vector<Message> many;
        for (int i = 0; i < 100; ++i) many.push_back(message(std::string(500, 'x')));
        engine.append(std::move(many));
    }
    engine.run_for(5s);

    engine.append({message("y", {}, "u")});
    engine.run_for(2s);

    EXPECT_EQ(engine.starts(), (Starts{"subscription:other:y"}));
    EXPECT_LE(engine.engine().status().window_used, 256U << 10);
    family.put("subscription:held", {});
    engine.run_for(1min);
    EXPECT_EQ(open_messages(), 0U);
    EXPECT_EQ(engine.starts().size(), 5001U);
}

}  // namespace
}  // namespace waybill::test
