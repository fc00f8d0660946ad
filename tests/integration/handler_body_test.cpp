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
    DeliveryResults batch(F handler, bool strict = false, const std::stop_token& stop = {}) {
        return batch_body(detail::to_batch_handler(std::move(handler)), strict)
            ->call(delivery, stop, clock);
    }
    static bool is_done(const std::optional<DeliveryResult>& result) {
        return result && result->outcome == Outcome{Done{}};
    }
    static std::string reason(const std::optional<DeliveryResult>& result) {
        const Fail* fail = result ? std::get_if<Fail>(&result->outcome) : nullptr;
        return fail == nullptr ? "" : fail->reason;
    }
    void give_lanes() {
        for (DeliveryItem& item : delivery.items) {
            auto message = std::make_shared<Message>(*item.message);
            message->lane = "a";
            item.message = std::move(message);
        }
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

TEST_F(HandlerBodyTest, APermanentFailureIsNotRetried) {
    const Outcome outcome = outcome_of([](const Message&) { throw PermanentFailure{"no such"}; });

    EXPECT_EQ(outcome, (Outcome{Fail{.reason = "no such", .permanent = true}}));
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
        EXPECT_EQ(&context.message(), &message);
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

TEST_F(HandlerBodyTest, OnePoisonItemCostsTheOthersOfItsBatchNothing) {
    std::vector<std::size_t> sizes;
    const auto results = batch([&](Batch messages, BatchContext& context) {
        sizes.push_back(messages.size());
        for (std::size_t i = 0; i < messages.size(); ++i) {
            const bool is_poison = messages[i]->body == "1";
            if (is_poison)
                throw std::runtime_error{"poison at attempt " +
                                         std::to_string(context.attempt_of(i))};
        }
    });

    EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 1, 1, 1}));
    ASSERT_EQ(results.size(), 3U);
    EXPECT_TRUE(is_done(results[0]));
    EXPECT_EQ(reason(results[1]), "poison at attempt 2") << "the same attempt as in the batch";
    EXPECT_TRUE(is_done(results[2]));
}

TEST_F(HandlerBodyTest, AfterABatchThrewAStrictLaneIsCalledUpToTheFirstThatIsNotDone) {
    give_lanes();
    std::vector<std::string> alone;
    const auto poison_in_the_middle = [&](Batch messages, BatchContext&) {
        if (messages.size() > 1) throw std::runtime_error{"somewhere in here"};
        alone.push_back(messages[0]->body);
        if (messages[0]->body == "1") throw std::runtime_error{"here"};
    };

    const auto strict = batch(poison_in_the_middle, true);
    EXPECT_EQ(alone, (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(strict.size(), 2U) << "the third is not answered for";
    EXPECT_EQ(reason(strict[1]), "here");

    const auto overtaking = batch(poison_in_the_middle, false);
    EXPECT_EQ(overtaking.size(), 3U);
    EXPECT_TRUE(is_done(overtaking[2]));
}

TEST_F(HandlerBodyTest, ACallThatWouldHardlyEndInTimeIsNotBegun) {
    const auto results = batch([&](Batch messages, BatchContext&) {
        clock.advance(4s);  // of ten, for all of them together
        if (messages.size() > 1) throw std::runtime_error{"no"};
    });

    EXPECT_EQ(results.size(), 1U) << "the others are tried again, uncounted";
    EXPECT_TRUE(is_done(results[0]));
}

TEST_F(HandlerBodyTest, ABatchThatWasToldToStopIsNotCalledOneByOne) {
    std::stop_source stop;
    int calls = 0;
    const auto results = batch(
        [&](Batch, BatchContext&) {
            ++calls;
            stop.request_stop();
            throw std::runtime_error{"cancelled"};
        },
        false, stop.get_token());

    EXPECT_EQ(calls, 1);
    ASSERT_EQ(results.size(), 3U);
    EXPECT_EQ(reason(results[2]), "cancelled");
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
