#include "waybill/testkit/kit.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace waybill::testkit {
namespace {

Settings in_hand(Settings settings, StoreHandle store, ManualClock& clock, Random& random) {
    settings.store = std::move(store);
    settings.clock = &clock;
    settings.random = &random;
    settings.background = false;
    if (settings.name.empty()) settings.name = "testkit";
    return settings;
}

}  // namespace

std::uint64_t SteadyRandom::next() {
    // splitmix64
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

Kit::Kit(Settings settings)
    : store(std::make_shared<FaultyStore>(memory::open(clock), &clock)),
      app(in_hand(std::move(settings), store, clock, random)) {
    app.observe(events);
}

void Kit::start() {
    if (!app.status().started) app.start();
}

LocalTime Kit::settle_down() {
    start();
    for (std::uint64_t round = 0; round < rounds_max; ++round) {
        const LocalTime next = app.step();
        if (next > clock.now()) return next;
    }
    throw std::logic_error{
        "testkit: the application does not come to rest; does a handler append for ever?"};
}

bool Kit::run_until_idle() {
    settle_down();
    return app.wait_idle();
}

void Kit::advance(Duration by) {
    const LocalTime until = later(clock.now(), by);
    for (LocalTime next = settle_down(); next <= until; next = settle_down()) {
        clock.advance(next - clock.now());
    }
    clock.advance(std::max(Duration::zero(), until - clock.now()));
    settle_down();
}

std::optional<Filter::State> Kit::run_until_done(const Uuid& message, Duration at_most) {
    const LocalTime until = later(clock.now(), at_most);
    while (true) {
        const LocalTime next = settle_down();
        const auto state = state_of(message);
        const bool is_open = state == Filter::State::open || state == Filter::State::parked;
        if (!is_open || next > until) return state;
        clock.advance(next - clock.now());
    }
}

std::optional<Filter::State> Kit::state_of(const Uuid& message) {
    const auto detail = app.catalogue().get(message);
    return detail ? std::optional{detail->summary.state} : std::nullopt;
}

void Kit::restart() {
    app.stop();
    app.start();
}

}  // namespace waybill::testkit
