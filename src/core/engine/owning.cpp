#include <algorithm>
#include <limits>

#include "core/assert.hpp"
#include "core/engine/machine.hpp"

/// Who is alive, what is ours, what we ask for and what we give away.
namespace waybill::engine {

using namespace std::chrono_literals;

namespace {

/// A local deadline ends this share of the lease early: clocks run at different speeds.
constexpr int kMarginDivisor = 5;
constexpr std::size_t kRunningShown = 64;
/// A partition stays at least this many leases before it may move on, or instances that come and go
/// would keep them moving. One of which nothing could start here may go at the next beat: two owners
/// had given to the same hungry instance at once.
constexpr int kHoldLeases = 3;

}  // namespace

InstanceState Machine::instance_state() const {
    InstanceState state{.incarnation = self_,
                        .name = config_.options.name,
                        .lease = config_.options.lease,
                        .stopping = stopping_,
                        .guest = config_.options.guest,
                        .registry_version = registry_version_};
    std::uint32_t room = 0;
    for (const auto& box : boxes_) {
        state.boxes.push_back(box->box->name);
        state.executes.insert(state.executes.end(), box->local_numbers.begin(),
                              box->local_numbers.end());
        std::uint64_t waiting = 0;
        for (const TargetState& target : box->targets) {
            waiting += target.ready.size();
        }
        state.waiting += waiting;
        // A box whose handlers have no place starts nothing new of what it might get, however many requests it may make.
        if (waiting == 0 && box->places.free() > 0) {
            const bool apart = box->requests != nullptr && box->requests != &box->places;
            room += box->places.free() + (apart ? box->requests->free() : 0);
        }
    }
    std::ranges::sort(state.executes);
    state.refused = refused();
    // Also while it owns nothing: who has just come is the hungriest.
    state.hungry = may_work() && in_flight_limit() > in_flight_ ? room : 0;
    std::vector<std::pair<LocalTime, RunId>> oldest;
    for (const auto& [id, run] : runs_) {
        oldest.emplace_back(run.started_at, id);
    }
    const auto shown = static_cast<std::ptrdiff_t>(std::min(oldest.size(), kRunningShown));
    std::ranges::partial_sort(oldest, oldest.begin() + shown);
    for (auto it = oldest.begin(); it != oldest.begin() + shown; ++it) {
        const RunState& run = runs_.at(it->second);
        const RouteTarget& target = boxes_[run.box]->routes.targets()[run.target];
        state.running.push_back({run.message, target.target.key, now_ - run.started_at});
    }
    return state;
}

void Machine::beat_if_due() {
    // An instance that resigned stops renewing: its lease runs out and others go on.
    if (beat_outstanding_ || now_ < next_beat_ || resigned_ || !declared_) {
        return;
    }
    if (stopping_) {
        const bool drained = owned_.empty() && gives_.empty() && !outstanding_;
        if (left_) {
            stopped_ = true;
            emit({.kind = Event::Kind::stopped});
            return;
        }
        beat_says_stopping_ = drained;
    }
    beat_outstanding_ = true;
    beat_sent_at_ = now_;
    ++beats_sent_;
    const Duration jitter = Duration{static_cast<Duration::rep>(
        static_cast<double>(config_.options.beat.count()) * 0.1 * random_.unit())};
    next_beat_ = now_ + config_.options.beat - jitter;
    beat_registry_version_ = registry_version_;
    commands_.beat = instance_state();
}

void Machine::beat_failed(const Failure& failure) {
    emit({.kind = Event::Kind::beat_failed, .text = failure.text});
    note_beat_refused(failure);
    next_beat_ = std::min(next_beat_, now_ + config_.options.beat / 4);
    if (stopping_ && owned_.empty()) {
        left_ = left_ || beat_says_stopping_;  // nothing is held: the row may run out by itself
    }
}

void Machine::beat_succeeded(BeatReply reply) {
    store_offset_ = reply.now.time_since_epoch() - now_.time_since_epoch();
    const Duration lease = config_.options.lease;
    lease_until_ =
        config_.options.leases ? beat_sent_at_ + lease - lease / kMarginDivisor : local_never;
    if (in_touch_since_ == local_never || beat_sent_at_ - last_beat_at_ > lease) {
        in_touch_since_ = beat_sent_at_;
    }
    last_beat_at_ = beat_sent_at_;
    if (late_ && now_ < lease_until_) {
        late_ = false;
        emit({.kind = Event::Kind::lease_renewed});
    }
    if (due_horizon_ == StoreTime{}) {
        due_horizon_ = reply.now + config_.options.due_ahead;
    }
    if (stopping_ && beat_says_stopping_) {
        left_ = true;
        next_beat_ = now_;
    }
    if (!generation_.empty() && generation_ != reply.generation) {
        void_everything("the store is on another timeline");
    }
    generation_ = reply.generation;
    registry_stale_ = false;
    learn_registry(reply);
    drop_lost_partitions(reply);
    suspects_.beat_succeeded(beat_sent_at_);
    note_beat_accepted();
    for (auto& box : boxes_) {
        box->paused =
            std::ranges::find(reply.paused_boxes, box->box->name) != reply.paused_boxes.end();
        box->live = live_instances(reply, box->box->name);
    }
    // Where fewer share a target's limit there is more room for each.
    for (std::uint32_t box = 0; box < boxes_.size(); ++box) {
        for (std::uint32_t target = 0; target < boxes_[box]->targets.size(); ++target) {
            join_rotation(box, target);
        }
    }
    beat_ = std::move(reply);
    ask_for_partitions();
    offer_partitions();
}

void Machine::learn_registry(const BeatReply& reply) {
    // The reply brings the registry only if it is newer than the one the beat named.
    if (reply.registry_version <= beat_registry_version_) {
        return;
    }
    registry_version_ = reply.registry_version;
    for (std::uint32_t index = 0; index < boxes_.size(); ++index) {
        BoxState& box = *boxes_[index];
        const Routes::Change change = box.routes.update(reply.registry);
        if (change == Routes::Change::none) {
            continue;
        }
        follow_routes(box);
        std::vector<PartitionId> of_box;
        for (auto& [id, partition] : owned_) {
            if (partition->box == index) {
                of_box.push_back(id);
            }
        }
        for (const PartitionId id : of_box) {
            if (change == Routes::Change::chains) {
                // Lanes are kept per chain: begin anew, under a new token.
                drop_partition(id, Event::Kind::lost);
                continue;
            }
            Partition* partition = find_partition(id);
            // Rows that are not in memory are met again by the scan, those in memory here: a new
            // target may want them, a forgotten one may have been all they waited for.
            partition->cursors.assign(box.routes.chains(), 0);
            // Also where no chain is read on: nobody is left to want them, or those who do rest.
            partition->scanned = false;
            partition->scan_from = 0;
            partition->blocked = {};  // the scan meets their heads again, in order
            partition->parked_cursor = 0;
            std::vector<Sequence> sequences;
            for (const auto& [sequence, work] : partition->works) {
                sequences.push_back(sequence);
            }
            std::ranges::sort(sequences);
            for (const Sequence sequence : sequences) {
                reroute(partition->works.at(sequence));
            }
        }
    }
}

void Machine::drop_lost_partitions(const BeatReply& reply) {
    std::vector<PartitionId> lost;
    for (const auto& [id, partition] : owned_) {
        const auto seen = std::ranges::find_if(
            reply.partitions, [&](const PartitionState& state) { return state.id == id; });
        // A beat that left before the take was answered knows nothing of it.
        if (partition->taken_at_beat < beats_sent_ &&
            (seen == reply.partitions.end() || seen->token != partition->token)) {
            lost.push_back(id);
        } else if (partition->taken_at_beat < beats_sent_ && !partition->confirmed) {
            confirm(*partition);
        }
    }
    for (const PartitionId id : lost) {
        drop_partition(id, Event::Kind::lost);
    }
}

void Machine::confirm(Partition& partition) {
    partition.confirmed = true;
    std::vector<Sequence> sequences;
    for (const auto& [sequence, work] : partition.works) {
        sequences.push_back(sequence);
    }
    std::ranges::sort(sequences);
    for (const Sequence sequence : sequences) {
        Work& work = partition.works.at(sequence);
        for (const std::uint32_t chain : chains_of(work.deliveries)) {
            advance(work, chain);
        }
    }
}

void Machine::ask_for_partitions() {
    if (stopping_ || resigned_ || outstanding_take()) {
        return;
    }
    std::vector<PartitionId> owned;
    for (const auto& [id, partition] : owned_) {
        owned.push_back(id);
    }
    for (const GiveRequest& give : gives_) {
        owned.push_back(give.partition);  // on its way out
    }
    const bool in_touch =
        !config_.options.leases || now_ - in_touch_since_ >= config_.options.lease;
    takes_ = choose_takes(beat_, {self_, config_.options.guest, in_touch}, owned, seen_free_);
}

void Machine::offer_partitions() {
    if (stopping_ || config_.options.guest || !gives_.empty() || random_.unit() < 0.25) {
        return;
    }
    std::vector<Holding> holdings;
    for (const auto& [id, partition] : owned_) {
        const BoxState& box = *boxes_[partition->box];
        holdings.push_back(
            {.id = id,
             .box = box.box->name,
             .token = partition->token,
             .may_go = now_ - partition->taken_at > kHoldLeases * config_.options.lease ||
                       (partition->scanned && !partition->started && partition->waiting > 0 &&
                        partition->taken_at_beat < beats_sent_),
             .busy = partition->running > 0 || partition->unsettled > 0,
             .waiting = partition->waiting > 0,
             .foreign = partition->foreign,
             .executes = box.local_numbers});
    }
    if (auto give = choose_give(beat_, self_, holdings)) {
        gives_.push_back(*give);
        drop_partition(give->partition, Event::Kind::given);
    }
}

void Machine::on_taken(const std::vector<Taken>& taken) {
    for (const Taken& take : taken) {
        const auto seen = std::ranges::find_if(beat_.partitions, [&](const PartitionState& state) {
            return state.id == take.partition;
        });
        const auto box = std::ranges::find_if(boxes_, [&](const auto& state) {
            return seen != beat_.partitions.end() && state->box->name == seen->box;
        });
        if (box == boxes_.end() || take.token.generation != generation_) {
            continue;
        }
        if (owned_.contains(take.partition)) {
            drop_partition(take.partition,
                           Event::Kind::lost);  // taken again: the old token is void
        }
        auto partition = std::make_unique<Partition>();
        partition->id = take.partition;
        partition->box = static_cast<std::uint32_t>(box - boxes_.begin());
        partition->token = take.token;
        partition->taken_at = now_;
        // Also the beat that is on its way now left before we had it.
        partition->taken_at_beat = beats_sent_;
        partition->confirmed = now_ < take_lease_;
        partition->taken_unclean = take.unclean;
        partition->unclean_ends = take.quiet_for < crash_quiet ? take.unclean_ends : 0;
        partition->quiet_at = now_ + (crash_quiet - std::min(crash_quiet, take.quiet_for));
        partition->cursors.assign((*box)->routes.chains(), 0);
        for (const auto& [id, run] : runs_) {
            partition->running += run.partition == take.partition ? 1 : 0;
        }
        emit({.kind = Event::Kind::owned, .partition = take.partition, .count = take.token.epoch});
        owned_[take.partition] = std::move(partition);
    }
    increment_wanted_ = true;
}

void Machine::drop_partition(PartitionId id, Event::Kind why) {
    WAYBILL_ASSERT(settled_.empty());
    Partition& partition = *owned_.at(id);
    // Handlers of a lost partition go on running, but what they answer counts for nothing.
    std::vector<RunId> running;
    for (const auto& [run_id, run] : runs_) {
        if (run.partition == id && !run.ghost) {
            running.push_back(run_id);
        }
    }
    std::ranges::sort(running);
    for (const RunId run : running) {
        make_ghost(runs_.at(run), false);
        commands_.cancels.push_back(run);
    }
    std::erase_if(dirty_, [&](const Work* work) { return work->partition == &partition; });
    std::ranges::replace_if(
        sent_, [&](const Work* work) { return work != nullptr && work->partition == &partition; },
        nullptr);
    partition.dropping = true;
    std::vector<Sequence> sequences;
    for (auto& [sequence, work] : partition.works) {
        work.settle = Work::Settle::clean;
        sequences.push_back(sequence);
    }
    for (const Sequence sequence : sequences) {
        remove(partition.works.at(sequence));
    }
    window_used_ -= lane_bytes * partition.lanes.size();
    std::erase_if(lane_reads_, [&](const LaneRead& read) { return read.partition == id; });
    std::erase_if(answers_, [&](const CommandResult& result) { return result.partition == id; });
    std::erase_if(waiting_commands_,
                  [&](const Command& command) { return command.partition == id; });
    std::erase_if(commands_seen_, [&](const auto& seen) { return seen.second == id; });
    suspects_.forget(id);
    owned_.erase(id);
    emit({.kind = why, .partition = id});
}

/// The store went back in time or moved: tokens and positions of before mean nothing there.
void Machine::void_everything(std::string_view why) {
    emit({.kind = Event::Kind::rescan, .text = why});
    std::vector<PartitionId> ids;
    for (const auto& [id, partition] : owned_) {
        ids.push_back(id);
    }
    for (const PartitionId id : ids) {
        drop_partition(id, Event::Kind::lost);
    }
    takes_.clear();
    gives_.clear();
    answers_.clear();
    commands_seen_.clear();
    position_.clear();
    known_through_.reset();
    handed_.clear();
    increment_began_ = 0;
    read_is_void_ = true;
    registry_version_ = 0;
    declared_ = false;  // what we declared may be among what it lost
    increment_wanted_ = true;
    next_beat_ = now_;
}

void Machine::give_idle_partitions() {
    if (!stopping_ && !resigned_) {
        return;
    }
    std::vector<PartitionId> idle;
    for (const auto& [id, partition] : owned_) {
        // One with a running handler is never given: the end of the process frees it.
        if (partition->running == 0 && partition->unsettled == 0) {
            idle.push_back(id);
        }
    }
    for (const PartitionId id : idle) {
        gives_.push_back({id, owned_.at(id)->token, Uuid{}});
        drop_partition(id, Event::Kind::given);
    }
    if (stopping_ && owned_.empty() && gives_.empty() && !outstanding_ && !beat_outstanding_) {
        next_beat_ = std::min(next_beat_, now_);
    }
    if (stopping_ && !declared_ && !outstanding_) {
        stopped_ = true;
        emit({.kind = Event::Kind::stopped});
    }
}

bool Machine::outstanding_take() const {
    return outstanding_ && std::holds_alternative<TakeCall>(*outstanding_);
}

void Machine::resign_if_hopeless() {
    if (resigned_ || abandoned_ <= config_.options.abandoned_max) {
        return;
    }
    resigned_ = true;
    emit({.kind = Event::Kind::resigned, .count = abandoned_});
}

}  // namespace waybill::engine
