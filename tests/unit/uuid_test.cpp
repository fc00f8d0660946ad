#include "waybill/uuid.hpp"

#include <limits>
#include <unordered_set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/scripted_random.hpp"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using test::ScriptedRandom;

StoreTime at(Duration since_epoch) {
    return StoreTime{since_epoch};
}

Uuid uuid7_at(Duration since_epoch, std::uint64_t noise) {
    ScriptedRandom random{{noise}};
    return uuid7(at(since_epoch), random);
}

TEST(Uuid, IsWrittenInLowerCaseWithFourDashes) {
    const Uuid id{{0x01, 0x7F, 0x22, 0xE2, 0x79, 0xB0, 0x7C, 0xC3, 0x98, 0xC4, 0xDC, 0x0C, 0x0C,
                   0x07, 0x39, 0x8F}};

    EXPECT_EQ(to_string(id), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
    EXPECT_EQ(to_string(Uuid{}), "00000000-0000-0000-0000-000000000000");
}

TEST(Uuid, IsReadInEitherCase) {
    const auto lower = parse_uuid("017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
    const auto upper = parse_uuid("017F22E2-79B0-7CC3-98C4-DC0C0C07398F");

    ASSERT_TRUE(lower.has_value());
    EXPECT_EQ(lower, upper);
    EXPECT_EQ(lower->bytes.front(), 0x01);
    EXPECT_EQ(lower->bytes.back(), 0x8F);
}

TEST(Uuid, NothingElseIsRead) {
    const std::string_view wrong[] = {
        "",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398",     // one short
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f0",   // one long
        "017f22e279b07cc398c4dc0c0c07398f",        // no dashes
        "{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",  // braces
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",    // not a digit, last
        "g17f22e2-79b0-7cc3-98c4-dc0c0c07398f",    // not a digit, first
        "017f22e-279b0-7cc3-98c4-dc0c0c07398f",    // a dash too early
        "017f22e2079b0-7cc3-98c4-dc0c0c07398f",    // a digit for a dash
        "017f22e2-79b0-7cc3-98c4-dc0c0c07-98f",    // a dash for a digit
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398G",    // nor is this one
        " 17f22e2-79b0-7cc3-98c4-dc0c0c07398f",    // a space
        "+17f22e2-79b0-7cc3-98c4-dc0c0c07398f",    // a sign
        "0x7f22e2-79b0-7cc3-98c4-dc0c0c07398f",    // a prefix
        std::string_view{"017f22e2-79b0-7cc3-98c4-dc0c0c07398\0", 36},
    };
    for (const std::string_view text : wrong) {
        EXPECT_EQ(parse_uuid(text), std::nullopt) << text;
    }
}

TEST(Uuid, NilIsOnlyAllZeros) {
    Uuid id;
    EXPECT_TRUE(id.is_nil());

    id.bytes[15] = 1;
    EXPECT_FALSE(id.is_nil());
}

RC_GTEST_PROP(Uuid, ComesBackAsItWasWritten, (const std::array<std::uint8_t, 16>& bytes)) {
    const Uuid id{bytes};
    RC_ASSERT(parse_uuid(to_string(id)) == id);
}

RC_GTEST_PROP(Uuid, IsOrderedAsItsText,
              (const std::array<std::uint8_t, 16>& one, const std::array<std::uint8_t, 16>& two)) {
    RC_ASSERT((Uuid{one} < Uuid{two}) == (to_string(Uuid{one}) < to_string(Uuid{two})));
}

TEST(Uuid7, IsTheExampleOfRfc9562) {
    // A.6: 2022-02-22T19:22:22Z; 0xCC3 of 4096 are the last quarter of microsecond 797.
    EXPECT_EQ(to_string(uuid7_at(1'645'557'742'000ms + 797us, 0xD8C4DC0C0C07398F)),
              "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

TEST(Uuid7, HasItsVersionAndVariantWhateverIsDrawn) {
    EXPECT_EQ(to_string(uuid7_at(0us, 0)), "00000000-0000-7000-8000-000000000000");
    EXPECT_EQ(to_string(uuid7_at(999us, std::numeric_limits<std::uint64_t>::max())),
              "00000000-0000-7ffe-bfff-ffffffffffff");
}

TEST(Uuid7, OfALaterMicrosecondIsLargerWhateverIsDrawn) {
    constexpr std::uint64_t least = 0;
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    for (Duration time = 1'645'557'742'000ms; time < 1'645'557'742'003ms; time += 1us) {
        ASSERT_LT(uuid7_at(time, most), uuid7_at(time + 1us, least)) << time.count();
    }
}

TEST(Uuid7, OfATimeThatDoesNotFitIsThatOfTheNearestOneThatDoes) {
    EXPECT_EQ(uuid7_at(-5s, 1), uuid7_at(0us, 1));
    EXPECT_EQ(to_string(uuid7_at(Duration::max(), 0)), "ffffffff-ffff-7ffb-8000-000000000000");
    EXPECT_EQ(uuid7_at(Duration::min(), 1), uuid7_at(0us, 1));
}

RC_GTEST_PROP(Uuid7, FollowsTheClock, (std::uint64_t noise_one, std::uint64_t noise_two)) {
    const auto one = *rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000'000);
    const auto two = *rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000'000);
    RC_PRE(one < two);

    RC_ASSERT(uuid7_at(Duration{one}, noise_one) < uuid7_at(Duration{two}, noise_two));
}

RC_GTEST_PROP(Uuid7, DiffersWithEveryBitOfTheDraw, (std::uint64_t noise)) {
    const auto bit = *rc::gen::inRange(0, 64);

    RC_ASSERT(uuid7_at(1s, noise) != uuid7_at(1s, noise ^ std::uint64_t{1} << bit));
}

TEST(RandomUuid, IsTheExampleOfRfc9562) {
    // A.3, with other bits where version and variant go.
    ScriptedRandom random{{0x919108F752D1F320, 0xDBACF847DB4148A8}};

    EXPECT_EQ(to_string(random_uuid(random)), "919108f7-52d1-4320-9bac-f847db4148a8");
    EXPECT_TRUE(random.is_used_up());
}

TEST(RandomUuid, KeepsWhatIsDrawnButForSixBits) {
    constexpr std::uint64_t ones = std::numeric_limits<std::uint64_t>::max();
    ScriptedRandom all_set{{ones, ones}};
    ScriptedRandom none_set{{0, 0}};

    EXPECT_EQ(to_string(random_uuid(all_set)), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    EXPECT_EQ(to_string(random_uuid(none_set)), "00000000-0000-4000-8000-000000000000");
}

TEST(UuidHash, TellsNeighboursApart) {
    std::unordered_set<std::size_t> hashes;
    for (std::uint64_t noise = 0; noise < 10'000; ++noise) {
        hashes.insert(std::hash<Uuid>{}(uuid7_at(1s, noise)));
    }

    EXPECT_EQ(hashes.size(), 10'000U);
}

}  // namespace
}  // namespace waybill
