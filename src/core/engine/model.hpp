#pragma once

#include <cstdint>
#include <ranges>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/engine/blocked_lanes.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/lane.hpp"
#include "core/engine/routes.hpp"

/// What the engine keeps in memory: the open work of its partitions, as much as the window allows.
namespace waybill::engine {

/// How a row came to us; what it may do to memory depends on it.
enum class Via : std::uint8_t { increment, scan, due, lanes, parked, hand_over, forced };
enum class Loaded : std::uint8_t { taken, accounted, refused };
inline constexpr std::uint32_t any_chain = UINT32_MAX;

/// "Everything up to the end is accounted for": a stream that is not behind.
inline constexpr Sequence tail = INT64_MAX;

struct Partition;

/// One (message, target) in memory.
struct Delivery {
    enum class State : std::uint8_t { ready, running, done, dead };
    std::uint32_t target = 0;
    std::uint32_t chain = 0;
    State state = State::ready;
    /// Its chain is scheduled here. Otherwise it waits in the store: behind, skipped or foreign.
    bool attached = false;
    bool queued = false;     ///< in its target's ready queue
    bool changed = false;    ///< differs from what the store has
    bool sent = false;       ///< part of the settle that is on its way
    bool cancel = false;     ///< an operator wants it ended
    bool skipped = false;    ///< dead, and no reason to halt its lane
    bool announced = false;  ///< observers have heard how it ended
    bool waived = false;  ///< done because its target is forgotten: only here, the store never knew
    /// Inline runs in a row that the store could not carry out; up to 100.
    std::uint8_t troubles = 0;
    std::uint32_t failures = 0;
    StoreTime due{};
    /// Key in Machine::timers_ with timer_due, 0 for none.
    std::uint64_t timer = 0;
    StoreTime timer_due{};
    std::string last_error{};

    bool is_terminal() const { return state == State::done || state == State::dead; }
    /// Terminal, and the store knows.
    bool is_settled() const { return is_terminal() && !changed && !sent; }
};

/// One row of open work in memory.
struct Work {
    enum class Settle : std::uint8_t { clean, dirty, sent, sent_and_dirty };

    // First what is looked at whenever its lane or target moves: it has been out of the processor's
    // cache since it came, and every line counts.
    Partition* partition = nullptr;
    Sequence sequence = 0;
    /// All registered matching targets, whether attached or not.
    std::vector<Delivery> deliveries{};
    /// Of the lane text; 0 = unordered.
    std::uint64_t lane_hash = 0;
    /// The read that brought it, if that was no increment: something before it in its lane may have
    /// been committed that no increment has returned yet. 0: nothing can be missing.
    std::uint64_t unproven = 0;
    std::uint32_t queued = 0;  ///< deliveries in ready queues: the object stays while there are any
    std::uint32_t running = 0;  ///< deliveries running
    Settle settle = Settle::clean;
    bool entered = false;  ///< its not-before has passed: it is in its lanes
    bool halted = false;
    bool parked = false;
    bool collapsed = false;
    bool gone = false;        ///< no longer ours; only the ready queue still points here
    bool collapses = false;   ///< its message has a collapse key
    bool tenanted = false;    ///< its message has a tenant
    bool missing = false;     ///< the store has lost its message
    bool unparking = false;   ///< it was parked, and the store says so until this is settled
    bool begun = false;       ///< some of it is done, or an inline run may be: too late to collapse
    bool unstorable = false;  ///< its texts could not be stored and are left out
    std::uint32_t inline_running = 0;  ///< other outcomes of it wait meanwhile
    MessagePtr message{};

    std::uint32_t requeues = 0;
    std::uint32_t strikes = 0;
    std::uint64_t solo_epoch = 0;
    /// What the store's row says; it stands for the work when that leaves memory.
    StoreTime stored_due{};
    StoreTime sent_due{};
    std::uint32_t bytes = 0;
    /// How much of it the settle on its way carries.
    std::uint32_t sent_letters = 0;
    std::uint32_t sent_attempts = 0;
    std::uint32_t sent_revived = 0;
    bool sent_finish = false;
    std::vector<std::string> only{};
    /// Not yet settled.
    std::vector<DeadLetter> letters{};
    std::vector<Attempt> attempts{};
    std::vector<std::string> revived{};

    void reset();
};

using WorkMap = std::unordered_map<Sequence, Work>;

/// A partition this instance owns.
struct Partition {
    PartitionId id = 0;
    std::uint32_t box = 0;
    Token token{};
    LocalTime taken_at{};
    /// Beats sent before the take was answered tell nothing about it.
    std::uint64_t taken_at_beat = 0;
    /// False: our lease had run out when the take was answered, so that it may have been taken from
    /// us since; nothing starts before a beat has seen the token.
    bool confirmed = true;
    bool taken_unclean = false;
    std::uint32_t unclean_ends = 0;
    /// When the last unclean end is forgotten.
    LocalTime quiet_at{};
    /// The first scan is complete.
    bool scanned = false;
    Sequence scan_from = 0;
    /// On its way out: its works leave without starting others.
    bool dropping = false;

    WorkMap works{};
    /// Per chain: all rows up to here are in memory or accounted for by lane or due time.
    std::vector<Sequence> cursors{};
    /// Per (chain, lane), by lane_key().
    LaneTable lanes{};
    /// Lanes of which only the waiting head is known, in the store.
    BlockedLanes blocked{};
    /// Youngest not started work per collapse key (and lane).
    std::unordered_map<std::uint64_t, Work*> youngest{};
    Sequence parked_cursor = 0;
    Sequence reconcile_cursor = tail;
    /// Targets with open work here that only other instances can run.
    std::vector<std::uint64_t> foreign{};
    /// Something of it has started since it was taken.
    bool started = false;
    /// Runs, timed-out and abandoned ones included.
    std::uint32_t running = 0;
    std::uint32_t unsettled = 0;
    std::uint32_t waiting = 0;  ///< deliveries in ready queues
};

/// Mixes a chain into a lane's hash.
inline std::uint64_t lane_key(std::uint64_t lane_hash, std::uint32_t chain) {
    return (lane_hash ^ (chain + 1) * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
}

/// Chains of these deliveries, each once, in order.
inline auto chains_of(const std::vector<Delivery>& deliveries) {
    const Delivery* all = deliveries.data();
    const auto is_first = [all](std::size_t i) {
        for (std::size_t before = 0; before < i; ++before) {
            if (all[before].chain == all[i].chain) {
                return false;
            }
        }
        return true;
    };
    return std::views::iota(std::size_t{0}, deliveries.size()) | std::views::filter(is_first) |
           std::views::transform([all](std::size_t i) { return all[i].chain; });
}
bool is_attached(const std::vector<Delivery>& deliveries, std::uint32_t chain);
/// Some delivery of the chain is not terminal; is not durably so; is dead and holds its lane.
bool any_open(const std::vector<Delivery>& deliveries, std::uint32_t chain);
bool any_unsettled(const std::vector<Delivery>& deliveries, std::uint32_t chain);
bool any_halting(const std::vector<Delivery>& deliveries, std::uint32_t chain);

/// The earliest moment at which any of these may run; `halted` ones never do.
StoreTime earliest_due(const std::vector<Delivery>& deliveries, const Routes& routes, bool halted);

/// Calls of one kind that the store does not carry out, until it does.
struct Refusal {
    std::size_t kind = 0;  ///< the index of a ChannelCall
    LocalTime since{};
    std::string text{};
};

/// What a work costs in memory, its share of maps and queues included.
std::uint32_t bytes_of(const Work& work);
inline constexpr std::uint32_t lane_bytes = 160;

}  // namespace waybill::engine
