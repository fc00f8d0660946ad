#include "core/runtime/handler_body.hpp"

#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "support/manual_clock.hpp"
#include "waybill/store.hpp"

namespace waybill::runtime {
namespace {

using namespace std::chrono_literals;

class HandlerBodyTest : public testing::Test {
protected:
    HandlerBodyTest() {
        delivery.deadline = clock.now() + 10s;
        for (std::uint32_t i = 0; i < 3; ++i) {
            auto message = std::make_shared<Message>();
            message->body = std::to_string(i);
            delivery.items.push_back({std::move(message), i + 1, i + 1, i});
        }
        one.deadline = delivery.deadline;
        one.items = {delivery.items.front()};
    }
    template <class F>
    Outcome outcome_of(F handler) {
        return single_body(detail::to_handler(std::move(handler)))
            ->call(one, {}, clock)
            .front()
            ->outcome;
    }
    template <class F>
    DeliveryResults batch(F handler) {
        return batch_body(detail::to_batch_handler(std::move(handler)))->call(delivery, {}, clock);
    }

    test::ManualClock clock;
    Delivery delivery;
    Delivery one;
};

TEST_F(HandlerBodyTest, ReturningIsDone) {
    EXPECT_EQ(outcome_of([](const Message&, Context&) {}), Outcome{Done{}});
    EXPECT_EQ(outcome_of([](const Message&) {}), Outcome{Done{}});
}

TEST_F(HandlerBodyTest, AnOutcomeIsPassedOnWithItsTextCleaned) {
    EXPECT_EQ(outcome_of([](const Message&) { return Defer{3s}; }), Outcome{Defer{3s}});
    EXPECT_EQ(outcome_of([](const Message&) {
                  return Dead{std::string{"a\0b", 3}};
              }),
              Outcome{Dead{"ab"}});
    EXPECT_EQ(outcome_of([](const Message&) -> Outcome {
                  return Fail{.reason = "x\x01y", .permanent = true};
              }),
              (Outcome{Fail{.reason = "x y", .permanent = true}}));
}

TEST_F(HandlerBodyTest, EveryKindOfExceptionIsAFailureWithItsText) {
    struct cancelled {};
    const auto reason = [](const Outcome& outcome) { return std::get<Fail>(outcome).reason; };

    EXPECT_EQ(reason(outcome_of([](const Message&) { throw std::runtime_error{"no money"}; })),
              "no money");
    EXPECT_EQ(reason(outcome_of([](const Message&) { throw std::runtime_error{""}; })),
              "the handler threw a std::runtime_error");
    EXPECT_EQ(reason(outcome_of([](const Message&) { throw 42; })), "the handler threw a int");
    EXPECT_NE(reason(outcome_of([](const Message&) { throw cancelled{}; })).find("cancelled"),
              std::string::npos);
}

TEST_F(HandlerBodyTest, AnEndlessReasonIsCut) {
    const Outcome outcome =
        outcome_of([](const Message&) { throw std::runtime_error{std::string(1'000'000, 'x')}; });

    EXPECT_LE(std::get<Fail>(outcome).reason.size(), reason_bytes_max);
}

TEST_F(HandlerBodyTest, TheContextTellsOfTheAttempt) {
    one.items.front().attempt = 3;
    one.items.front().requeues = 2;
    one.fence = {.partition = 7, .token = {.epoch = 9}};

    outcome_of([&](const Message& message, Context& context) {
        EXPECT_EQ(message.body, "0");
        EXPECT_EQ(context.attempt(), 3U);
        EXPECT_EQ(context.requeues(), 2U);
        EXPECT_EQ(context.fence().token.epoch, 9U);
        EXPECT_EQ(context.time_left(), 10s);
        clock.advance(11s);
        EXPECT_EQ(context.time_left(), 0s);
        EXPECT_FALSE(context.stop_requested());
    });
}

TEST_F(HandlerBodyTest, ABatchThatReturnsNothingIsDoneAsAWhole) {
    const DeliveryResults results = batch([](Batch messages, BatchContext& context) {
        EXPECT_EQ(messages.size(), 3U);
        EXPECT_EQ(messages[2]->body, "2");
        EXPECT_EQ(context.attempt_of(2), 3U);
    });

    ASSERT_EQ(results.size(), 3U);
    for (const auto& result : results) EXPECT_EQ(result->outcome, Outcome{Done{}});
}

TEST_F(HandlerBodyTest, ABatchMayAnswerInPart) {
    const DeliveryResults results = batch([](Batch, BatchContext&) -> BatchOutcomes {
        return {Done{}, std::nullopt};
    });

    ASSERT_EQ(results.size(), 3U);
    EXPECT_TRUE(results[0]);
    EXPECT_FALSE(results[1]);
    EXPECT_FALSE(results[2]);
}

TEST_F(HandlerBodyTest, ABatchThatThrowsFailsAsAWholeAndSoDoesOneThatAnswersTooMuch) {
    const auto thrown = batch([](Batch, BatchContext&) { throw std::runtime_error{"no"}; });
    const auto too_many =
        batch([](Batch, BatchContext&) { return BatchOutcomes(4, Outcome{Done{}}); });

    for (const auto& results : {thrown, too_many}) {
        ASSERT_EQ(results.size(), 3U);
        for (const auto& result : results) {
            EXPECT_TRUE(std::holds_alternative<Fail>(result->outcome));
        }
    }
}

/// Answers as told.
class ScriptedInline final : public InlineStore {
public:
    InlineResult run_inline(const InlineRequest& request,
                            const std::function<Outcome(void*)>& body) override {
        asked = request;
        if (reaction) throw StoreError{*reaction, "no store"};
        result.outcome = body(this);
        return result;
    }
    InlineRequest asked{};
    InlineResult result{};
    std::optional<Reaction> reaction{};
};

TEST_F(HandlerBodyTest, AnInlineHandlerRunsInsideTheStoresTransaction) {
    ScriptedInline store;
    store.result.record = InlineResult::Record::recorded;
    void* native = nullptr;
    const auto body = inline_body(
        detail::to_inline_handler([&](const Message&, Context&, void* handle) { native = handle; }),
        store, "stock");

    const DeliveryResults results = body->call(one, {}, clock);

    EXPECT_EQ(native, &store);
    EXPECT_EQ(store.asked.target, "stock");
    EXPECT_EQ(results.front()->record, InlineResult::Record::recorded);
}

TEST_F(HandlerBodyTest, TheStoresTroubleIsNotTheInlineMessages) {
    ScriptedInline store;
    const auto body = inline_body(detail::to_inline_handler([](const Message&, Context&, void*) {}),
                                  store, "stock");

    store.reaction = Reaction::reconnect;
    EXPECT_FALSE(body->call(one, {}, clock).front());
    store.reaction = Reaction::find_out;
    EXPECT_EQ(body->call(one, {}, clock).front()->record, InlineResult::Record::unknown);
    store.reaction = Reaction::bad_data;
    EXPECT_TRUE(std::holds_alternative<Fail>(body->call(one, {}, clock).front()->outcome));
}

}  // namespace
}  // namespace waybill::runtime
