/// Subscriptions of a configuration, or of a reader of one's own, that their answers disabled: it outlives the
/// process that heard the answer, and their messages wait.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/endpoint.hpp"
#include "server/unusable.hpp"
#include "support/app.hpp"
#include "waybill/deliver.hpp"

namespace waybill::test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

/// Beside it one that is well: when it has a message, whoever sends has had the message in hand.
class StaticThatIsGone : public testing::Test {
protected:
    StaticThatIsGone() {
        config_ = with({to(gone_), to(well_)});
        config_.store = "sqlite:" + folder_.file("w.db");
        id_ = to_string(config_.subscriptions.at(0).id);
        restart();
        gone_.answer_with(410);
        first_ = publish(*server_, "first");
        EXPECT_TRUE(server_->eventually(path(), R"("state":"disabled")"));
    }
    void restart() {
        server_.reset();
        server_ = std::make_unique<ServerUnderTest>(config_);
    }
    std::string path(const std::string& verb = {}) { return "/v1/subscriptions/" + id_ + verb; }
    std::string get(const std::string& target) { return server_->operate("GET", target)->body; }
    std::string order(const std::string& verb, const std::string& body = {}) {
        const auto answer = server_->operate("POST", path(verb), body);
        EXPECT_EQ(answer->status, 200) << answer->body;
        return answer->body;
    }
    /// Two that the well one has had.
    void publish_two() {
        for (const char* body : {"second", "third"}) waiting_.push_back(publish(*server_, body));
        EXPECT_TRUE(well_.wait_for(1 + waiting_.size()));
    }
    bool are_done() {
        bool done = true;
        for (const std::string& one : waiting_) done = done && is_done(*server_, one);
        return done;
    }

    Endpoint gone_;
    Endpoint well_;
    TemporaryFolder folder_;
    server::Config config_;
    std::string id_;
    std::string first_;
    std::vector<std::string> waiting_{};
    std::unique_ptr<ServerUnderTest> server_;
};

TEST_F(StaticThatIsGone, StaysDisabledAfterARestartAndGoesOnWithWhatWaitedWhenItIsEnabled) {
    restart();
    publish_two();
    EXPECT_THAT(gone_.bodies(), ElementsAre("first")) << "who wants no more was asked again";

    gone_.answer_with(200);
    EXPECT_THAT(order("/enable"), HasSubstr(R"("state":"active")"));
    EXPECT_TRUE(are_done());
    EXPECT_THAT(gone_.bodies(), UnorderedElementsAre("first", "second", "third"));
    EXPECT_THAT(get("/v1/stats"), HasSubstr(R"("dead":1)")) << "more than the one that got 410";
}

TEST_F(StaticThatIsGone, StaysDisabledAfterAReload) {
    server_->server().reload(config_);
    publish_two();
    EXPECT_THAT(gone_.bodies(), ElementsAre("first"));

    gone_.answer_with(200);
    order("/resume");
    server_->server().reload(config_);
    EXPECT_TRUE(are_done());
    EXPECT_THAT(get("/v1/stats"), HasSubstr(R"("dead":1)"));
}

TEST_F(StaticThatIsGone, IsNamedWhereverSomebodyLooks) {
    restart();
    publish_two();

    for (const std::string& target : {path(), std::string{"/v1/subscriptions"}}) {
        const std::string seen = get(target);
        EXPECT_THAT(seen, HasSubstr(R"("state":"disabled")")) << target;
        EXPECT_THAT(seen, HasSubstr(R"("reason":"answered 410")")) << target;
        EXPECT_THAT(seen, HasSubstr(R"("changed_at":")")) << "since when";
    }
    EXPECT_THAT(get("/v1/messages/" + waiting_.front()),
                HasSubstr("it is disabled: answered 410; once it is mended `waybill subscriptions "
                          "enable " +
                          id_ + "` lets it go on"));
    EXPECT_THAT(HttpClient{server_->port()}.get("/readyz")->body,
                HasSubstr(id_ + " is disabled, and its messages wait"));
    EXPECT_THAT(server::texts_of(server::unusable_subscriptions(config_)),
                Contains(HasSubstr(id_ + " is disabled")));
}

TEST_F(StaticThatIsGone, GoesOnWithoutWhatWaitedWhenThatIsSkipped) {
    publish_two();
    gone_.answer_with(200);

    EXPECT_THAT(order("/skip"), HasSubstr(R"("takes_effect":"when it is resumed")"));
    order("/enable");
    for (const std::string& one : waiting_) {
        EXPECT_TRUE(server_->eventually("/v1/messages/" + one, "skipped by an operator"));
    }
    EXPECT_TRUE(is_done(*server_, publish(*server_, "new")));
    EXPECT_THAT(gone_.bodies(), ElementsAre("first", "new"));
}

TEST_F(StaticThatIsGone, GoesOnByItselfAtAnotherUrl) {
    publish_two();
    Endpoint moved;
    config_.subscriptions.at(0).url = moved.url();

    restart();

    EXPECT_TRUE(are_done());
    EXPECT_THAT(moved.bodies(), UnorderedElementsAre("second", "third"));
}

TEST_F(StaticThatIsGone, IsForgottenWithItsTarget) {
    server::Config without = config_;
    without.subscriptions.erase(without.subscriptions.begin());
    server_->server().reload(without);
    const auto forgotten = server_->operate(
        "POST", "/v1/targets/forget", R"({"box":"outbox","key":"subscription:)" + id_ + "\"}");
    ASSERT_EQ(forgotten->status, 200) << forgotten->body;

    gone_.answer_with(200);
    server_->server().reload(config_);

    EXPECT_THAT(get(path()), HasSubstr(R"("state":"active")"));
}

TEST_F(StaticThatIsGone, IsOtherwiseChangedInItsFileOnly) {
    for (const char* verb : {"", "/pause", "/disable", "/rotate-secret", "/remove"}) {
        const auto refused = server_->operate("POST", path(verb), "{}");
        EXPECT_EQ(refused->status, 409) << verb;
        EXPECT_THAT(refused->body, HasSubstr("resume, enable and skip")) << verb;
    }
}

/// In the table of a program of somebody's own.
class OwnTableThatIsGone : public testing::Test {
protected:
    /// An application with that one, which hears of the store what became of it.
    struct App {
        App(const OwnTableThatIsGone& test, const std::string& name)
            : app(quick_settings(test.store_, name)) {
            app.observe(log);
            auto reader = std::make_shared<FixedSubscriptions>(std::vector{test.one_});
            app.outbox("outbox").to_subscriptions(std::make_shared<Deliverer>(
                test.store_, std::vector<std::shared_ptr<SubscriptionReader>>{reader}, test.book_,
                DeliverOptions{.egress = make_egress({.allow = {"127.0.0.1/32"}}),
                               .refresh = 1ms}));
            app.start();
        }
        bool wait_for(Event::Kind kind, std::size_t count) { return log.wait_for(kind, count); }

        EventLog log;
        Waybill app;
    };
    OwnTableThatIsGone() { one_.id.bytes = {7, 1}; }

    Endpoint endpoint_;
    Subscription one_ = to(endpoint_);
    std::shared_ptr<memory::MemoryStore> opened_ = memory::open();
    StoreHandle store_{opened_};
    std::shared_ptr<SubscriptionBook> book_ = std::make_shared<SubscriptionBook>(*opened_, store_);
};

TEST_F(OwnTableThatIsGone, StaysDisabledInTheNextProcessUntilSomebodyLetsItGoOn) {
    endpoint_.answer_with(410);
    {
        App before{*this, "before"};
        before.app.append({.type = "t", .body = "1"});
        ASSERT_TRUE(before.wait_for(Event::Kind::died, 1));
    }
    ASSERT_TRUE(book_->standing(one_.id));
    EXPECT_EQ(book_->standing(one_.id)->reason, "answered 410");

    App after{*this, "after"};
    after.app.append({.type = "t", .body = "2"});
    ASSERT_TRUE(after.app.wait_idle());
    EXPECT_THAT(endpoint_.bodies(), ElementsAre("1"));

    endpoint_.answer_with(204);
    book_->change_standing(one_.id, [](SubscriptionStanding& standing) {
        standing.state = Subscription::State::active;
    });
    ASSERT_TRUE(after.wait_for(Event::Kind::finished, 1));
    EXPECT_THAT(endpoint_.bodies(), ElementsAre("1", "2"));
    EXPECT_EQ(opened_->count({.state = Filter::State::dead}), 1U);
}

}  // namespace
}  // namespace waybill::test
