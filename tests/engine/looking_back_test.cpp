#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/fixture.hpp"

/// The slow look back, over a store whose answers lose rows or show too many.
namespace waybill::test {
namespace {

class LookingBack : public EngineTest {
protected:
    int looks = 0;

    Stepper& run_looking_back_every(Duration pause) {
        engine::Config with;
        with.options.reconcile = pause;
        with.boxes.push_back(a_box("orders", {}, {"a"}));
        return run(std::move(with));
    }
};

TEST_F(LookingBack, ARowThatWasLostTrackOfIsTakenInWithTheThirdLook) {
    Stepper& engine = run_looking_back_every(10s);
    engine.after_read = [this](const ReadRequest& request, ReadPage& page) {
        if (request.kind == ReadRequest::Kind::increment) page.entries.clear();
        if (request.kind == ReadRequest::Kind::scan) ++looks;
    };
    engine.append({message("lost")});
    ASSERT_TRUE(engine.starts().empty());

    engine.run_for(9s);
    EXPECT_TRUE(engine.starts().empty());
    engine.run_for(10s);

    EXPECT_EQ(engine.starts(), (std::vector<std::string>{"a:lost"}));
    EXPECT_EQ(engine.count(Event::Kind::reconciled), 1U);
    EXPECT_EQ(looks, 3);
}

/// Where something was always being appended, every look met somebody new, and was followed by the next one.
TEST_F(LookingBack, ABusyStoreIsNotLookedThroughAllTheTime) {
    Stepper& engine = run_looking_back_every(10s);
    engine.after_read = [this](const ReadRequest& request, ReadPage& page) {
        if (request.kind != ReadRequest::Kind::scan) return;
        Entry committed_just_now;
        committed_just_now.sequence = 1'000 + ++looks;
        committed_just_now.message = std::make_shared<const Message>(message("new"));
        committed_just_now.partition = request.partition;
        page.entries.push_back(std::move(committed_just_now));
    };

    engine.run_for(1min);

    EXPECT_GE(looks, 6);
    EXPECT_LE(looks, 12) << "each may be looked for once more";
    EXPECT_EQ(engine.count(Event::Kind::reconciled), 0U);
}

}  // namespace
}  // namespace waybill::test
