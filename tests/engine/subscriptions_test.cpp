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
    std::uint32_t at_once() const override { return places; }
    std::uint32_t places = 64;
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
    /// All want type `hang`, and have more waiting than may run.
    void subscribe_many(int count) {
        for (int i = 0; i < count; ++i) {
            subscribe("h" + std::to_string(i), {.type = "hang"}, {.concurrency = 8});
        }
    }
    static std::vector<Message> many(int count, const std::string& body, const std::string& type) {
        std::vector<Message> all;
        for (int i = 0; i < count; ++i) {
            all.push_back(message(body + std::to_string(i), {}, type));
        }
        return all;
    }
    static std::ptrdiff_t running_of(Stepper& engine, const std::string& body) {
        return std::ranges::count_if(engine.held(), [&](const engine::Run& run) {
            return run.items.front().message->body.starts_with(body);
        });
    }
    static engine::RunId first_of(Stepper& engine, const std::string& body) {
        const auto found = std::ranges::find_if(engine.held(), [&](const engine::Run& run) {
            return run.items.front().message->body.starts_with(body);
        });
        return found == engine.held().end() ? 0 : found->id;
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

TEST_F(Subscriptions, EachThatRestsIsTriedAgainWhenItHasRestedAndNotWithTheNextBeat) {
    for (const char* name : {"a", "b"}) subscribe(name);
    Stepper& engine = run_outbox();
    script["subscription:a:1"] = {Defer{.delay = 200ms, .whole_target = true}};
    script["subscription:b:1"] = {Defer{.delay = 400ms, .whole_target = true}};
    engine.append({message("1")});

    engine.run_for(300ms);
    ASSERT_EQ(engine.starts(),
              (Starts{"subscription:a:1", "subscription:b:1", "subscription:a:1"}));
    engine.run_for(200ms);

    EXPECT_EQ(engine.starts().size(), 4U);
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

TEST_F(Subscriptions, ManyThatHangLeavePlacesForWhoComesLater) {
    subscribe_many(20);
    subscribe("well", {.type = "ok"});
    Stepper& engine = run_outbox();
    hold_body = "never";
    engine.append(many(20, "never", "hang"));
    engine.run_for(100ms);
    const auto hanging = running_of(engine, "never");

    engine.append(many(50, "mine", "ok"));
    engine.run_for(100ms);

    EXPECT_GE(hanging, 32) << "half of the places are for whoever comes first";
    EXPECT_LE(hanging, 48);
    EXPECT_EQ(std::ssize(engine.starts()) - hanging, 50) << "the others have theirs";
}

TEST_F(Subscriptions, OneThatAnswersIsGivenMoreThanAShareWhileOthersHang) {
    subscribe_many(20);
    subscribe("well", {.type = "ok"});
    Stepper& engine = run_outbox();
    hold_body = "never";
    engine.append(many(20, "never", "hang"));
    engine.run_for(100ms);
    hold.clear();
    for (int i = 0; i < 60; ++i) hold.push_back("subscription:well:mine" + std::to_string(i));
    engine.append(many(60, "mine", "ok"));
    engine.run_for(100ms);
    const auto at_first = running_of(engine, "mine");

    for (int i = 0; i < 12; ++i) {
        engine.finish_held(first_of(engine, "mine"), Done{});
        engine.run_for(10ms);
    }

    EXPECT_EQ(at_first, 1) << "nobody knows yet whether it answers";
    EXPECT_GE(running_of(engine, "mine"), 12);
    EXPECT_LE(engine.held().size(), 64U);
}

TEST_F(Subscriptions, OneThatStopsAnsweringTakesNoMoreThanItsShareOfWhatIsLeft) {
    subscribe_many(20);
    subscribe("well", {.type = "ok"});
    Stepper& engine = run_outbox();
    engine.append(many(50, "mine", "ok"));
    engine.run_for(100ms);
    hold_body = "never";
    engine.append(many(20, "never", "hang"));
    engine.run_for(100ms);

    engine.append(many(50, "never-more", "ok"));
    engine.run_for(100ms);

    EXPECT_GE(running_of(engine, "never-more"), 1);
    EXPECT_LE(running_of(engine, "never-more"), 2);
}

TEST_F(Subscriptions, OneThatHadItsShareGoesOnWhenOthersAreThroughAndNotOnlyWithItsOwnAnswer) {
    subscribe_many(20);
    subscribe("well", {.type = "ok"});
    Stepper& engine = run_outbox();
    hold_body = "x";
    engine.append(many(3, "x-others", "hang"));
    engine.run_for(100ms);
    engine.append(many(60, "x-mine", "ok"));
    engine.run_for(100ms);
    const auto at_first = running_of(engine, "x-mine");

    while (const engine::RunId other = first_of(engine, "x-others")) {
        engine.finish_held(other, Done{});
        engine.run_for(1ms);
    }

    EXPECT_EQ(at_first, 1);
    EXPECT_GE(running_of(engine, "x-mine"), 32);
}

TEST_F(Subscriptions, AloneItTakesWhatThereIs) {
    subscribe("only");
    Stepper& engine = run_outbox();
    hold_body = "slow";
    engine.append({message("quick")});
    engine.run_for(100ms);
    engine.append(many(100, "slow", "t"));
    engine.run_for(100ms);
    ASSERT_GE(running_of(engine, "slow"), 32);

    for (int i = 0; i < 20; ++i) {
        engine.finish_held(first_of(engine, "slow"), Done{});
        engine.run_for(10ms);
    }

    EXPECT_EQ(engine.held().size(), 64U);
}

TEST_F(Subscriptions, BoxesThatDoNotSayHowManyShareThePlacesAndOneThatDoesHasItsOwn) {
    family.places = 8;
    engine::Config with;
    for (const char* name : {"one", "two", "own"}) {
        BoxOptions options{.unmatched = Unmatched::done};
        if (std::string{"own"} == name) options.concurrency = 3;
        with.boxes.push_back(a_box(name, options, {}));
        with.boxes.back().family = &family;
        for (int i = 0; i < 10; ++i) {
            const std::string key = "subscription:" + std::to_string(i);
            family.put(key, {});
            const Target target{.box = name, .key = key};
            const BoxDeclaration box{name, options};
            store->declare({&box, 1}, {&target, 1});
        }
    }
    Stepper& engine = run(with);
    hold_body = "x";

    engine.append({{.box = "one", .type = "t", .body = "x1"},
                   {.box = "two", .type = "t", .body = "x2"},
                   {.box = "own", .type = "t", .body = "x3"}});
    engine.run_for(100ms);

    EXPECT_EQ(running_of(engine, "x1") + running_of(engine, "x2"), 8);
    EXPECT_EQ(running_of(engine, "x3"), 3);
}

TEST_F(Subscriptions, RequestsThatHangLeaveHandlersTheirPlaces) {
    family.places = 4;
    for (int i = 0; i < 70; ++i) subscribe("h" + std::to_string(i), {.type = "hang"});
    engine::LocalBox box = a_box("orders", {.unmatched = Unmatched::done}, {"handler"});
    box.family = &family;
    Stepper& engine = run(box);
    hold_body = "never";
    engine.append(many(1, "never", "hang"));
    engine.run_for(100ms);
    ASSERT_GE(engine.held().size(), 4U);

    engine.append(many(3, "mine", "t"));
    engine.run_for(100ms);

    EXPECT_EQ(std::ranges::count(engine.starts(), "handler:mine2"), 1);
}

/// It asked for a partition that it could do nothing with, and gave it back, and asked again.
TEST_F(Subscriptions, WhoseHandlersAreAllBusyDoesNotAskForMoreBecauseItCouldMakeRequests) {
    engine::LocalBox box = a_box("orders", {.unmatched = Unmatched::done}, {"handler"});
    box.family = &family;
    Stepper& engine = run(box);
    hold_body = "busy";
    const Uuid a_guest{{1}};
    const auto hungry = [&] {
        engine.run_for(3s);
        const BeatReply reply = store->beat({.incarnation = a_guest, .guest = true});
        return std::ranges::max(reply.peers, {}, &Peer::hungry).hungry;
    };
    const std::uint32_t at_first = hungry();

    engine.append(many(64, "busy", "t"));

    EXPECT_EQ(at_first, 64U + family.places);
    EXPECT_EQ(hungry(), 0U);
}

/// Whoever ends a run could start the next before all others, for ever.
TEST_F(Subscriptions, APlaceThatIsGivenBackGoesToWhoWaitsLongest) {
    for (const char* name : {"a", "b", "c"}) subscribe(name, {}, {.concurrency = 1});
    Stepper& engine = run_outbox({.unmatched = Unmatched::done, .concurrency = 1});
    hold_body = "x";
    engine.append(many(3, "x", "t"));

    for (int i = 0; i < 3; ++i) {
        engine.run_for(100ms);
        ASSERT_EQ(engine.held().size(), 1U);
        engine.finish_held(engine.held().front().id, Done{});
    }

    std::vector<std::string> first{engine.starts().begin(), engine.starts().begin() + 3};
    std::ranges::sort(first);
    EXPECT_EQ(first, (Starts{"subscription:a:x0", "subscription:b:x0", "subscription:c:x0"}));
}

}  // namespace
}  // namespace waybill::test
