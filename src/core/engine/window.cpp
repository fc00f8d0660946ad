#include <algorithm>

#include "core/engine/machine.hpp"

/// A bound on memory: what cannot run soon waits in the store, and something small remembers why.
namespace waybill::engine {

using namespace std::chrono_literals;

namespace {

/// Work that is due this soon is not worth sending away.
constexpr Duration kSoon = 1s;
/// Looking for things to send away costs time: not more often than this.
constexpr Duration kReliefPause = 20ms;

/// Those that cannot use their memory give it back first, then the largest.
struct LargeChain {
    bool idle = false;
    std::uint64_t bytes = 0;
    std::uint32_t box = 0;
    std::uint32_t chain = 0;

    auto operator<=>(const LargeChain&) const = default;
};

}  // namespace

std::uint64_t Machine::memory_used() const {
    return window_used_ + blocked_bytes();
}

bool Machine::has_room_for(std::uint32_t bytes) const {
    return memory_used() + bytes <= config_.options.window_bytes;
}

/// Enough room to be worth a read. Without the slack a full window would ask for a page, refuse it,
/// and ask again.
bool Machine::has_slack() {
    const std::uint64_t most = config_.options.window_bytes / 4 * 3;
    if (memory_used() > most) {
        relieve();
    }
    starved_ = memory_used() > most;
    return !starved_;
}

std::uint64_t Machine::blocked_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [id, partition] : owned_) {
        bytes += partition->blocked.bytes();
    }
    return bytes;
}

bool Machine::is_far(StoreTime due, Sequence sequence) const {
    return due > due_horizon_ || (due == due_horizon_ && sequence > due_after_);
}

bool Machine::is_quiet(const Work& work) const {
    return work.settle == Work::Settle::clean && work.running == 0 && &work != solo_;
}

/// Nothing of the chain runs or waits to be settled, whatever the other chains do.
bool Machine::is_quiet(const Work& work, std::uint32_t chain) const {
    return &work != solo_ && std::ranges::none_of(work.deliveries, [&](const Delivery& delivery) {
        return delivery.chain == chain &&
               (delivery.state == Delivery::State::running || delivery.changed || delivery.sent);
    });
}

void Machine::charge(Work& work, std::uint32_t chain, bool add) {
    std::uint64_t& bytes = box_of(work).chain_bytes[chain];
    chain_users_ -= bytes > 0 ? 1 : 0;
    bytes = add ? bytes + work.bytes : bytes - work.bytes;
    chain_users_ += bytes > 0 ? 1 : 0;
}

void Machine::relieve() {
    if (now_ < next_relief_) {
        return;
    }
    next_relief_ = now_ + kReliefPause;
    evict_far();
    if (memory_used() > config_.options.window_bytes / 4 * 3) {
        shed_unsure();
    }
    if (memory_used() > config_.options.window_bytes / 4 * 3) {
        trim_lanes();
    }
    if (memory_used() > config_.options.window_bytes / 4 * 3) {
        rewind_large_chains();
    }
}

/// The furthest due times leave first; the horizon comes nearer and brings them back in time.
void Machine::evict_far() {
    const std::uint64_t enough = config_.options.window_bytes / 2;
    const std::uint64_t used = memory_used();
    // Named, not pointed at: one that leaves may take others of its lane with it. A set, because two
    // deliveries of one work may wait for the same moment.
    std::set<std::pair<PartitionId, Sequence>> leaving;
    std::uint64_t freed = 0;
    StoreTime horizon = due_horizon_;
    for (auto it = timers_.rbegin(); it != timers_.rend() && used > enough + freed; ++it) {
        if (it->first.first <= store_now() + kSoon) {
            break;
        }
        Work* work = it->second.first;
        if (is_evictable(*work) && row_due(*work) == it->first.first) {
            leaving.emplace(work->partition->id, work->sequence);
            freed += work->bytes;
            horizon = std::min(horizon, row_due(*work) - 1us);
        }
    }
    if (leaving.empty()) {
        return;
    }
    if (horizon < due_horizon_) {
        due_horizon_ = horizon;
        due_after_ = tail;
    }
    due_lead_ = std::max<Duration>(kSoon, (horizon - store_now()) / 2);
    for (const auto& [id, sequence] : leaving) {
        WorkMap& works = find_partition(id)->works;
        if (const auto work = works.find(sequence); work != works.end()) {
            evict(work->second);
        }
    }
}

/// All that is open of it waits for its time, here: the store's due time can stand for it. What was
/// only released is due soon, and the store does not know.
bool Machine::is_evictable(const Work& work) const {
    if (row_due(work) <= store_now() + kSoon) {
        return false;
    }
    if (!is_quiet(work) || work.queued > 0 || work.stored_due != row_due(work) ||
        (work.halted && !work.deliveries.empty())) {
        return false;
    }
    const bool laned = work.lane_hash != 0 && work.entered;
    if (laned && blocked_bytes() > config_.options.window_bytes / 2) {
        return false;
    }
    return std::ranges::all_of(work.deliveries, [&](const Delivery& delivery) {
        return delivery.is_terminal() ||
               (delivery.attached &&
                (delivery.due > store_now() || !predecessor_is_terminal(work, delivery)));
    });
}

void Machine::evict(Work& work) {
    const bool blocks =
        work.lane_hash != 0 && work.entered && box_of(work).box->options.lanes == Lanes::strict;
    for (const std::uint32_t chain : chains_of(work.deliveries)) {
        if (!is_attached(work.deliveries, chain)) {
            continue;
        }
        if (blocks && chain_is_open(work, chain)) {
            block_lane(*work.partition, lane_key(work.lane_hash, chain), chain, work.sequence,
                       work.message->lane);
        }
        detach(work, chain);
    }
    retire(work);
}

/// What is in a lane beyond the cursor cannot run before the scan has passed it, and the scan needs
/// the room.
void Machine::shed_unsure() {
    for (auto& [id, partition] : owned_) {
        std::vector<Sequence> sequences;
        for (const auto& [sequence, work] : partition->works) {
            if (work.lane_hash != 0) {
                sequences.push_back(sequence);
            }
        }
        std::ranges::sort(sequences, std::greater{});
        for (const Sequence sequence : sequences) {
            Work& work = partition->works.at(sequence);
            for (const std::uint32_t chain : chains_of(work.deliveries)) {
                if (sequence > partition->cursors[chain] && is_quiet(work, chain)) {
                    detach(work, chain);
                }
            }
            retire(work);
        }
    }
}

/// Behind a head that backs off nothing can run: the rest of such lanes leaves.
void Machine::trim_lanes() {
    for (auto& [id, partition] : owned_) {
        if (boxes_[partition->box]->box->options.lanes != Lanes::strict) {
            continue;
        }
        std::vector<std::uint64_t> keys;
        partition->lanes.for_each([&](std::uint64_t key, const Lane& lane) {
            if (lane.queue.size() > 1 && lane.running == 0 &&
                row_due(*lane.queue.front()) > store_now()) {
                keys.push_back(key);
            }
        });
        for (const std::uint64_t key : keys) {
            const std::vector<Work*> queue = partition->lanes.at(key).queue.copy();
            for (std::size_t i = queue.size() - 1; i > 0; --i) {
                Work& work = *queue[i];
                const auto of_lane = std::ranges::find_if(work.deliveries, [&](const Delivery& d) {
                    return lane_key(work.lane_hash, d.chain) == key;
                });
                if (!is_quiet(work, of_lane->chain)) {
                    break;
                }
                partition->lanes.at(key).skip_from(work.sequence);
                detach(work, of_lane->chain);
                retire(work);
            }
        }
    }
}

/// Reading on is for those who can use it.
bool Machine::reads_on(const BoxState& box, std::uint32_t chain) const {
    return box.routes.chain_is_local(chain) && !rests(box.targets[chain]);
}

/// A chain that holds more than this gives back, when memory is short.
std::uint64_t Machine::fair_share() const {
    return config_.options.window_bytes / (2 * std::max<std::uint64_t>(2, chain_users_));
}

/// Some chains have taken the memory of the others (a slow endpoint, one that is held): their youngest
/// works leave, and they catch up from the store in their own time.
void Machine::rewind_large_chains() {
    std::vector<LargeChain> large;
    for (std::uint32_t b = 0; b < boxes_.size(); ++b) {
        const BoxState& box = *boxes_[b];
        for (std::uint32_t chain = 0; chain < box.chain_bytes.size(); ++chain) {
            const std::uint64_t bytes = box.chain_bytes[chain];
            const bool idle = bytes > 0 && rests(box.targets[chain]);
            if (idle || (chain_users_ >= 2 && bytes >= fair_share())) {
                large.push_back({.idle = idle, .bytes = bytes, .box = b, .chain = chain});
            }
        }
    }
    std::ranges::sort(large, std::greater{});
    for (const LargeChain& one : large) {
        if (memory_used() <= config_.options.window_bytes / 4 * 3) {
            return;
        }
        rewind_chain(one.box, one.chain);
    }
}

void Machine::rewind_chain(std::uint32_t box_index, std::uint32_t chain) {
    for (auto& [id, partition] : owned_) {
        if (partition->box != box_index) {
            continue;
        }
        std::vector<Work*> works;
        for (auto& [sequence, work] : partition->works) {
            if (is_quiet(work, chain) && is_attached(work.deliveries, chain)) {
                works.push_back(&work);
            }
        }
        std::ranges::sort(works, std::greater{}, &Work::sequence);
        works.resize(works.size() / 2);
        for (Work* work : works) {
            // Nothing of a lane may stay while something before it leaves.
            const Lane* lane = work->lane_hash == 0
                                   ? nullptr
                                   : partition->lanes.find(lane_key(work->lane_hash, chain));
            if (lane != nullptr && !lane->queue.empty() &&
                lane->queue.last_sequence() > work->sequence) {
                continue;
            }
            if (partition->cursors[chain] == tail) {
                emit({.kind = Event::Kind::behind, .partition = id, .count = chain});
            }
            partition->cursors[chain] = std::min(partition->cursors[chain], work->sequence - 1);
            detach(*work, chain);
            retire(*work);
        }
    }
}

}  // namespace waybill::engine
