#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "waybill/target.hpp"
#include "waybill/time.hpp"
#include "waybill/uuid.hpp"

/// Who works on a store that many share, for people: what the liveness rows say.
namespace waybill {

/// An instance as the store knows it.
struct InstanceSeen {
    Uuid incarnation{};
    std::string name{};
    /// False: its lease ran out, and partitions still name it.
    bool alive = true;
    bool stopping = false;
    /// A run-once host.
    bool guest = false;
    StoreTime since{};
    StoreTime last_beat{};
    Duration lease{};
    std::vector<std::string> boxes{};
    /// `target_number(box, key)` of each target it has code for, sorted.
    std::vector<std::uint64_t> executes{};
    std::uint64_t waiting = 0;
    /// Deliveries it runs, at most 64 of them counted.
    std::uint32_t running = 0;
    /// How many it owns.
    std::uint32_t partitions = 0;
    /// What the store refuses it, since when and why: "results for 12 s: …". Empty: nothing.
    std::string refused{};

    bool operator==(const InstanceSeen&) const = default;
};

/// Whether this one has the code of a target and lives.
bool serves(const InstanceSeen& instance, const Target& target);

/// The newer one names the older one's key among its legacy keys: its work is the older one's, too.
bool took_over(const Target& newer, const Target& older);

/// Registered targets that no live instance has code for, and that no other one took over from.
std::vector<Target> without_instance(std::span<const Target> registry,
                                     std::span<const InstanceSeen> instances);

}  // namespace waybill
