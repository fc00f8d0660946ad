/// Orders with an operation id: T78.

#include "server/operations.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/admin.hpp"
#include "server/admin_query.hpp"
#include "server/answer.hpp"
#include "server/bulk.hpp"
#include "server/fixture.hpp"
#include "server/store_access.hpp"
#include "support/background.hpp"
#include "support/gate.hpp"
#include "waybill/dead_letters.hpp"
#include "waybill/testkit.hpp"

namespace waybill::test {
namespace {

using server::BulkOrder;
using server::Operation;
using testing::HasSubstr;

/// Orders over dead letters that end in the middle, as by a crash.
class InterruptedOrders : public testing::Test {
protected:
    struct Crash {};

    InterruptedOrders() {
        kit.app.inbox("orders", {.lanes = Lanes::none}).on("*", "bill", [this](const Message&) {
            ++calls;
            return Outcome{Dead{"broken"}};
        });
    }
    void let_die(int count) {
        std::vector<Message> messages;
        for (int i = 0; i < count; ++i) messages.push_back({.type = "t"});
        kit.app.append(std::move(messages));
        ASSERT_TRUE(kit.run_until_idle());
        calls = 0;
    }
    /// Carries on from what was written down, until it ends or, if it is given, until that note.
    Operation carry_on(BulkOrder order, int crash_at, bool crash_before_it_is_written) {
        Operation operation;
        operation.bulk = written;
        int notes = 0;
        operation.write_down = [&](const Operation& now) {
            const bool crash = ++notes == crash_at;
            if (crash && crash_before_it_is_written) throw Crash{};
            written = now.bulk;
            if (crash) throw Crash{};
        };
        try {
            server::carry_out_matching(kit.app.catalogue(), order, {.target = "bill"}, 10'000,
                                       operation);
        } catch (const Crash&) {
        }
        return operation;
    }

    testkit::Kit kit;
    int calls = 0;
    server::BulkProgress written{};
};

TEST_F(InterruptedOrders, ThatSomebodyCancelsEndWithTheBatchTheyAreAt) {
    let_die(250);
    Operation operation;
    operation.is_cancelled = [looks = 0]() mutable { return ++looks > 1; };

    server::carry_out_matching(kit.app.catalogue(), BulkOrder::discard, {.target = "bill"}, 10'000,
                               operation);

    EXPECT_TRUE(operation.cancelled);
    EXPECT_FALSE(operation.unfinished);
    EXPECT_EQ(operation.bulk.carried_out, 100U);
    EXPECT_EQ(kit.app.catalogue().count({.state = Filter::State::dead}), 150U);
}

TEST_F(InterruptedOrders, CountEachLetterOnceWhereverTheyWereInterrupted) {
    for (const BulkOrder order : {BulkOrder::requeue, BulkOrder::discard}) {
        for (int crash_at = 1; crash_at <= 3; ++crash_at) {
            for (const bool before : {true, false}) {
                SCOPED_TRACE(testing::Message() << crash_at << (before ? " before" : " after"));
                kit.app.dead_letters().discard_matching({.box = "orders"});
                let_die(250);
                written = {};

                carry_on(order, crash_at, before);
                const Operation ended = carry_on(order, 0, false);
                kit.run_until_idle();

                EXPECT_FALSE(ended.unfinished);
                EXPECT_EQ(ended.bulk.total, 250U);
                EXPECT_EQ(ended.bulk.carried_out, 250U);
                EXPECT_EQ(ended.bulk.refused, 0U);
                EXPECT_EQ(calls, order == BulkOrder::requeue ? 250 : 0);
            }
        }
    }
}

TEST_F(InterruptedOrders, LeaveAloneWhatDiedAgainBeforeTheyWentOn) {
    let_die(50);
    carry_on(BulkOrder::requeue, 1, false);
    ASSERT_EQ(written.batch.size(), 50U);
    // Carried out, and the crash came before anything was written.
    kit.app.dead_letters().requeue_matching({.target = "bill"});
    kit.run_until_idle();
    ASSERT_EQ(calls, 50);

    const Operation ended = carry_on(BulkOrder::requeue, 0, false);
    kit.run_until_idle();

    EXPECT_EQ(ended.bulk.carried_out, 50U);
    EXPECT_EQ(calls, 50) << "what is dead now are other letters";
}

TEST_F(InterruptedOrders, DoNotFillUpWithWhatDiedAgainWhenLettersWereTakenByOthers) {
    let_die(250);
    const auto all = kit.app.dead_letters().list({.target = "bill"}, {}, 250);
    Operation operation;
    server::carry_out_matching(kit.app.catalogue(), BulkOrder::requeue, {.target = "bill"}, 100,
                               operation);
    for (std::size_t i = 200; i < 250; ++i) {
        kit.app.dead_letters().discard({all.items[i].letter.message, "bill"});
    }
    kit.run_until_idle();
    ASSERT_EQ(calls, 100) << "they died again";

    operation.unfinished = false;
    server::carry_out_matching(kit.app.catalogue(), BulkOrder::requeue, {.target = "bill"}, 10'000,
                               operation);
    kit.run_until_idle();

    EXPECT_FALSE(operation.unfinished);
    EXPECT_EQ(operation.bulk.carried_out, 200U);
    EXPECT_EQ(calls, 200) << "each once";
}

/// An order that looks whether it was cancelled waits at a gate, once it was told so.
class OrdersAtAGate final : public server::StoreAccess, private Notebook {
public:
    OrdersAtAGate(std::unique_ptr<server::StoreAccess> inner, Gate& gate, std::atomic<bool>& holds)
        : inner_(std::move(inner)), gate_(gate), holds_(holds) {}
    StoreHandle connect() override { return inner_->connect(); }
    Notebook& notebook() override { return *this; }
    Schema schema() override { return inner_->schema(); }
    void migrate(std::uint32_t version) override { inner_->migrate(version); }
    void backup(const std::string& path) override { inner_->backup(path); }

private:
    std::optional<std::string> note(const std::string& name) override {
        if (name.starts_with("operation-cancel/") && holds_.exchange(false)) gate_.pass();
        return inner_->notebook().note(name);
    }
    std::vector<Note> notes(const std::string& prefix) override {
        return inner_->notebook().notes(prefix);
    }
    void keep_note(const std::string& name, const std::string& text, StoreTime until) override {
        inner_->notebook().keep_note(name, text, until);
    }
    void drop_note(const std::string& name) override { inner_->notebook().drop_note(name); }

    std::unique_ptr<server::StoreAccess> inner_;
    Gate& gate_;
    std::atomic<bool>& holds_;
};

/// The same over a socket.
class OperationIds : public testing::Test {
protected:
    static server::Config config() {
        server::Config config;
        config.sources = {source_named("stripe", "stripe")};
        server::TargetConfig target = log_target("it");
        target.log = false;
        target.command = {"/bin/sh", "-c", "cat > /dev/null; exit 65"};
        config.targets = {target, log_target("other")};
        return config;
    }
    void let_die(int count) {
        for (int i = 0; i < count; ++i) {
            const std::string id = "evt_" + std::to_string(++sent_);
            const std::string body = R"({"id":")" + id + R"(","object":"event","type":"a.b"})";
            ASSERT_EQ(HttpClient{server_.port()}.ask(signed_post(stripe_, body))->status, 202);
        }
        ASSERT_TRUE(
            server_.eventually("/v1/dead?count=1", R"("count":)" + std::to_string(count) + "}"));
    }
    HttpAnswer order(const std::string& target, const std::string& id,
                     const std::string& body = {}) {
        return server_
            .operate("POST", target, body, "Idempotency-Key: " + id + "\r\nWaybill-Actor: ada\r\n")
            .value();
    }

    const Source stripe_ = source_named("stripe", "stripe");
    Gate gate_;
    std::atomic<bool> next_is_held_ = false;
    ServerUnderTest server_{config(), [this](std::unique_ptr<server::StoreAccess> store) {
                                return std::make_unique<OrdersAtAGate>(std::move(store), gate_,
                                                                       next_is_held_);
                            }};
    int sent_ = 0;
};

TEST_F(OperationIds, AnOrderIsCancelledAndAskedAfterWhileItIsCarriedOutAndNotBehindIt) {
    let_die(3);
    const std::string discard = "/v1/dead/discard?target=it";
    order(discard + "&limit=1", "op-1");
    next_is_held_ = true;
    HttpAnswer ended;
    Background running{
        [&](const std::stop_token&) { ended = order(discard + "&limit=10", "op-1"); }};
    const OpenAtTheEnd whatever_happens{gate_};
    ASSERT_TRUE(gate_.wait_for_arrivals(1));

    EXPECT_EQ(server_.operate("POST", "/v1/operations/op-1/cancel")->status, 202);
    EXPECT_THAT(server_.operate("GET", "/v1/operations/op-1")->body,
                HasSubstr(R"("state":"cancelling")"));

    gate_.open();
    running.join();
    EXPECT_THAT(ended.body, HasSubstr(R"("carried_out":1)"));
    EXPECT_THAT(ended.body, HasSubstr(R"("cancelled":true)"));
}

TEST_F(OperationIds, OneThatHasToBeEncodedInAPathIsFound) {
    for (const std::string id : {"nightly 50%/a+b", "50%"}) {
        ASSERT_EQ(order("/v1/dead/discard?target=it", id).status, 200);
        const std::string path = "/v1/operations/" + server::url_encoded(id);

        EXPECT_THAT(server_.operate("GET", path)->body, HasSubstr(R"("state":"done")")) << path;
        EXPECT_EQ(server_.operate("POST", path + "/cancel")->status, 409) << "it has ended";
    }
    EXPECT_EQ(server_.operate("GET", "/v1/operations/50%")->status, 200) << "as it is";
    EXPECT_EQ(server::url_decoded("%41%4z%g0%-1+%"), "A%4z%g0%-1+%");
}

TEST_F(OperationIds, ReplayTheAnswerAndRefuseAnotherOrder) {
    let_die(3);

    const HttpAnswer first = order("/v1/dead/discard?target=it", "op-1");
    let_die(2);
    const HttpAnswer again = order("/v1/dead/discard?target=it", "op-1");
    const HttpAnswer other = order("/v1/dead/discard?target=else", "op-1");

    EXPECT_EQ(first.status, 200);
    EXPECT_THAT(first.body, HasSubstr(R"("carried_out":3)"));
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(again.headers.at("idempotency-replayed"), "true");
    EXPECT_THAT(server_.operate("GET", "/v1/dead?count=1")->body, HasSubstr(R"("count":2)"))
        << "the replay took nothing";
    EXPECT_EQ(other.status, 409);
    EXPECT_THAT(other.body, HasSubstr("operation-conflict"));
}

TEST_F(OperationIds, GoOnWhereALimitEndedThemWithTheRightTotal) {
    let_die(5);

    const HttpAnswer first = order("/v1/dead/discard?target=it&limit=2", "op-1");
    const HttpAnswer second = order("/v1/dead/discard?target=it&limit=2", "op-1");
    const HttpAnswer third = order("/v1/dead/discard?target=it&limit=10", "op-1");

    EXPECT_THAT(first.body,
                HasSubstr(R"("carried_out":2,"refused":0,"remaining":3,"capped":true)"));
    EXPECT_THAT(second.body,
                HasSubstr(R"("carried_out":4,"refused":0,"remaining":1,"capped":true)"));
    EXPECT_THAT(third.body,
                HasSubstr(R"("carried_out":5,"refused":0,"remaining":0,"capped":false)"));
}

TEST_F(OperationIds, ADeletionThatIsRepeatedReportsSuccess) {
    const std::string body = R"({"box":"inbox","key":"other"})";
    server::Config without = server_.config();
    without.targets.pop_back();
    server_.server().reload(without);

    EXPECT_EQ(order("/v1/targets/forget", "op-1", body).status, 200);
    EXPECT_EQ(order("/v1/targets/forget", "op-1", body).status, 200);
    EXPECT_EQ(order("/v1/targets/forget", "op-2", body).status, 404) << "another order";
}

TEST_F(OperationIds, AMisspeltFilterIsRefusedAndDiscardsNothing) {
    let_die(1);

    const HttpAnswer refused = order("/v1/dead/discard?target=it&tpye=c.d", "op-1");

    EXPECT_EQ(refused.status, 400);
    EXPECT_THAT(refused.body, HasSubstr("tpye is not a filter; did you mean type?"));
    EXPECT_THAT(server_.operate("GET", "/v1/dead?count=1")->body, HasSubstr(R"("count":1)"));
}

TEST_F(OperationIds, RememberWhoOrderedAndWhatCameOfIt) {
    let_die(1);
    order("/v1/dead/discard?target=it", "op-1");

    const auto known = server_.operate("GET", "/v1/operations/op-1");

    EXPECT_EQ(known->status, 200);
    EXPECT_THAT(known->body, HasSubstr(R"x("actor":"ada (local)")x"));
    EXPECT_THAT(known->body, HasSubstr(R"("state":"done")"));
    EXPECT_THAT(known->body, HasSubstr(R"("carried_out":1)"));
    EXPECT_EQ(server_.operate("GET", "/v1/operations/op-2")->status, 404);
}

TEST_F(OperationIds, AnOrderThatWasNotUnderstoodDoesNotUseUpItsId) {
    EXPECT_EQ(order("/v1/dead/discard", "op-1").status, 400);
    EXPECT_EQ(order("/v1/dead/discard?target=it", "op-1").status, 200);
    EXPECT_EQ(order("/v1/nothing", "op-2").status, 404);
    EXPECT_EQ(order("/v1/boxes/pause", "op-2", R"({"box":"inbox"})").status, 200);
    EXPECT_EQ(order("/v1/boxes/resume", std::string(201, 'x'), R"({"box":"inbox"})").status, 400);
}

/// Commands to the owner of a lane whose head died; the answers of the first orders are lost.
class InterruptedCommands : public testing::Test {
protected:
    /// Fails once it has been told so, as a store would that is gone when the answer is kept.
    class Notes final : public Notebook {
    public:
        explicit Notes(Notebook& inner) : inner_(inner) {}
        std::optional<std::string> note(const std::string& name) override {
            return inner_.note(name);
        }
        std::vector<Note> notes(const std::string& prefix) override { return inner_.notes(prefix); }
        void keep_note(const std::string& name, const std::string& text, StoreTime until) override {
            // The last note of an order has its answer.
            if (loses_answers && text.find(R"("status":0)") == std::string::npos) {
                throw StoreError{Reaction::reconnect, "gone"};
            }
            inner_.keep_note(name, text, until);
        }
        void drop_note(const std::string& name) override { inner_.drop_note(name); }
        bool loses_answers = true;

    private:
        Notebook& inner_;
    };

    InterruptedCommands() {
        kit.app.inbox("orders", {.on_dead = OnDead::halt}).on("*", "bill", [this](const Message&) {
            ++calls;
            return Outcome{Dead{"broken"}};
        });
        head = kit.app.append({.type = "t", .lane = "L"}).id;
        kit.run_until_idle();
    }
    HttpResponse order(const std::string& target, const std::string& body) {
        HttpRequest request{.method = "POST", .target = target, .body = body};
        request.headers.set("Idempotency-Key", "op-1");
        return admin.handle(request, "ada");
    }
    /// Once more, after what was ordered has been carried out.
    HttpResponse order_twice(const std::string& target, const std::string& body = {}) {
        EXPECT_EQ(order(target, body).status, 503U);
        notes.loses_answers = false;
        kit.run_until_idle();
        const HttpResponse again = order(target, body);
        kit.run_until_idle();
        return again;
    }
    std::string message() const { return R"({"message":")" + to_string(head) + R"("})"; }

    testkit::Kit kit;
    int calls = 0;
    Uuid head{};
    const std::unique_ptr<server::StoreAccess> memory = server::open_store("memory:", {});
    Notes notes{memory->notebook()};
    server::Admin admin{StoreHandle{kit.store}, notes, [](const std::string&) {},
                        [this](Message message) { return kit.app.append(std::move(message)); },
                        [] { return std::make_shared<const server::Config>(); }};
};

TEST_F(InterruptedCommands, ASkipThatWasCarriedOutIsNoErrorWhenRepeated) {
    const HttpResponse again = order_twice("/v1/lanes/skip", message());

    EXPECT_EQ(again.status, 202U) << again.body;
    EXPECT_EQ(calls, 1);
}

TEST_F(InterruptedCommands, AResumedHeadThatDiedAgainIsNotResumedTwice) {
    const HttpResponse again = order_twice("/v1/lanes/resume", message());

    EXPECT_EQ(again.status, 202U) << again.body;
    EXPECT_EQ(calls, 2) << "once at first, once by the order";
}

TEST_F(InterruptedCommands, ACancelThatWasCarriedOutIsNoErrorWhenRepeated) {
    const Uuid waits =
        kit.app.append({.type = "t", .not_before = kit.clock.wall() + std::chrono::hours{1}}).id;

    const HttpResponse again = order_twice("/v1/messages/" + to_string(waits) + "/cancel");

    EXPECT_EQ(again.status, 202U) << again.body;
    EXPECT_EQ(kit.state_of(waits), Filter::State::dead);
}

TEST_F(InterruptedCommands, ASecretThatWasMadeIsToldAlsoWhenTheEndCannotBeWrittenDown) {
    server::Operations operations{notes};
    const server::OperationName name{"op-1", "ada", "rotate"};
    const auto rotate = [](Operation& operation) {
        if (operation.begun_before) return server::error_response(409, "outcome-unknown", "");
        operation.kept_answer = "{}";
        return server::json_response(200, json::Object{{"secret", "s"}});
    };

    EXPECT_THAT(operations.carry_out(name, rotate).body, HasSubstr(R"("secret":"s")"));
    notes.loses_answers = false;
    EXPECT_EQ(operations.carry_out(name, rotate).status, 409U) << "it has no other secret to tell";
}

/// A notebook whose writer dies after the first note.
TEST(Operations, ADeletionInterruptedBeforeItsAnswerWasKeptIsASuccessWhenRepeated) {
    const auto store = server::open_store("memory:", {});
    server::Operations operations{store->notebook()};
    const server::OperationName name{"op", "ada", "forget x"};
    bool there = true;
    const auto forget = [&](Operation& operation) {
        const bool was_there = std::exchange(there, false);
        return server::json_response(was_there || operation.begun_before ? 200 : 404,
                                     json::Object{});
    };

    EXPECT_THROW(operations.carry_out(name,
                                      [&](Operation& operation) -> HttpResponse {
                                          forget(operation);
                                          throw StoreError{Reaction::reconnect, "gone"};
                                      }),
                 StoreError);

    EXPECT_FALSE(there);
    EXPECT_EQ(operations.carry_out(name, forget).status, 200U);
}

TEST(NotesInMemory, WhatIsKeptForEverOutlivesThousandsOfOperations) {
    const auto store = server::open_store("memory:", {});
    Notebook& notes = store->notebook();
    const StoreTime now = system_clock().wall();
    notes.keep_note("demo/secret", "s");
    for (int i = 0; i < 10'010; ++i) {
        notes.keep_note("operation/" + std::to_string(i), "o", now + std::chrono::hours{1 + i});
    }

    notes.keep_note("operation/10009", "replaced", now + std::chrono::hours{20'000});

    EXPECT_EQ(notes.note("demo/secret"), "s");
    EXPECT_FALSE(notes.note("operation/0")) << "it would have been gone first";
    EXPECT_FALSE(notes.note("operation/10"));
    EXPECT_EQ(notes.note("operation/11"), "o") << "a replacement drives nobody out";
    EXPECT_EQ(notes.note("operation/10009"), "replaced");
    notes.keep_note("operation/old", "o", now);
    EXPECT_FALSE(notes.note("operation/old"));
}

}  // namespace
}  // namespace waybill::test
