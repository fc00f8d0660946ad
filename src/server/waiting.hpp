#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "waybill/catalogue.hpp"

/// Why what is open of a message does not go on, for the person who was woken by it. Pure, but for what it asks.
namespace waybill::server {

/// One delivery that has not ended.
struct OpenDelivery {
    std::string target{};
    std::uint32_t failures = 0;
    std::string last_error{};
    /// Not before this moment.
    StoreTime due{};
    /// Why it waits and what to do; empty: it runs, or is about to.
    std::string waits{};

    bool operator==(const OpenDelivery&) const = default;
};

/// What is known beside the message.
struct WaitingFacts {
    std::span<const Target> registry{};
    bool box_is_paused = false;
    /// Messages of one lane wait for each other, per target.
    bool lanes_are_strict = false;
    /// What the store refuses those who attend the box.
    std::string refused{};
    StoreTime now{};
    /// Why a target gets nothing at all; empty: it does. Asked for a few deliveries at most.
    std::function<std::string(const Target& target)> of_target{};
    /// The first rows of a lane. May be null.
    std::function<std::vector<Entry>(const Entry& row)> lane{};
};

/// Those of all rows of it, in the order of the registry.
std::vector<OpenDelivery> open_deliveries(std::span<const Entry> open, const WaitingFacts& facts);

}  // namespace waybill::server
