#include <stdexcept>

#include "harness.hpp"

namespace waybill::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Record = InlineResult::Record;

class InlineConformance : public StoreConformance {
protected:
    void SetUp() override {
        if (host(99).connection().inline_store == nullptr) {
            GTEST_SKIP() << GetParam().name << " has no inline transactions: left out";
        }
        declare_box();
        append(order(1));
        host_.take_all();
        row_ = only_row(host_);
    }

    InlineRequest request() const {
        return {host_.fence(row_.partition), row_.sequence, row_.message->id, "billing"};
    }
    InlineResult run(const InlineRequest& request, const std::function<Outcome(void*)>& body) {
        return host_.connection().inline_store->run_inline(request, body);
    }
    /// The effect of the handler, in its transaction: order 7 is appended.
    Outcome write_and_succeed(void* native) {
        under_test().append_inside(native, item(order(7)));
        return Done{};
    }
    bool effect_is_there() { return catalogue().get(id_of(7)).has_value(); }

    Host host_ = host(1);
    Entry row_{};
};

TEST_P(InlineConformance, TheEffectsAndTheSuccessCommitTogether) {
    const InlineResult result = run(request(), [&](void* tx) { return write_and_succeed(tx); });

    EXPECT_EQ(result.record, Record::recorded);
    EXPECT_TRUE(effect_is_there());
    const Entry row = host_.scan().front();
    ASSERT_EQ(row.progress.size(), 1U);
    EXPECT_EQ(row.progress[0].target, "billing");
    EXPECT_EQ(row.progress[0].state, Progress::State::done);
}

TEST_P(InlineConformance, AFailureRollsItsEffectsBackAndIsPassedOn) {
    const InlineResult result = run(request(), [&](void* tx) -> Outcome {
        write_and_succeed(tx);
        return Fail{.reason = "no"};
    });

    EXPECT_EQ(result.record, Record::not_done);
    EXPECT_EQ(result.outcome, Outcome{Fail{.reason = "no"}});
    EXPECT_FALSE(effect_is_there());
    EXPECT_EQ(value_of(only_row(host_)), value_of(row_));
}

TEST_P(InlineConformance, AnExceptionRollsBackAndIsPassedOn) {
    EXPECT_THROW(run(request(),
                     [&](void* tx) -> Outcome {
                         write_and_succeed(tx);
                         throw std::runtime_error("no");
                     }),
                 std::runtime_error);

    EXPECT_FALSE(effect_is_there());
    EXPECT_EQ(value_of(only_row(host_)), value_of(row_));
}

TEST_P(InlineConformance, WhatIsAlreadyRecordedHasNoEffectAgain) {
    run(request(), [](void*) { return Done{}; });

    const InlineResult result = run(request(), [&](void* tx) { return write_and_succeed(tx); });

    EXPECT_EQ(result.record, Record::already);
    EXPECT_FALSE(effect_is_there());
}

TEST_P(InlineConformance, WhatIsFinishedHasNoEffectAgain) {
    host_.finish(row_);

    const InlineResult result = run(request(), [&](void* tx) { return write_and_succeed(tx); });

    EXPECT_EQ(result.record, Record::already);
    EXPECT_FALSE(effect_is_there());
}

TEST_P(InlineConformance, AnOwnerThatLostItsPartitionHasNoEffect) {
    host_.give(host_.taken[0]);

    const InlineResult result = run(request(), [&](void* tx) { return write_and_succeed(tx); });

    EXPECT_EQ(result.record, Record::lost);
    EXPECT_FALSE(effect_is_there());
}

/// The fence is asked in the last round trip and holds no lock while the handler runs.
TEST_P(InlineConformance, AnOwnerThatLosesItsPartitionMeanwhileHasNoEffect) {
    WAYBILL_NEEDS_MANY_INSTANCES();
    Host other = host(2);

    const InlineResult result = run(request(), [&](void* tx) {
        other.give(host_.taken[0]);
        return write_and_succeed(tx);
    });

    EXPECT_EQ(result.record, Record::lost);
    EXPECT_FALSE(effect_is_there());
}

TEST_P(InlineConformance, TheProgressOfOtherTargetsStays) {
    Settlement item = unchanged(row_);
    item.progress = {{.target = "mail", .failures = 3, .last_error = "x"}};
    host_.settle({item});

    run(request(), [](void*) { return Done{}; });

    const Entry row = only_row(host_);
    EXPECT_EQ(row.progress.size(), 2U);
    EXPECT_THAT(row.progress, testing::Contains(item.progress[0]));
}

TEST_P(InlineConformance, AnotherTargetOfTheSameMessageStillHasItsTurn) {
    run(request(), [](void*) { return Done{}; });
    InlineRequest mail = request();
    mail.target = "mail";

    const InlineResult result = run(mail, [&](void* tx) { return write_and_succeed(tx); });

    EXPECT_EQ(result.record, Record::recorded);
    EXPECT_TRUE(effect_is_there());
}

INSTANTIATE_TEST_SUITE_P(Stores, InlineConformance, testing::ValuesIn(stores_under_test()),
                         store_name);

}  // namespace
}  // namespace waybill::test
