#include "harness.hpp"
#include "support/background.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// What has ended becomes work again.
class Replay : public StoreConformance {
protected:
    void declare(BoxOptions options = {}) {
        declare_box(options);
        declare_target({.box = "orders", .key = "billing"});
        declare_target({.box = "orders", .key = "mail"});
    }
    /// Order 1 is done for both.
    Host with_one_done() {
        append(order(1));
        Host host = owner();
        host.increment();
        host.finish(only_row(host));
        return host;
    }
    OperationResult replay(int number, const std::string& target = "billing") {
        const DeliveryRef delivery{id_of(number), target};
        const auto answers = catalogue().replay({&delivery, 1});
        EXPECT_EQ(answers.size(), 1U);
        return answers.at(0);
    }
    void expect_refused(int number, const std::string& why, const std::string& target = "billing") {
        const OperationResult answer = replay(number, target);
        EXPECT_FALSE(answer.carried_out);
        EXPECT_THAT(answer.text, HasSubstr(why));
    }
    Filter::State state(int number) { return catalogue().get(id_of(number))->summary.state; }
};

TEST_P(Replay, AFinishedDeliveryIsNewWorkForItsTargetOnly) {
    declare();
    append(order(1, "a"));
    Host host = owner();
    host.increment();
    const Entry old = only_row(host);
    host.finish(old);

    EXPECT_TRUE(replay(1).carried_out);

    const auto fresh = host.increment();
    ASSERT_EQ(fresh.size(), 1U);
    EXPECT_GT(fresh[0].sequence, old.sequence);
    EXPECT_EQ(fresh[0].only, std::vector<std::string>{"billing"});
    EXPECT_EQ(fresh[0].requeues, 1U);
    EXPECT_EQ(fresh[0].message->id, id_of(1));
    EXPECT_EQ(fresh[0].message->body, "order 1");
    EXPECT_EQ(fresh[0].message->lane, "a");
    EXPECT_THAT(fresh[0].progress, IsEmpty());
    EXPECT_EQ(state(1), Filter::State::open);
}

/// What is one tenant's must not reach whoever gets the others' by a filter that is too wide.
TEST_P(Replay, WhoGetsOtherTenantsIsNotSentThatOfATenantWithItsOwn) {
    declare();
    declare_target(
        {.box = "orders", .key = "default", .matcher = {.tenant = std::string{other_tenants}}});
    declare_target({.box = "orders", .key = "acme", .matcher = {.tenant = "acme"}});
    Message of_acme = order(1);
    of_acme.tenant = "acme";
    Message of_another = order(2);
    of_another.tenant = "another";
    append_all({of_acme, of_another});
    Host host = owner();
    for (const Entry& row : host.scan()) host.finish(row);

    expect_refused(1, "does not want this message", "default");
    EXPECT_TRUE(replay(1, "acme").carried_out);
    EXPECT_TRUE(replay(2, "default").carried_out);
}

TEST_P(Replay, AReplayGoesToTheTailOfItsLane) {
    declare();
    append_all({order(1, "a"), order(2, "a")});
    Host host = owner();
    host.finish(host.scan()[0]);

    replay(1);

    EXPECT_THAT(bodies(host.scan()), ElementsAre("order 2", "order 1"));
}

TEST_P(Replay, ManyReplaysKeepTheOrderAskedFor) {
    declare();
    append_all({order(1), order(2), order(3)});
    Host host = owner();
    for (const Entry& row : host.scan()) host.finish(row);
    const std::vector<DeliveryRef> asked{
        {id_of(2), "mail"}, {id_of(3), "mail"}, {id_of(1), "mail"}};

    catalogue().replay(asked);

    EXPECT_THAT(bodies(host.scan()), ElementsAre("order 2", "order 3", "order 1"));
}

TEST_P(Replay, EveryReplayIsAGenerationThatNothingOfItsMessageHadBefore) {
    declare();
    Host host = with_one_done();
    for (std::uint32_t generation = 1; generation <= 3; ++generation) {
        EXPECT_TRUE(replay(1, generation == 2 ? "mail" : "billing").carried_out);
        EXPECT_EQ(only_row(host).requeues, generation);
        EXPECT_EQ(catalogue().get(id_of(1))->summary.requeues, generation);
        // Nothing is left of it but what the store has counted.
        host.finish(only_row(host));
    }
    replay(1);
    host.die(only_row(host), "billing");
    const DeliveryRef dead{id_of(1), "billing"};
    catalogue().requeue({&dead, 1});
    EXPECT_EQ(only_row(host).requeues, 5U);
    host.finish(only_row(host));

    replay(1, "mail");

    EXPECT_EQ(only_row(host).requeues, 6U);
}

TEST_P(Replay, AHeadThatRanAgainInItsPlaceWasAGenerationToo) {
    declare({.on_dead = OnDead::halt});
    append(order(1, "a"));
    Host host = owner();
    host.halt(only_row(host), "billing");
    const DeliveryRef dead{id_of(1), "billing"};
    catalogue().requeue({&dead, 1});
    Settlement done = finished(only_row(host));
    done.revived = {"billing"};
    host.settle({done});

    EXPECT_TRUE(replay(1).carried_out);

    EXPECT_EQ(only_row(host).requeues, 2U);
}

TEST_P(Replay, AttemptsOfAReplayAreLinesOfTheirOwn) {
    declare();
    append(order(1));
    Host host = owner();
    for (int round = 0; round < 3; ++round) {
        const Entry row = only_row(host);
        Settlement item = finished(row);
        item.attempts = {attempt(row, "billing", 1)};
        host.settle({item});
        replay(1);
    }

    EXPECT_EQ(catalogue().get(id_of(1))->attempts.size(), 3U);
}

TEST_P(Replay, ADeadDeliveryIsRequeued) {
    declare();
    append(order(1));
    Host host = owner();
    host.die(only_row(host), "billing");

    EXPECT_TRUE(replay(1).carried_out);

    EXPECT_THAT(letters(), IsEmpty());
    EXPECT_THAT(only_row(host).only, ElementsAre("billing"));
    EXPECT_EQ(only_row(host).requeues, 1U);
}

TEST_P(Replay, ADeliveryIsReplayedBesideADeadOneOfItsMessage) {
    declare();
    append(order(1));
    Host host = owner();
    host.die(only_row(host), "mail");

    EXPECT_TRUE(replay(1).carried_out);
    host.finish(only_row(host));

    EXPECT_EQ(letters().size(), 1U);
    EXPECT_EQ(state(1), Filter::State::dead);
}

TEST_P(Replay, ADoneDeliveryIsReplayedBesideAnOpenOneOfItsMessage) {
    declare({.keep_done = Duration{}});
    append(order(1));
    Host host = owner();
    const Entry row = only_row(host);
    Settlement partly = unchanged(row);
    partly.progress = {{.target = "billing", .state = Progress::State::done}};
    host.settle({partly});

    EXPECT_TRUE(replay(1).carried_out);
    expect_refused(1, "has not ended", "mail");
    Settlement last = finished(row);
    last.drop_message = true;
    host.settle({last});

    EXPECT_EQ(only_row(host).message->body, "order 1");
    EXPECT_EQ(state(1), Filter::State::open);
}

TEST_P(Replay, WhatHasNotEndedIsNotReplayed) {
    declare();
    append(order(1));
    Host host = owner();

    expect_refused(1, "has not ended");
    host.finish(only_row(host));
    EXPECT_TRUE(replay(1).carried_out);
    expect_refused(1, "has not ended");

    EXPECT_EQ(host.scan().size(), 1U);
    EXPECT_TRUE(replay(1, "mail").carried_out);
}

TEST_P(Replay, ADeliveryThatIsNamedTwiceIsReplayedOnce) {
    declare();
    Host host = with_one_done();
    const std::vector<DeliveryRef> twice{{id_of(1), "billing"}, {id_of(1), "billing"}};

    const auto answers = catalogue().replay(twice);

    ASSERT_EQ(answers.size(), 2U);
    EXPECT_TRUE(answers[0].carried_out);
    EXPECT_FALSE(answers[1].carried_out);
    EXPECT_EQ(host.scan().size(), 1U);
}

TEST_P(Replay, TwoWhoReplayAtTheSameMomentMakeOneRow) {
    declare();
    Host host = with_one_done();
    const Connection one = connect();
    const Connection other = connect();
    const DeliveryRef delivery{id_of(1), "billing"};
    std::vector<OperationResult> first;

    std::jthread thread{// lint: allow(seams) somebody else
                        [&] {
                            first = one.catalogue->replay({&delivery, 1});
                        }};
    const auto second = other.catalogue->replay({&delivery, 1});
    thread.join();

    EXPECT_NE(first.at(0).carried_out, second.at(0).carried_out);
    EXPECT_EQ(host.scan().size(), 1U);
}

TEST_P(Replay, WhoEndsTheLastRowOfAMessageMeanwhileTakesNothingFromIt) {
    declare({.keep_done = Duration{}});
    Host host = owner();
    const Connection other = connect();
    for (int number = 1; number <= 25; ++number) {
        append(order(number));
        const Entry row = only_row(host);
        Settlement partly = unchanged(row);
        partly.progress = {{.target = "billing", .state = Progress::State::done}};
        host.settle({partly});
        Settlement last = finished(row);
        last.drop_message = number % 2 == 0;
        const DeliveryRef delivery{id_of(number), "billing"};

        Background settles{[&](const std::stop_token&) { host.settle({last}); }};
        const auto answer = other.catalogue->replay({&delivery, 1});
        settles.join();
        sweep();

        // Either the message went first, or its new row has it.
        const auto rows = host.scan();
        ASSERT_EQ(rows.size(), answer.at(0).carried_out ? 1U : 0U) << number;
        for (const Entry& open : rows) {
            ASSERT_FALSE(open.missing) << number;
            host.finish(open);
        }
        sweep();
        ASSERT_FALSE(catalogue().get(id_of(number)).has_value()) << number;
        ASSERT_EQ(catalogue().count({.state = Filter::State::done}), 0U) << number;
    }
}

TEST_P(Replay, WhatIsNotKeptAnyMoreIsNotReplayed) {
    declare({.keep_done = 1h});
    Host host = with_one_done();
    advance(1h);
    sweep();

    expect_refused(1, "not kept");
    expect_refused(7, "not kept");
    EXPECT_THAT(host.scan(), IsEmpty());
}

TEST_P(Replay, ATargetThatNobodyRegisteredOrThatIsForgottenGetsNothing) {
    declare();
    Host host = with_one_done();
    catalogue().forget_target("orders", "mail");

    expect_refused(1, "no target \"mail\" is registered in box \"orders\"", "mail");
    expect_refused(1, "no target \"stock\"", "stock");
    expect_refused(1, "no target", "");
    EXPECT_THAT(host.scan(), IsEmpty());
}

TEST_P(Replay, ATargetNeverGetsWhatItDoesNotMatch) {
    declare();
    declare_target({.box = "orders", .key = "acme", .matcher = {.tenant = "acme"}});
    Message foreign = order(1);
    foreign.tenant = "other";
    Message own = order(2);
    own.tenant = "acme";
    append_all({foreign, own});
    Host host = owner();
    for (const Entry& row : host.scan()) host.finish(row);

    expect_refused(1, "does not want", "acme");
    EXPECT_TRUE(replay(2, "acme").carried_out);
}

TEST_P(Replay, ATargetIsFoundByItsFormerKey) {
    declare();
    declare_target({.box = "orders", .key = "stock", .legacy_keys = {"stock-v1"}});
    Host host = with_one_done();

    EXPECT_TRUE(replay(1, "stock-v1").carried_out);
    expect_refused(1, "has not ended", "stock");

    EXPECT_THAT(only_row(host).only, ElementsAre("stock"));
}

TEST_P(Replay, AHaltedLaneStaysWhereItStands) {
    declare({.on_dead = OnDead::halt});
    declare_target({.box = "orders", .key = "receipt", .after = "billing"});
    append(order(1, "a"));
    Host host = owner();
    const Entry head = only_row(host);
    Settlement item = unchanged(head);
    item.halted = true;
    item.progress = {{.target = "billing", .state = Progress::State::done},
                     {.target = "mail", .state = Progress::State::done},
                     {.target = "receipt", .state = Progress::State::dead}};
    item.dead = {dead_letter(head, "receipt")};
    host.settle({item});

    expect_refused(1, "halted lane", "receipt");
    expect_refused(1, "halted lane", "billing");
    EXPECT_THAT(host.commands(), IsEmpty());
    EXPECT_EQ(letters().size(), 1U);

    // Another chain has an order of its own.
    EXPECT_TRUE(replay(1, "mail").carried_out);
}

TEST_P(Replay, AReplayedMessageIsKeptFromItsLastEndOn) {
    declare({.keep_done = 1h});
    Host host = with_one_done();
    advance(50min);
    replay(1);
    advance(50min);

    EXPECT_EQ(sweep().messages, 0U);
    EXPECT_EQ(catalogue().count({.state = Filter::State::done}), 0U);
    host.finish(only_row(host));
    EXPECT_EQ(catalogue().count({.state = Filter::State::done}), 1U);
    advance(50min);
    EXPECT_EQ(sweep().messages, 0U);
    EXPECT_EQ(state(1), Filter::State::done);
    advance(10min);
    EXPECT_EQ(sweep().messages, 1U);
    EXPECT_FALSE(catalogue().get(id_of(1)).has_value());
}

TEST_P(Replay, WhatTookLongToFinishIsReplayedAndKeptAllTheSame) {
    declare({.keep_done = 1h});
    append(order(1));
    advance(30min);
    Host host = owner();
    host.finish(only_row(host));
    replay(1);
    advance(2h);

    EXPECT_EQ(sweep().messages, 0U);
    EXPECT_EQ(only_row(host).message->body, "order 1");
}

TEST_P(Replay, AClockThatWentBackBeforeTheEndLosesNothing) {
    declare({.keep_done = 1h});
    append(order(1));
    advance(-30min);
    Host host = owner();
    host.finish(only_row(host));
    replay(1);
    advance(3h);

    EXPECT_EQ(sweep().messages, 0U);
    EXPECT_EQ(only_row(host).message->body, "order 1");
}

INSTANTIATE_TEST_SUITE_P(Stores, Replay, testing::ValuesIn(stores_under_test()), store_name);

}  // namespace
}  // namespace waybill::test
