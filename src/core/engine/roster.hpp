#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/engine/engine.hpp"

/// Who should own what: pure decisions over the last beat.
namespace waybill::engine {

/// How often a partition was seen without a live owner, one beat after the other.
using SeenFree = std::map<PartitionId, std::uint32_t>;

struct TakeRules {
    Uuid self{};
    bool guest = false;
    /// The store and this instance have been in touch for a whole lease, so that silence of others
    /// is theirs and not the store's.
    bool may_take_dead = false;
};

/// Partitions to ask for now: what was left to us or lost track of, what is free up to the fair
/// share at once, and beyond it what nobody else took for two beats.
std::vector<TakeRequest> choose_takes(const BeatReply& beat, const TakeRules& rules,
                                      std::span<const PartitionId> owned, SeenFree& seen_free);

/// An owned partition, as far as giving it away is concerned.
struct Holding {
    PartitionId id = 0;
    std::string_view box{};
    Token token{};
    /// Held for long enough, not asked for otherwise.
    bool may_go = false;
    /// Something runs or waits to be settled: it stays.
    bool busy = false;
    bool waiting = false;
    /// Open targets only others can run.
    std::span<const std::uint64_t> foreign{};
    /// Targets of its box that run here.
    std::span<const std::uint64_t> executes{};
};

/// At most one partition per beat goes: to an instance that has a handler we lack, else to a hungry
/// one if work waits here, else to one that has less than its share.
std::optional<GiveRequest> choose_give(const BeatReply& beat, const Uuid& self,
                                       std::span<const Holding> holdings);

/// Live instances that count for shares and limits of a box; at least 1.
std::uint32_t live_instances(const BeatReply& beat, std::string_view box);

}  // namespace waybill::engine
