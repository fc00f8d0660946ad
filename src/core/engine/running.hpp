#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/engine/model.hpp"
#include "core/engine/ready_queue.hpp"
#include "core/engine/routes.hpp"

/// What the engine keeps of its boxes and targets while it runs, and of the calls it has made.
namespace waybill::engine {

/// Box and route index of a target.
using TargetPlace = std::pair<std::uint32_t, std::uint32_t>;

/// Room for so many runs at once, shared by targets that are alike.
struct Places {
    std::uint32_t limit = 0;
    std::uint32_t running = 0;
    /// Targets that have something running.
    std::uint32_t busy = 0;
    /// Found it full. While some wait and there is room, one of its targets is in the rotation.
    std::deque<TargetPlace> waiting{};
    /// Had their share of what was left, and are not in the rotation for that.
    std::deque<TargetPlace> bound{};

    std::uint32_t free() const { return limit - std::min(limit, running); }
    /// What one may have now that more than half is taken; nothing: there is plenty. Whoever took much while there was
    /// plenty keeps it, and half of what is left is for those who are still to come.
    std::optional<std::uint32_t> share() const {
        if (running < limit / 2) {
            return std::nullopt;
        }
        return std::max(1U, free() / 2 / std::max(1U, busy));
    }
};

/// One target of a box while the engine runs, by route index.
struct TargetState {
    TargetOptions options{};
    ReadyQueue ready{};
    std::uint32_t running = 0;
    /// Started since the last success; before the first one more than can run.
    std::uint32_t unanswered = 1U << 31;
    Places* places = nullptr;
    /// One of many that do not know each other: it takes no more than its share of places that are few.
    bool is_subscription = false;
    /// It is among the places' bound ones.
    bool is_bound = false;
    /// Or it waits for a place.
    bool in_rotation = false;
    double tokens = 1.0;
    LocalTime refilled_at{};
    /// Nothing of it starts before this.
    LocalTime rests_until = LocalTime::min();
};

struct BoxState {
    const LocalBox* box = nullptr;
    Routes routes;
    /// A deque: what is queued here is pointed at, and the registry grows.
    std::deque<TargetState> targets{};
    std::vector<std::uint64_t> local_numbers{};
    /// Of the family whose options these are.
    std::uint64_t family_version = 0;
    /// Memory held for each chain.
    std::vector<std::uint64_t> chain_bytes{};
    /// For its own targets; for subscriptions, too, when the box says how many.
    Places places{};
    /// For its subscriptions. Null: it has none.
    Places* requests = nullptr;
    std::uint32_t live = 1;
    bool paused = false;

    explicit BoxState(const LocalBox& of) : box(&of), routes(of) {}
};

/// A call of an executor that has not answered.
struct RunState {
    struct Part {
        Work* work = nullptr;
        std::uint32_t delivery = 0;
        Uuid message{};
    };
    std::uint32_t box = 0;
    std::uint32_t target = 0;
    PartitionId partition = 0;
    /// 0: no lane.
    std::uint64_t lane = 0;
    /// Null: no lane. It is not forgotten while this runs; a ghost must not look at it.
    Lane* in_lane = nullptr;
    std::vector<Part> parts{};
    /// Of the first part, for people.
    Uuid message{};
    LocalTime started_at{};
    LocalTime deadline{};
    /// It timed out or its partition was lost: whatever it answers counts for nothing.
    bool ghost = false;
    bool timed_out = false;
    bool cancelled = false;

    void reset() {
        std::vector<Part> kept = std::move(parts);
        kept.clear();
        *this = {};
        parts = std::move(kept);
    }
};

using RunMap = std::unordered_map<RunId, RunState>;

/// By due time and number: which delivery of which work.
using Timers = std::map<std::pair<StoreTime, std::uint64_t>, std::pair<Work*, std::uint32_t>>;

/// The rest of a lane, to be read from there on.
struct LaneRead {
    PartitionId partition = 0;
    std::uint64_t key = 0;
    std::string lane{};
    std::uint32_t chain = 0;
    Sequence from = 0;
};

}  // namespace waybill::engine
