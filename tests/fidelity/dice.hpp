#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace waybill::test {

/// The small choices of one step, all from one number.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }
    /// 0 … count-1.
    std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }
    bool one_in(std::size_t count) { return below(count) == 0; }
    template <class Range>
    const auto& pick(const Range& from) {
        return from[below(std::size(from))];
    }

private:
    std::uint64_t state_;
};

}  // namespace waybill::test
