#include "transport/http_out/deadlines.hpp"

#include <gtest/gtest.h>

namespace waybill::http_out {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Deadlines kDeadlines{
    .connect = seconds{10}, .tls = seconds{5}, .first_byte = seconds{20}, .total = seconds{30}};

TEST(Deadlines, APhaseBeginsWhenTheOneBeforeItIsOver) {
    EXPECT_EQ(phase_of({}), Phase::name);
    EXPECT_EQ(phase_of({.name = seconds{1}}), Phase::connect);
    EXPECT_EQ(phase_of({.name = seconds{1}, .connected = seconds{2}}), Phase::tls);
    EXPECT_EQ(phase_of({.name = seconds{1}, .connected = seconds{2}, .ready = seconds{3}}),
              Phase::first_byte);
    EXPECT_EQ(phase_of({.ready = seconds{3}, .first_byte = seconds{4}}), Phase::answer);
}

TEST(Deadlines, NameAndConnectionShareOne) {
    EXPECT_EQ(look(kDeadlines, {}, milliseconds{9'999}).limit, Duration{});
    EXPECT_EQ(look(kDeadlines, {}, seconds{10}).limit, seconds{10});
    EXPECT_EQ(look(kDeadlines, {.name = seconds{9}}, seconds{10}).limit, seconds{10});
}

TEST(Deadlines, EveryOtherPhaseIsCountedFromItsBeginning) {
    const Progress in_tls{.name = seconds{1}, .connected = seconds{2}};
    EXPECT_EQ(look(kDeadlines, in_tls, milliseconds{6'999}).limit, Duration{});
    EXPECT_EQ(look(kDeadlines, in_tls, seconds{7}).limit, seconds{5});

    const Progress sent{.name = seconds{1}, .connected = seconds{2}, .ready = seconds{3}};
    EXPECT_EQ(look(kDeadlines, sent, milliseconds{22'999}).limit, Duration{});
    EXPECT_EQ(look(kDeadlines, sent, seconds{23}).limit, seconds{20});
}

TEST(Deadlines, TheOneForAllOfItEndsEveryPhase) {
    for (const Progress& progress : {Progress{}, Progress{.ready = seconds{29}},
                                     Progress{.ready = seconds{1}, .first_byte = seconds{2}}}) {
        EXPECT_EQ(look(kDeadlines, progress, seconds{30}).limit, seconds{30});
    }
}

TEST(Deadlines, NoneIsNoticedLateAlthoughNobodyHearsAPhaseBegin) {
    // Connected right after a look: its handshake may take 5 s from then.
    EXPECT_EQ(look(kDeadlines, {}, Duration{}).again, seconds{5});
    EXPECT_EQ(look(kDeadlines, {}, seconds{5}).again, seconds{10});
    EXPECT_EQ(look(kDeadlines, {.connected = seconds{2}}, seconds{5}).again, seconds{7});
    EXPECT_EQ(look(kDeadlines, {.ready = seconds{2}}, seconds{5}).again, seconds{22});
    EXPECT_EQ(look(kDeadlines, {.ready = seconds{2}, .first_byte = seconds{4}}, seconds{5}).again,
              seconds{30});
}

TEST(Deadlines, EndlessOnesDoNotOverflow) {
    const Deadlines endless{
        .connect = forever, .tls = forever, .first_byte = forever, .total = forever};
    EXPECT_EQ(look(endless, {}, seconds{5}).again, forever);
    EXPECT_EQ(look(endless, {.connected = seconds{2}}, seconds{5}).again, forever);
    EXPECT_EQ(look(endless, {.ready = seconds{2}}, seconds{5}).again, forever);
}

TEST(Deadlines, ATimeoutSaysWhereAndAfterHowLong) {
    EXPECT_EQ(timed_out(Phase::name, seconds{10}),
              "timed out while looking up the name, after 10 s");
    EXPECT_EQ(timed_out(Phase::tls, seconds{5}), "timed out in the TLS handshake, after 5 s");
}

}  // namespace
}  // namespace waybill::http_out
