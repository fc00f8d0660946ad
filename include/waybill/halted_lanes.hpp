#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waybill/catalogue.hpp"

/// Lanes of boxes with OnDead::halt that stopped at a dead head, and what people do about it.
namespace waybill {

/// Where a lane stands still.
struct HaltedLane {
    std::string box{};
    std::string lane{};
    /// Its head, and the head's place.
    Uuid message{};
    Sequence sequence = 0;
    std::string type{};
    /// Whose dead letters hold it; a resume runs exactly these again.
    std::vector<std::string> targets{};
    /// Of the first of them.
    std::string reason{};
    StoreTime since{};

    bool operator==(const HaltedLane&) const = default;
};

/// The halted lanes of a store. A handle: copies mean the same store. Orders are carried out by
/// whoever owns the lane: each returns the numbers under which Catalogue::command_result has the
/// owner's answers, none when the message holds no lane.
///
/// Thread safety: any thread, whether an engine runs or not.
/// Lifetime:      the store outlives it.
/// Errors:        StoreError.
class HaltedLanes {
public:
    explicit HaltedLanes(Catalogue& catalogue) : catalogue_(&catalogue) {}

    /// Those that halted first come first. A page looks at `letters_max` dead letters, so it may have
    /// few lanes or none and still not be the last: Page::next says.
    Page<HaltedLane> list(const Filter& filter = {}, const std::string& cursor = {},
                          std::uint32_t letters_max = 1'000) const;
    /// The lanes this message is the halted head of: one for each row of open work it has.
    std::vector<HaltedLane> of(const Uuid& message) const;

    /// The lane goes on behind this head, whose dead letters stay.
    std::vector<std::uint64_t> skip(const Uuid& message) const;
    /// The head runs again in its old place, from its first attempt.
    std::vector<std::uint64_t> resume(const Uuid& message) const;

private:
    Catalogue* catalogue_;
};

}  // namespace waybill
