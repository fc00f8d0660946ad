#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "crash/parent.hpp"
#include "fidelity/dice.hpp"

/// Real crashes: a process under load dies, and the next one on its file finds everything. How many
/// and from which seed: WAYBILL_CRASH_ROUNDS and WAYBILL_CRASH_SEED; script/torture runs the long ones.
namespace waybill::crash {
namespace {

using test::Dice;

/// The clock jumps this far between some lives: five quiet minutes forget the crashes before, and the
/// next life runs at full speed.
constexpr int kQuietMinutes = 10;
/// About as many as a whole life makes.
constexpr std::size_t kCallsOfALife = 1'200;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Crash : public testing::Test {
protected:
    /// `in_ci` unless the environment says otherwise.
    static int rounds(int in_ci) {
        return static_cast<int>(
            from_environment("WAYBILL_CRASH_ROUNDS", static_cast<std::uint64_t>(in_ci)));
    }
    std::uint64_t seed = from_environment("WAYBILL_CRASH_SEED", 20260);
    Dice dice{seed};

    /// Half of the lives begin after a quiet time, at full speed; the others run fused.
    int clock() { return dice.one_in(2) ? after_quiet() : minutes_; }
    int after_quiet() { return minutes_ += kQuietMinutes; }

    /// Lives that end badly, each on what the one before left. A new file now and then: looking at
    /// everything takes longer with every message.
    void live(int count, const std::function<Life()>& next) {
        for (int round = 0; round < count;) {
            Parent parent;
            for (const int last = std::min(count, round + kLivesPerFile); round < last;) {
                Life life = next();
                life.round = ++round;
                kills += parent.live(life).killed;
                parent.inspect();
                ASSERT_EQ(parent.verdict(), "")
                    << "round " << round << ", call " << life.trap.at << ", seed " << seed;
            }
            parent.finish(round + 1, after_quiet());
            ASSERT_EQ(parent.verdict(), "") << "after round " << round << ", seed " << seed;
            acknowledged += parent.books().acknowledged();
            cut_off += parent.books().cut_off();
        }
        EXPECT_GT(acknowledged, 0U);
        RecordProperty("kills", kills);
        RecordProperty("acknowledged", std::to_string(acknowledged));
        RecordProperty("cut_off", std::to_string(cut_off));
    }

    int kills = 0;
    std::uint64_t acknowledged = 0;
    /// Handlers that were running when the end came.
    std::uint64_t cut_off = 0;

private:
    static constexpr int kLivesPerFile = 50;
    int minutes_ = 0;
};

TEST_F(Crash, AKillAtAnyMomentLosesNothingAndRunsNothingDoneAgain) {
    const int count = rounds(15);
    live(count, [this] {
        // Early moments as often as late ones.
        const std::size_t about = std::size_t{1} << dice.below(10);
        return Life{.minutes_later = clock(),
                    .lines_max = static_cast<int>(about + dice.below(about))};
    });
    EXPECT_GT(kills, count / 2);
}

TEST_F(Crash, ADeathInAnyWriteOfANewFileLeavesOneThatOpens) {
    const Trap::Kind kinds[] = {Trap::Kind::before, Trap::Kind::torn, Trap::Kind::after,
                                Trap::Kind::power};
    const int count = rounds(16);
    for (int at = 1; at <= count; ++at) {
        Parent parent;
        const Trap trap{dice.pick(kinds), static_cast<std::uint64_t>(at), dice.next() >> 1};
        const End end = parent.live({.round = 1, .messages = 10, .trap = trap});
        EXPECT_EQ(end.code, trapped);
        parent.inspect();
        parent.finish(2, 0);
        ASSERT_EQ(parent.verdict(), "") << "call " << at << ", seed " << seed;
    }
}

TEST_F(Crash, ADeathInAnyInputOrOutputCallLosesNothing) {
    const Trap::Kind kinds[] = {Trap::Kind::before, Trap::Kind::torn, Trap::Kind::after};
    live(rounds(12), [&] {
        const Trap trap{dice.pick(kinds), 1 + dice.below(kCallsOfALife), dice.next() >> 1};
        return Life{.minutes_later = clock(), .trap = trap};
    });
}

TEST_F(Crash, APowerCutLosesNothingThatWasAcknowledged) {
    live(rounds(12), [this] {
        const Trap trap{Trap::Kind::power, 1 + dice.below(kCallsOfALife), dice.next() >> 1};
        return Life{.minutes_later = clock(), .trap = trap};
    });
}

TEST_F(Crash, AMessageThatKillsItsProcessEndsAsADeadLetterAndNoOtherDoes) {
    constexpr int kLivesMax = 12;
    Parent parent;
    int lives = 0;
    bool over = false;
    while (!over && lives < kLivesMax) {
        // Each life but the last is ended by the bomb.
        const int messages = lives == 0 ? 10 : 0;
        over = parent.live({.round = ++lives, .messages = messages, .bombs = lives == 1}).code == 0;
        parent.inspect();
    }
    ASSERT_TRUE(over) << "it still explodes after " << lives << " lives";
    parent.finish(lives + 1, 0);

    EXPECT_EQ(parent.verdict(), "");
    EXPECT_EQ(parent.books().crash_loops(), 1);
    EXPECT_GT(lives, 3);
}

/// The books can tell: a file that does not wait for its disk loses what it acknowledged.
TEST_F(Crash, APowerCutOfARelaxedFileIsNoticed) {
    Parent parent;
    for (int round = 1; round <= 20 && parent.verdict().empty(); ++round) {
        const Trap trap{Trap::Kind::power, 100 + dice.below(100), dice.next() >> 1};
        parent.live({.round = round, .trap = trap, .relaxed = true});
        parent.inspect();
    }
    EXPECT_NE(parent.verdict().find("acknowledged and lost"), std::string::npos)
        << parent.verdict();
}

}  // namespace
}  // namespace waybill::crash
