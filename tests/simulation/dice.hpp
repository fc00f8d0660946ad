#pragma once

#include <cstdint>
#include <vector>

#include "waybill/runtime.hpp"

/// One seed, many streams: what one part of a run draws never changes what another part draws.
namespace waybill::sim {

/// splitmix64's finaliser: a good hash of small numbers.
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

class Dice final : public Random {
public:
    explicit Dice(std::uint64_t seed) : state_(mix(seed)) {}
    Dice(std::uint64_t seed, std::uint64_t stream)
        : state_(mix(mix(seed) ^ mix(stream ^ 0xD1CEULL))) {}

    std::uint64_t next() override {
        state_ += 0x9E3779B97F4A7C15ULL;
        std::uint64_t x = state_;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
        return x ^ (x >> 31);
    }

    bool chance(double probability) { return unit() < probability; }
    /// Both ends included.
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
    }
    Duration between(Duration low, Duration high) {
        return Duration{between(low.count(), high.count())};
    }
    /// Mostly near `low`, now and then up to `high`.
    Duration skewed(Duration low, Duration high) {
        const double x = unit();
        const auto span = static_cast<double>((high - low).count());
        return low + Duration{static_cast<std::int64_t>(span * x * x * x * x)};
    }
    template <class Item>
    const Item& pick(const std::vector<Item>& items) {
        return items[static_cast<std::size_t>(next() % items.size())];
    }
    std::size_t index(std::size_t size) { return static_cast<std::size_t>(next() % size); }

private:
    std::uint64_t state_;
};

}  // namespace waybill::sim
