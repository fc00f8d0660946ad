#include "waybill/subscription.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deliver/endpoints.hpp"
#include "deliver/lookout.hpp"
#include "deliver/note.hpp"
#include "deliver/sealing.hpp"
#include "waybill/memory.hpp"

namespace waybill::deliver {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

Subscription good() {
    Subscription subscription;
    subscription.id.bytes[0] = 7;
    subscription.url = "https://example.com/hook";
    subscription.secrets = {{.value = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}};
    return subscription;
}

TEST(Subscription, ThatIsGoodHasNoProblems) {
    EXPECT_TRUE(check(good()).empty()) << check(good()).front();
}

TEST(Subscription, AllProblemsAreNamedAtOnce) {
    Subscription bad = good();
    bad.url = "ftp://example.com";
    bad.headers.add("Webhook-Id", "mine");
    bad.timeout = 1ms;
    bad.retry.max_attempts = 0;
    const Problems problems = check(bad);
    EXPECT_THAT(problems, Contains(HasSubstr("url:")));
    EXPECT_THAT(problems, Contains(HasSubstr("headers: \"Webhook-Id\"")));
    EXPECT_THAT(problems, Contains(HasSubstr("timeout:")));
    EXPECT_THAT(problems, Contains(HasSubstr("max_attempts")));
}

TEST(Subscription, ATenantByNameAllOrTheRestIsAMatcher) {
    Subscription one = good();
    EXPECT_EQ(target_of(one).matcher.tenant, "*");
    one.tenant = "acme";
    EXPECT_EQ(target_of(one).matcher.tenant, "acme");
    one.tenant = "default";
    EXPECT_EQ(target_of(one).matcher.tenant, other_tenants);
}

TEST(Subscription, OfAConfigurationKeepsItsIdWhenItsUrlChanges) {
    Subscription one = good();
    const Uuid before = static_subscription_id(one, 0);
    one.url = "https://elsewhere.example/hook";
    EXPECT_EQ(static_subscription_id(one, 0), before);
    EXPECT_NE(static_subscription_id(one, 1), before);
    one.type = "order.*";
    EXPECT_NE(static_subscription_id(one, 0), before);
}

TEST(Note, GivesBackWhatWasWritten) {
    Subscription one = good();
    one.tenant = "acme";
    one.headers.add("X-Custom", "1");
    one.retry.backoff.schedule = {5s, 5min};
    one.rate = 2.5;
    one.state = Subscription::State::disabled;
    one.reason = "answered 410";
    one.client_errors = Subscription::ClientErrors::dead;
    one.secrets.push_back({.value = "old", .until = StoreTime{1h}});
    one.disable_after = forever;
    Subscription read = from_note(to_note(one));
    read.id = one.id;
    EXPECT_EQ(read, one);
}

TEST(Sealing, OpensOnlyWithItsKeyForItsSubject) {
    const std::string key = sealing_key("a key of some length");
    const std::string sealed = seal(key, "secret", "subject");
    EXPECT_EQ(sealed.find("secret"), std::string::npos);
    EXPECT_EQ(unseal(key, sealed, "subject"), "secret");
    EXPECT_EQ(unseal(key, sealed, "another"), std::nullopt);
    EXPECT_EQ(unseal(sealing_key("another key"), sealed, "subject"), std::nullopt);
    EXPECT_NE(seal(key, "secret", "subject"), sealed) << "the same nonce twice";
    std::string broken = sealed;
    broken[broken.size() - 6] = broken[broken.size() - 6] == 'A' ? 'B' : 'A';
    EXPECT_EQ(unseal(key, broken, "subject"), std::nullopt);
}

constexpr LocalTime kBegin{1h};
constexpr StoreTime kWall{std::chrono::hours{24 * 20'000}};

Judgement failing(const char* reason = "answered 500") {
    return {.outcome = Fail{.reason = reason}, .health = Judgement::Health::failing};
}

class EndpointsTest : public testing::Test {
protected:
    EndpointsTest() { endpoints.put({good()}); }
    Endpoints::Ended fails_after(Duration after) {
        return endpoints.ended(key, good(), failing(), kBegin + after, kWall + after);
    }
    std::optional<SubscriptionNews> fails(Duration after = {}) { return fails_after(after).news; }
    Endpoints::Ended succeeds_after(Duration after) {
        return endpoints.ended(key, good(), {.outcome = Done{}}, kBegin + after, kWall + after);
    }
    Endpoints endpoints;
    const std::string key = key_of(good());
};

TEST_F(EndpointsTest, OneThatNobodyKnowsIsHeld) {
    EXPECT_TRUE(endpoints.options_of("subscription:x").held);
    EXPECT_EQ(endpoints.begin("subscription:x", kBegin).subscription, nullptr);
}

TEST_F(EndpointsTest, SaysOnceThatItFailsAndOnceThatItRecovered) {
    int told = 0;
    for (std::uint32_t i = 0; i < 2 * Circuit::failures_to_open; ++i) told += fails() ? 1 : 0;
    EXPECT_EQ(told, 1);
    const auto recovered = succeeds_after(0s).news;
    ASSERT_TRUE(recovered);
    EXPECT_EQ(recovered->kind, SubscriptionNews::Kind::recovered);
    EXPECT_FALSE(succeeds_after(0s).news);
}

/// Whoever watches the log for the pair of them had an incident that never ended.
TEST_F(EndpointsTest, SaysThatItRecoveredAlsoWhereSomebodyResumedItBefore) {
    for (std::uint32_t i = 0; i < Circuit::failures_to_open; ++i) fails();
    Subscription resumed = good();
    resumed.changed_at = kWall;

    endpoints.put({resumed});

    const auto recovered = succeeds_after(0s).news;
    ASSERT_TRUE(recovered);
    EXPECT_EQ(recovered->kind, SubscriptionNews::Kind::recovered);
}

/// The usual repair was an incident that never ended.
TEST_F(EndpointsTest, SaysThatItRecoveredAlsoAtAnotherAddress) {
    for (std::uint32_t i = 0; i < Circuit::failures_to_open; ++i) fails();
    Subscription moved = good();
    moved.url = "http://127.0.0.1:9/elsewhere";

    endpoints.put({moved});

    const auto recovered = succeeds_after(0s).news;
    ASSERT_TRUE(recovered);
    EXPECT_EQ(recovered->kind, SubscriptionNews::Kind::recovered);
}

TEST_F(EndpointsTest, IsDisabledWhenItFailedLongEnoughAndOftenEnough) {
    for (int i = 0; i < 30; ++i) {
        const auto news = fails(std::chrono::hours{i});
        ASSERT_TRUE(!news || news->kind != SubscriptionNews::Kind::disabled) << i;
    }
    const auto news = fails(std::chrono::hours{5 * 24});
    ASSERT_TRUE(news);
    EXPECT_EQ(news->kind, SubscriptionNews::Kind::disabled);
    EXPECT_EQ(news->text, "no success for 120 h: answered 500");
    EXPECT_TRUE(endpoints.options_of(key).held);
}

TEST_F(EndpointsTest, FewFailuresOverALongTimeDoNotDisableIt) {
    for (int i = 0; i < 5; ++i) {
        const auto news = fails(std::chrono::hours{i * 48});
        ASSERT_TRUE(!news || news->kind != SubscriptionNews::Kind::disabled) << i;
    }
}

TEST_F(EndpointsTest, WhoEnablesItAgainIsBelieved) {
    endpoints.ended(key, good(), {.outcome = Dead{"410"}, .health = Judgement::Health::gone},
                    kBegin, kWall);
    ASSERT_TRUE(endpoints.options_of(key).held);
    endpoints.put({good()});
    EXPECT_TRUE(endpoints.options_of(key).held) << "nobody has changed it";
    Subscription enabled = good();
    enabled.changed_at = kWall;
    endpoints.put({enabled});
    EXPECT_FALSE(endpoints.options_of(key).held);
}

TEST_F(EndpointsTest, IsWrittenDownWhenItIsLeftAloneAndNotWithEveryFailure) {
    for (std::uint32_t i = 1; i < Circuit::failures_to_open; ++i) {
        EXPECT_FALSE(fails_after(0s).failing) << i;
    }
    const auto opened = fails_after(0s).failing;
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->since, kWall);
    EXPECT_EQ(opened->failures, Circuit::failures_to_open);
    EXPECT_EQ(opened->error, "answered 500");
    EXPECT_EQ(opened->rests_until, kWall + Circuit::rest_first);
    int written = 0;
    for (int second = 1; second < 3600; ++second) {
        written += fails_after(std::chrono::seconds{second}).failing ? 1 : 0;
    }
    EXPECT_GE(written, 11) << "until when it is left alone is no longer so";
    EXPECT_LE(written, 16) << "more than once per rest";
}

TEST_F(EndpointsTest, OneThatAnswersButIsNeverContentIsWrittenDownToo) {
    const Judgement refused{.outcome = Fail{.reason = "answered 401"},
                            .health = Judgement::Health::unwell};
    int written = 0;
    for (int second = 0; second < 600; ++second) {
        const Duration after = std::chrono::seconds{second};
        const auto ended = endpoints.ended(key, good(), refused, kBegin + after, kWall + after);
        if (!ended.failing) continue;
        ++written;
        EXPECT_EQ(ended.failing->rests_until, StoreTime{}) << "nobody leaves it alone";
    }
    EXPECT_EQ(written, 2);
}

TEST_F(EndpointsTest, OneThatAsksForALongRestIsWrittenDownAtOnce) {
    const Judgement busy{.outcome = Fail{.reason = "answered 429"},
                         .health = Judgement::Health::unwell,
                         .rest = 30min};
    const auto ended = endpoints.ended(key, good(), busy, kBegin, kWall);
    ASSERT_TRUE(ended.failing);
    EXPECT_EQ(ended.failing->rests_until, kWall + 30min);
    EXPECT_TRUE(succeeds_after(30min).is_well_again);
    EXPECT_FALSE(succeeds_after(31min).is_well_again) << "it was crossed out before";
}

TEST_F(EndpointsTest, OneThatAnotherLeftAloneIsAskedOneAtATimeAndCrossedOutWhenItIsBack) {
    endpoints.recall(key, {.since = kWall - 1h, .failures = 7, .rests_until = kWall + 4min});
    EXPECT_EQ(endpoints.begin(key, kBegin).wait, std::nullopt) << "the first one finds out";
    EXPECT_EQ(endpoints.begin(key, kBegin).wait, Circuit::probe_pause);
    const auto again = fails_after(1s).failing;
    ASSERT_TRUE(again);
    EXPECT_EQ(again->since, kWall - 1h);
    EXPECT_EQ(again->failures, 8U);

    Endpoints another;
    another.put({good()});
    another.recall(key, *again);
    EXPECT_TRUE(another.ended(key, good(), {.outcome = Done{}}, kBegin, kWall).is_well_again);
    EXPECT_EQ(another.begin(key, kBegin).wait, std::nullopt);
    EXPECT_EQ(another.begin(key, kBegin).wait, std::nullopt);
}

TEST_F(EndpointsTest, OneThatIsEnabledAgainIsNotDisabledByItsNextFailure) {
    for (int hour = 0; hour <= 5 * 24; ++hour) fails(std::chrono::hours{hour});
    ASSERT_TRUE(endpoints.options_of(key).held);
    Subscription enabled = good();
    enabled.changed_at = kWall;
    endpoints.put({enabled});
    fails(std::chrono::hours{5 * 24 + 1});
    EXPECT_FALSE(endpoints.options_of(key).held);
}

class BookTest : public testing::Test {
protected:
    BookTest() {
        const BoxDeclaration box{.name = "outbox"};
        store.store().declare({&box, 1}, {});
        book.add(good());
    }
    std::shared_ptr<memory::MemoryStore> opened = memory::open();
    StoreHandle store{opened};
    SubscriptionBook book{*opened, store};
    const Uuid id = good().id;
    const SubscriptionFailing failing{.since = kWall,
                                      .failures = 5,
                                      .error = "answered 500",
                                      .rests_until = kWall + 10s,
                                      .instance = "a"};
};

TEST_F(BookTest, KeepsSinceWhenASubscriptionFailsWhoeverWritesItDown) {
    EXPECT_EQ(book.failing(id), std::nullopt);
    book.note_failing(id, failing);
    EXPECT_EQ(book.failing(id), failing);
    SubscriptionFailing later_one = failing;
    later_one.since += 1h;
    later_one.instance = "b";
    book.note_failing(id, later_one);
    EXPECT_EQ(book.failing(id)->since, failing.since);
    EXPECT_EQ(book.failing(id)->instance, "b");
    ASSERT_EQ(book.failing().size(), 1U);
    EXPECT_EQ(book.list().size(), 1U) << "a note of failing is no subscription";
    book.note_failing(id, std::nullopt);
    EXPECT_TRUE(book.failing().empty());
}

TEST_F(BookTest, WhoChangesASubscriptionEndsItsRest) {
    book.note_failing(id, failing);
    book.change(id, [](Subscription& one) { one.rate = 1; });
    ASSERT_TRUE(book.failing(id));
    EXPECT_EQ(book.failing(id)->rests_until, StoreTime{});
    book.change(id, [](Subscription& one) { one.url = "https://elsewhere.example/hook"; });
    EXPECT_EQ(book.failing(id), std::nullopt) << "that was another endpoint";
}

TEST_F(BookTest, AnInstanceThatStartsAsksOneAtATimeWhomAnotherLeftAlone) {
    book.note_failing(id, failing);
    Endpoints endpoints;
    Lookout lookout{store, &book, endpoints, [](const SubscriptionNews&) {}};
    lookout.add(reader_of({std::shared_ptr<void>{}, &book}));
    ASSERT_TRUE(lookout.look());

    EXPECT_EQ(endpoints.begin(key_of(good()), kBegin).wait, std::nullopt);
    EXPECT_EQ(endpoints.begin(key_of(good()), kBegin).wait, Circuit::probe_pause);
}

TEST_F(BookTest, WhatAnInstanceThatDiedWroteIsCrossedOutByWhoeverSucceeds) {
    Endpoints endpoints;
    Lookout lookout{store, &book, endpoints, [](const SubscriptionNews&) {}};
    lookout.add(reader_of({std::shared_ptr<void>{}, &book}));
    ASSERT_TRUE(lookout.look());
    book.note_failing(id, failing);  // by another one, which is well no more

    lookout.look_again();

    const std::string key = key_of(good());
    EXPECT_EQ(endpoints.begin(key, kBegin).wait, std::nullopt);
    EXPECT_EQ(endpoints.begin(key, kBegin).wait, std::nullopt) << "it is well here";
    EXPECT_TRUE(endpoints.ended(key, good(), {.outcome = Done{}}, kBegin, kWall).is_well_again);
}

TEST_F(EndpointsTest, TellsTheRegistryOnlyWhatChangedForIt) {
    Subscription other = good();
    other.url = "https://elsewhere.example";
    EXPECT_TRUE(endpoints.put({other}).wanted.empty());
    other.type = "order.*";
    EXPECT_EQ(endpoints.put({other}).wanted.size(), 1U);
    EXPECT_EQ(endpoints.put({}).unwanted.size(), 1U);
}

}  // namespace
}  // namespace waybill::deliver
