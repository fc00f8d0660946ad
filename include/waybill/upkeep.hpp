#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "waybill/problems.hpp"
#include "waybill/store.hpp"

namespace waybill {

/// What a store says of itself and of its contents.
struct StoreHealth {
    bool reachable = false;
    /// For people: what is wrong, or a word on what it is.
    std::string text{};
    std::uint64_t open = 0;
    std::uint64_t parked = 0;
    std::uint64_t dead = 0;
    /// Age of the oldest open message whose time has come.
    Duration oldest_open{};
};

/// What a sweep deleted.
struct Swept {
    std::uint64_t messages = 0;
    std::uint64_t dead_letters = 0;
    std::uint64_t dedup_records = 0;
    std::uint64_t attempts = 0;
    /// The batch limit was reached: sweep again.
    bool more = false;

    bool operator==(const Swept&) const = default;
};

/// Housekeeping of a store.
class Upkeep {
public:
    virtual ~Upkeep() = default;

    /// Brings the schema to this version. Safe to run twice and by two hosts at once.
    virtual void migrate() = 0;
    /// Deletes what the boxes no longer keep, at most `rows_max` of each kind (attempts that go with
    /// their message come on top). Never open work, and never the letter a halted lane stands at.
    virtual Swept sweep(std::span<const BoxDeclaration> boxes, std::uint32_t rows_max) = 0;
    virtual StoreHealth health() = 0;
    /// Settings that break a promise; the engine refuses to run on them unless told.
    virtual Problems check_settings() = 0;
};

}  // namespace waybill
