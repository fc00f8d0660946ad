#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deliver/lookout.hpp"
#include "deliver/note.hpp"
#include "deliver/scribe.hpp"
#include "waybill/memory.hpp"
#include "waybill/system.hpp"

/// What became of subscriptions that stand elsewhere than in the store.
namespace waybill::deliver {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = Subscription::State;

Subscription said(std::uint8_t number = 1) {
    Subscription one{.url = "https://a.example/", .is_static = true};
    one.id.bytes[15] = number;
    return one;
}

/// A notebook that is away as often as it is told.
class DistantNotebook final : public Notebook {
public:
    explicit DistantNotebook(Notebook& inner) : inner_(inner) {}
    std::optional<std::string> note(const std::string& name) override {
        must_be_there();
        return inner_.note(name);
    }
    std::vector<Note> notes(const std::string& prefix) override {
        must_be_there();
        return inner_.notes(prefix);
    }
    void keep_note(const std::string& name, const std::string& text, StoreTime until) override {
        must_be_there();
        if (name.ends_with(refused)) throw StoreError{Reaction::bad_data, "refused"};
        inner_.keep_note(name, text, until);
    }
    void drop_note(const std::string& name) override {
        must_be_there();
        inner_.drop_note(name);
    }
    int away = 0;
    /// Notes that can never be kept.
    std::string refused = "none";

private:
    void must_be_there() {
        if (away > 0 && away-- > 0) throw StoreError{Reaction::reconnect, "away"};
    }
    Notebook& inner_;
};

class SaidOnce final : public SubscriptionReader {
public:
    std::optional<std::vector<Subscription>> read() override {
        return std::exchange(next, std::nullopt);
    }
    std::optional<std::vector<Subscription>> next{{said()}};
};

class StandingTest : public testing::Test {
protected:
    StandingTest() {
        const BoxDeclaration box{.name = "outbox"};
        store.store().declare({&box, 1}, {});
        lookout.add(reader);
    }
    /// As this instance has it in force.
    Subscription in_force() { return endpoints.all().at(0); }
    bool is_held() { return endpoints.options_of(key).held; }
    void answers_gone(const Subscription& one) {
        endpoints.ended(key_of(one), one,
                        {.outcome = Dead{"answered 410"}, .health = Judgement::Health::gone}, {},
                        {});
    }
    /// What it answered is in force here, and still to be written down.
    void keep_disabled(const Subscription& one) {
        answers_gone(one);
        scribe.keep_disabled(std::make_shared<Subscription>(one), "answered 410");
    }

    std::shared_ptr<memory::MemoryStore> opened = memory::open();
    StoreHandle store{opened};
    DistantNotebook notebook{*opened};
    SubscriptionBook book{notebook, store};
    Endpoints endpoints{};
    std::vector<std::string> told{};
    Lookout lookout{store, &book, endpoints, [](const SubscriptionNews&) {}};
    Scribe scribe{&book, endpoints, "a",
                  [this](const SubscriptionNews& news) { told.push_back(news.text); }};
    std::shared_ptr<SaidOnce> reader = std::make_shared<SaidOnce>();
    const std::string key = key_of(said());
};

TEST_F(StandingTest, WhatOneInstanceDisabledIsDisabledForAllWithItsReasonAndSinceWhen) {
    ASSERT_TRUE(lookout.look());
    ASSERT_FALSE(is_held());

    book.disable(said(), "answered 410");  // by another one

    EXPECT_TRUE(lookout.look()) << "nobody noticed";
    EXPECT_TRUE(is_held());
    EXPECT_EQ(in_force().state, State::disabled);
    EXPECT_EQ(in_force().reason, "answered 410");
    EXPECT_GT(in_force().changed_at, StoreTime{});
    EXPECT_FALSE(lookout.look()) << "and again it is news";
    EXPECT_THAT(book.list(), IsEmpty()) << "what became of it is no subscription";
}

TEST_F(StandingTest, WhoLetsItGoOnIsBelievedAlsoByWhomItsAnswersReachedOnlyHere) {
    lookout.look();
    answers_gone(in_force());
    ASSERT_TRUE(is_held());
    book.disable(said(), "answered 410");

    // Both before this instance looked again.
    book.change_standing(said().id, [](SubscriptionStanding& one) { one.state = State::active; });
    lookout.look();

    EXPECT_FALSE(is_held());
    EXPECT_EQ(in_force().state, State::active);
}

TEST_F(StandingTest, AnotherUrlIsAnotherEndpointAndWhatWasSkippedStaysSkipped) {
    book.disable(said(), "answered 410");
    const StoreTime now{std::chrono::hours{1}};
    book.change_standing(said().id, [&](SubscriptionStanding& one) { one.skip_before = now; });
    Subscription moved = said();
    moved.url = "https://b.example/";
    reader->next = std::vector{moved};

    lookout.look();

    EXPECT_EQ(in_force().state, State::active);
    EXPECT_EQ(in_force().skip_before, now);
    EXPECT_THAT(book.standing(said().id)->endpoint, testing::Not(testing::HasSubstr("example")))
        << "a URL may have a token in it";
}

TEST_F(StandingTest, OneThatPeoplePausedInATableOfTheirsStaysPaused) {
    book.disable(said(), "answered 410");
    Subscription paused = said();
    paused.state = State::paused;
    paused.reason = "they move house";
    reader->next = std::vector{paused};

    lookout.look();

    EXPECT_EQ(in_force().state, State::paused);
    EXPECT_EQ(in_force().reason, "they move house");
}

TEST_F(StandingTest, NothingIsSentBeforeItIsKnownWhatBecameOfIt) {
    book.disable(said(), "answered 410");
    notebook.away = 1;

    EXPECT_THROW(lookout.look(), StoreError);
    EXPECT_TRUE(is_held());
    EXPECT_EQ(opened->targets().size(), 1U) << "it is not even registered";
    EXPECT_TRUE(lookout.look());
    EXPECT_EQ(in_force().state, State::disabled);
}

TEST_F(StandingTest, WhatWasKnownStaysInForceWhileTheStoreIsAway) {
    book.disable(said(), "answered 410");
    lookout.look();
    notebook.away = 1;

    EXPECT_FALSE(lookout.look_again());
    EXPECT_TRUE(is_held());
    EXPECT_EQ(in_force().state, State::disabled);
}

TEST_F(StandingTest, OfOneThatAReaderNamesNoMoreNothingIsKept) {
    book.disable(said(), "answered 410");
    lookout.look();
    reader->next = std::vector<Subscription>{};

    lookout.look();

    EXPECT_EQ(book.standing(said().id), std::nullopt);
}

TEST_F(StandingTest, OneThatIsNamedAgainBeginsAnewAlsoBeforeTheStoreCanBeAsked) {
    book.disable(said(), "answered 410");
    lookout.look();
    ASSERT_TRUE(is_held());
    reader->next = std::vector<Subscription>{};
    lookout.look();

    reader->next = std::vector{said()};
    notebook.away = 1;
    EXPECT_THROW(lookout.look(), StoreError);

    EXPECT_FALSE(is_held()) << "disabled, and nothing is there that could be enabled";
    lookout.look();
    EXPECT_FALSE(is_held());
}

TEST_F(StandingTest, WhatIsForgottenOfOneNoInstanceBelievesAnyMore) {
    book.disable(said(), "answered 410");
    lookout.look();
    ASSERT_TRUE(is_held());

    book.drop_standing(said().id);  // by another one, or by an operator

    EXPECT_TRUE(lookout.look()) << "nobody noticed";
    EXPECT_FALSE(is_held());
    const std::string version = book.version();
    book.drop_standing(said().id);
    EXPECT_EQ(book.version(), version) << "nothing was there: all would read everything again";
}

TEST_F(StandingTest, OneThatIsAddedToTheStoreBeginsAnew) {
    book.disable(said(), "answered 410");

    book.add(said());

    EXPECT_EQ(book.standing(said().id), std::nullopt);
    EXPECT_EQ(book.find(said().id)->state, State::active);
}

TEST_F(StandingTest, OneOfTheStoreIsDisabledThere) {
    const Subscription one = book.add(said());

    book.disable(one, "answered 410");

    EXPECT_EQ(book.find(said().id)->state, State::disabled);
    EXPECT_EQ(book.find(said().id)->reason, "answered 410");
    EXPECT_THAT(book.standings(), IsEmpty());
}

TEST_F(StandingTest, WhatComesLateDisablesNoneThatAnOperatorLetGoOnMeanwhile) {
    const Subscription before = said();
    book.disable(before, "answered 410");
    const auto let_go_on = [](auto& one) { one.state = State::active; };
    const auto resumed = book.change_standing(said().id, let_go_on);

    book.disable(before, "answered 410");  // by one that could not reach the store

    EXPECT_EQ(book.standing(said().id), resumed);
    Subscription since = said();
    apply(resumed, since);
    book.disable(since, "answered 410 again");
    EXPECT_EQ(book.standing(said().id)->reason, "answered 410 again");
}

TEST_F(StandingTest, WhatComesLateDisablesNoneOfTheStoreThatAnOperatorLetGoOnMeanwhile) {
    const Subscription before = book.add(said());
    book.disable(before, "answered 410");
    const auto resumed =
        book.change(said().id, [](Subscription& one) { one.state = State::active; });

    book.disable(before, "answered 410");

    EXPECT_EQ(book.find(said().id), resumed);
    book.disable(*resumed, "answered 410 again");
    EXPECT_EQ(book.find(said().id)->reason, "answered 410 again");
}

TEST_F(StandingTest, WhatComesLateIsSeenToBeLateAlsoWhereTheClockOfAnotherHostIsAhead) {
    Subscription before = said();
    const auto of_another =
        SubscriptionStanding{.changed_at = system_clock().wall() + std::chrono::hours{1}};
    notebook.keep_note("subscription-standing/" + to_string(before.id), to_note(of_another),
                       store_never);
    apply(of_another, before);
    book.change_standing(before.id, [](SubscriptionStanding& one) { one.state = State::active; });

    book.disable(before, "answered 410");

    EXPECT_EQ(book.standing(before.id)->state, State::active);
}

TEST_F(StandingTest, WhatSeveralFindOutIsWrittenOnce) {
    Subscription one = said();
    one.changed_at = system_clock().wall() + std::chrono::hours{1};  // in a table of theirs
    book.disable(one, "answered 410");
    const auto first = book.standing(one.id);
    const std::string version = book.version();

    book.disable(one, "no success for 120 h");

    EXPECT_EQ(book.standing(one.id), first);
    EXPECT_EQ(book.version(), version);
    Subscription moved = one;
    moved.url = "https://b.example/";
    book.disable(moved, "answered 410 there, too");
    EXPECT_EQ(book.standing(said().id)->reason, "answered 410 there, too");
}

TEST_F(StandingTest, WhatWasAskedBeforeItWasLetGoOnDoesNotDisableItHereAlone) {
    lookout.look();
    const Subscription asked = in_force();
    book.change_standing(said().id, [](SubscriptionStanding& one) { one.state = State::active; });
    lookout.look();
    const Judgement gone{.outcome = Dead{"answered 410"}, .health = Judgement::Health::gone};

    EXPECT_FALSE(endpoints.ended(key, asked, gone, {}, {}).news) << "the store refuses it";
    EXPECT_FALSE(is_held()) << "and so it would be held here for ever";
    EXPECT_TRUE(endpoints.ended(key, in_force(), gone, {}, {}).news);
    EXPECT_TRUE(is_held());
}

TEST_F(StandingTest, WhatCannotBeWrittenNowIsWrittenLaterAndToldOnce) {
    lookout.look();
    keep_disabled(said());
    notebook.away = 3;

    for (int tick = 0; tick < 3; ++tick) scribe.write_disabled();
    EXPECT_THAT(told, ElementsAre("cannot be written down: away")) << "once a second, in an outage";
    EXPECT_EQ(book.standing(said().id), std::nullopt);
    scribe.write_disabled();
    ASSERT_TRUE(book.standing(said().id));
    EXPECT_EQ(book.standing(said().id)->state, State::disabled);

    told.clear();
    for (int outage = 0; outage < 2; ++outage) {
        scribe.keep_failing(said().id, SubscriptionFailing{});
        notebook.away = 3;
        for (int tick = 0; tick < 4; ++tick) scribe.write_failing(10);
    }
    EXPECT_EQ(told.size(), 2U) << "each outage once";
}

TEST_F(StandingTest, OneThatTheStoreRefusesKeepsNoOtherFromBeingWritten) {
    const std::vector both{said(1), said(2)};
    reader->next = both;
    lookout.look();
    notebook.refused = to_string(said(1).id);
    for (const Subscription& one : both) {
        keep_disabled(one);
        scribe.keep_failing(one.id, SubscriptionFailing{});
    }

    scribe.write_disabled();
    scribe.write_failing(10);

    EXPECT_EQ(book.standing(said(1).id), std::nullopt);
    EXPECT_TRUE(book.standing(said(2).id));
    EXPECT_TRUE(book.failing(said(2).id));
    EXPECT_THAT(told,
                ElementsAre("cannot be written down: refused", "cannot be written down: refused"));
}

TEST_F(StandingTest, OfOneThatWasRemovedMeanwhileNothingIsWrittenLate) {
    const Subscription one = book.add(said());
    reader->next = std::vector{one};
    lookout.look();
    keep_disabled(one);

    book.remove(one.id);
    reader->next = std::vector<Subscription>{};
    lookout.look();
    scribe.write_disabled();

    EXPECT_THAT(book.standings(), IsEmpty()) << "and nobody would ever take it away";
}

TEST_F(StandingTest, WhatCannotBeReadIsNothing) {
    book.disable(said(), "answered 410");
    notebook.keep_note("subscription-standing/" + to_string(said().id), "no JSON", store_never);

    EXPECT_EQ(book.standing(said().id), std::nullopt);
    EXPECT_THAT(book.standings(), IsEmpty());
}

}  // namespace
}  // namespace waybill::deliver
