#include "waybill/console.hpp"

#include <array>

#include <gmock/gmock.h>

#include "waybill/health.hpp"

namespace waybill {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(Console, SaysInOneLineWhatPeopleShouldKnow) {
    const Event failed{
        .kind = Event::Kind::failed, .target = "mail", .text = "no answer", .count = 2};
    std::FILE* const file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    Console console{file};

    console.on_event(failed);
    console.on_event({.kind = Event::Kind::started, .target = "mail"});

    std::rewind(file);
    std::array<char, 1000> text{};
    const std::size_t size = std::fread(text.data(), 1, text.size(), file);
    std::fclose(file);
    const std::string said{text.data(), size};
    EXPECT_THAT(said, StartsWith("waybill: message "));
    EXPECT_THAT(said, HasSubstr(" for mail failed, attempt 2: no answer\n"));
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << "that something starts is no news";
}

TEST(Console, IsSilentAboutWhatGoesWell) {
    using Kind = Event::Kind;
    for (const Kind kind :
         {Kind::owned, Kind::started, Kind::done, Kind::finished, Kind::stopped}) {
        EXPECT_THAT(describe({.kind = kind}), IsEmpty()) << to_string(kind);
    }
}

TEST(Health, NamesWhatTheStoreRefuses) {
    const Health health =
        judge({.started = true, .ready = true, .refused = "results for 12 s: permission denied"},
              {.reachable = true}, {});

    EXPECT_EQ(health.state, Health::State::unhealthy);
    EXPECT_THAT(health.reasons,
                ElementsAre("the store has refused results for 12 s: permission denied"));
}

TEST(Health, NamesMessagesThatNobodyWants) {
    const Health health =
        judge({.started = true, .ready = true}, {.reachable = true, .parked = 2}, {});

    EXPECT_EQ(health.state, Health::State::degraded);
    EXPECT_THAT(health.reasons,
                ElementsAre("2 messages are parked: no registered target matches them"));
}

TEST(Health, SaysThatItRunsCarefullyAfterCrashes) {
    const Health health =
        judge({.started = true, .ready = true, .careful = true}, {.reachable = true}, {});

    EXPECT_EQ(health.state, Health::State::degraded);
    EXPECT_THAT(health.reasons, ElementsAre(StartsWith("runs carefully")));
}

}  // namespace
}  // namespace waybill
