#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "waybill/memory.hpp"
#include "waybill/testkit/event_log.hpp"
#include "waybill/testkit/faulty_store.hpp"
#include "waybill/testkit/manual_clock.hpp"
#include "waybill/waybill.hpp"

namespace waybill::testkit {

/// The same numbers in every run, and even ones: a delay with symmetric jitter is as long as its
/// back-off says.
class SteadyRandom final : public Random {
public:
    std::uint64_t next() override;
    double unit() override { return 0.5; }

private:
    std::uint64_t state_ = 0;
};

/// One application in the hand of a test: the memory store, a clock that only the test moves, no
/// threads, no jitter. Handlers run when the test lets them, on its own thread and always in the same
/// order, so that a test about a retry after five minutes takes no time and has one outcome.
///
///     testkit::Kit kit;
///     register_handlers(kit.app);            // what the service does at its own start
///     const auto id = kit.app.append({.type = "order.placed"}).id;
///     ASSERT_EQ(kit.run_until_done(id), Filter::State::done);
///
/// Thread safety: one thread; the test's.
/// Lifetime:      handlers are captured by the application: what they refer to outlives the kit.
/// Errors:        std::logic_error when the application does not come to rest (handlers that append
///                for ever).
class Kit {
public:
    Kit() : Kit(Settings{}) {}
    /// Other settings; store, clock, random and background are the kit's own.
    explicit Kit(Settings settings);

    ManualClock clock{};
    SteadyRandom random{};
    /// Between the application and the memory store; see FaultyStore for what it can be told.
    std::shared_ptr<FaultyStore> store;
    EventLog events{};
    Waybill app;
    /// Rounds without the clock moving, before a test that would never end is told so. A message
    /// takes a few.
    std::uint64_t rounds_max = 1'000'000;

    /// Handles everything that is due now; starts the application if need be. False: something is
    /// still to do, but not before the clock moves (the store failed, for instance).
    bool run_until_idle();
    /// Moves the clock, and handles what comes due on the way at its time, or up to a millisecond
    /// later: the engine looks no more often.
    void advance(Duration by);
    /// Handles what is due and moves the clock from one due time to the next, until all deliveries of
    /// the message are done or dead, but no further than `at_most`. Returns what became of it, as
    /// state_of does.
    std::optional<Filter::State> run_until_done(const Uuid& message,
                                                Duration at_most = std::chrono::hours{24});
    /// Nothing: the store does not have it; it never did, or its box keeps nothing that is done.
    std::optional<Filter::State> state_of(const Uuid& message);
    /// Stops and starts, as a deploy does.
    void restart();

private:
    void start();
    /// Rounds until the next one is due later than now; returns when.
    LocalTime settle_down();
};

}  // namespace waybill::testkit
