#include "core/engine/machine.hpp"

#include <algorithm>

#include "core/assert.hpp"

namespace waybill::engine {

using namespace std::chrono_literals;

Machine::Machine(Config config, Random& random, Observer& observer)
    : config_(std::move(config)),
      random_(random),
      observer_(observer),
      self_(random_uuid(random)),
      hash_key_{random.next(), random.next()} {
    if (Problems problems = check(config_); !problems.empty()) {
        throw ConfigError(std::move(problems));
    }
    for (const LocalBox& box : config_.boxes) {
        auto state = std::make_unique<BoxState>(box);
        give_places(*state);
        follow_routes(*state);
        for (const LocalTarget& target : box.targets) {
            state->local_numbers.push_back(target_number(box.name, target.target.key));
        }
        if (box.family != nullptr) {
            state->local_numbers.push_back(target_number(box.name, subscription_prefix));
        }
        std::ranges::sort(state->local_numbers);
        boxes_.push_back(std::move(state));
    }
    settle_limit_ = config_.options.settle_rows;
    due_lead_ = config_.options.due_ahead;
}

void Machine::start(LocalTime now) {
    now_ = now;
    started_ = true;
    next_beat_ = now;
    poll_pause_ = config_.options.poll_active;
    next_reconcile_ = later(now, config_.options.reconcile);
    turn(now);
}

/// What the store is to do comes alone and first: it is busy with it while the rest is decided.
Commands Machine::take_commands() {
    if (!settled_.empty() && !commands_.channel) {
        begin(now_);
        turn(now_);
    }
    return std::exchange(commands_, {});
}

void Machine::on_tick(LocalTime now) {
    begin(now);
    turn(now);
}

void Machine::on_wake(LocalTime now) {
    begin(now);
    increment_wanted_ = true;
    turn(now);
}

void Machine::on_beat(LocalTime now, BeatAnswer answer) {
    begin(now);
    beat_outstanding_ = false;
    if (auto* reply = std::get_if<BeatReply>(&answer)) {
        beat_succeeded(std::move(*reply));
    } else {
        beat_failed(std::get<Failure>(answer));
    }
    turn(now);
}

void Machine::on_channel(LocalTime now, ChannelReply reply) {
    begin(now);
    WAYBILL_ASSERT(outstanding_.has_value());
    const ChannelCall call = std::move(*outstanding_);
    outstanding_.reset();
    if (const auto* failure = std::get_if<Failure>(&reply)) {
        on_channel_failure(call, *failure);
        turn(now);
        return;
    }
    note_accepted(call);
    if (std::holds_alternative<Declared>(reply)) {
        declared_ = true;
        next_beat_ = now;  // the registry and the partitions are there now
    } else if (const auto* taken = std::get_if<std::vector<Taken>>(&reply)) {
        on_taken(*taken);
    } else if (auto* page = std::get_if<ReadPage>(&reply)) {
        note_read(std::get<ReadRequest>(call));
        if (read_is_void_) {
            row_read_ = reconcile_read_ = false;  // asked of a timeline that is gone
            return turn(now);
        }
        on_page(std::get<ReadRequest>(call), std::move(*page));
    } else if (const auto* settled = std::get_if<SettleReply>(&reply)) {
        on_settled(*settled);
        if (!settled_.empty()) {
            return;
        }
    }
    turn(now);
}

/// A body cache and a wake-up. What has a lane needs to know that nobody else appended before it:
/// either because it follows directly on what is known, or from the increment that returns it.
void Machine::on_appended(LocalTime now, std::span<const HandOver> messages) {
    begin(now);
    for (const HandOver& handed : messages) {
        if (known_through_ && handed.sequence <= *known_through_) {
            continue;  // a read has brought it
        }
        if (!brought_.knows_since(handed.reads_before) || position_.empty()) {
            increment_wanted_ = true;
            continue;
        }
        if (brought_.has_since(handed.reads_before, handed.sequence)) {
            continue;
        }
        const bool is_overlooked = side_read_is_out();
        const bool follows =
            known_through_ && handed.sequence == *known_through_ + 1 && !is_overlooked;
        const bool needs_no_read = take_handed(handed, follows ? Via::increment : Via::hand_over);
        const Partition* partition = find_partition(handed.partition);
        const bool is_known =
            needs_no_read && !is_overlooked && (partition == nullptr || is_caught_up(*partition));
        if (is_known) {
            handed_.take(handed.transaction, handed.transaction_rows);
        }
        if (follows && is_known) {
            known_through_ = handed.sequence;
        } else {
            increment_wanted_ = increment_wanted_ || !needs_no_read || known_through_;
        }
    }
    turn(now);
}

/// False: a read has to bring it soon.
bool Machine::take_handed(const HandOver& handed, Via via) {
    Partition* partition = find_partition(handed.partition);
    if (partition == nullptr) {
        return true;  // not ours; if it becomes so, it is scanned
    }
    const bool has_order = !handed.message->collapse_key.empty() ||
                           (boxes_[partition->box]->box->options.lanes != Lanes::none &&
                            !handed.message->lane.empty());
    if (has_order && via == Via::hand_over) {
        return false;
    }
    Entry entry{.partition = handed.partition,
                .sequence = handed.sequence,
                .message = handed.message,
                .due = handed.message->not_before};
    if (load(*partition, entry, via) == Loaded::taken) {
        poll_soon();
    }
    // What a chain that is behind did not take is met again: by the scan, or at the latest by the poll.
    return via == Via::hand_over || is_caught_up(*partition);
}

/// A read of lanes, due rows or a scan is on its way: it may not have seen what is handed over now,
/// and its answer would close the place where that waits.
bool Machine::side_read_is_out() const {
    const auto* read = outstanding_ ? std::get_if<ReadRequest>(&*outstanding_) : nullptr;
    return read != nullptr && read->kind != ReadRequest::Kind::increment;
}

/// Every event finds decided what followed from those before it.
void Machine::begin(LocalTime now) {
    now_ = now;
    conclude_settled();
}

/// Everything that time or an event made possible, in the order in which one thing enables the next.
void Machine::turn(LocalTime now) {
    now_ = now;
    if (!started_ || stopped_) {
        return;
    }
    if (stopping_ && (waited_long_enough() || (resigned_ && owned_.empty() && gives_.empty()))) {
        stopped_ = true;
        emit({.kind = Event::Kind::stopped});
        return;
    }
    if (!late_ && !beat_.peers.empty() && now_ >= lease_until_) {
        late_ = true;
        emit({.kind = Event::Kind::lease_late});
    }
    time_out_runs();
    resign_if_hopeless();
    fire_timers();
    carry_out_waiting();
    start_runs();
    give_idle_partitions();
    next_channel_call();
    beat_if_due();
}

void Machine::next_channel_call() {
    if (outstanding_ || now_ < channel_after_) {
        return;
    }
    if (!declared_) {
        if (stopping_) {
            return;
        }
        DeclareCall call;
        for (const LocalBox& box : config_.boxes) {
            call.boxes.push_back({box.name, box.options});
            for (const LocalTarget& target : box.targets) {
                call.targets.push_back(target.target);
            }
        }
        return send(std::move(call));
    }
    if (!gives_.empty()) {
        return send(GiveCall{std::exchange(gives_, {})});
    }
    if (!takes_.empty()) {
        take_lease_ = lease_until_;
        return send(TakeCall{self_, std::exchange(takes_, {})});
    }
    // Settles and reads take turns: what was settled before a read was sent cannot be in it.
    if (!settled_last_) {
        if (auto batch = next_settle()) {
            return send(std::move(*batch));
        }
    }
    if (auto request = next_read()) {
        return send(std::move(*request));
    }
    if (auto batch = next_settle()) {
        return send(std::move(*batch));
    }
}

void Machine::send(ChannelCall call) {
    WAYBILL_ASSERT(!outstanding_ && !commands_.channel);
    settled_last_ = std::holds_alternative<SettleBatch>(call);
    if (const auto* read = std::get_if<ReadRequest>(&call)) {
        note_read(*read);
        read_is_void_ = false;
        read_epochs_.clear();
        for (const auto& [id, partition] : owned_) {
            read_epochs_[id] = partition->token.epoch;
        }
    }
    // The answer needs to know what was asked, but not the rows of a settle.
    if (std::holds_alternative<SettleBatch>(call)) {
        outstanding_ = SettleBatch{};
    } else {
        outstanding_ = call;
    }
    commands_.channel = std::move(call);
}

void Machine::on_channel_failure(const ChannelCall& call, const Failure& failure) {
    ++channel_failures_;
    const Backoff pauses{.base = 10ms, .multiplier = 2.0, .cap = 1s, .jitter = Jitter::equal()};
    const bool data =
        failure.reaction == Reaction::bad_data && std::holds_alternative<SettleBatch>(call);
    channel_after_ = data ? now_ : now_ + delay_after(pauses, channel_failures_, random_.unit());
    if (!data) {
        note_refusal(call, failure);
    }
    if (const auto* request = std::get_if<ReadRequest>(&call)) {
        emit({.kind = Event::Kind::read_failed, .text = failure.text});
        row_read_ = false;
        reconcile_read_ = false;
        // Asked again: the request was made from state that only an answer changes.
        if (request->kind == ReadRequest::Kind::lanes) {
            for (LaneRead& read : lanes_asked_) {
                lane_reads_.push_back(std::move(read));
            }
            lanes_asked_.clear();
        } else if (request->kind == ReadRequest::Kind::increment) {
            increment_wanted_ = true;
        }
    } else if (std::holds_alternative<SettleBatch>(call)) {
        settle_failed(failure);
    } else if (const auto* give = std::get_if<GiveCall>(&call)) {
        gives_.insert(gives_.end(), give->partitions.begin(), give->partitions.end());
    }
    // A take is not repeated here: the next beat shows what came of it.
}

/// 0: it has no place in any lane.
std::uint64_t Machine::lane_hash_of(const BoxState& box, const Message& message) const {
    if (box.box->options.lanes == Lanes::none || message.lane.empty()) {
        return 0;
    }
    return std::max<std::uint64_t>(1, siphash(hash_key_, message.lane));
}

Partition* Machine::find_partition(PartitionId id) {
    const auto found = owned_.find(id);
    return found == owned_.end() ? nullptr : found->second.get();
}

LocalTime Machine::local_of(StoreTime time) const {
    if (time == store_never) {
        return local_never;
    }
    return LocalTime{time.time_since_epoch() - store_offset_};
}

void Machine::emit(Event::Kind kind, const Work& work, std::string_view target,
                   std::string_view text, std::uint64_t count) {
    emit({.kind = kind,
          .partition = work.partition->id,
          .sequence = work.sequence,
          .message = work.message->id,
          .target = target,
          .text = text,
          .count = count});
}

LocalTime Machine::next_tick() const {
    if (!started_ || stopped_) {
        return local_never;
    }
    LocalTime next = std::min(next_beat_, stop_deadline_);
    if (beat_outstanding_) {
        next = stop_deadline_;
    }
    if (!late_ && !beat_.peers.empty()) {
        next = std::min(next, lease_until_);
    }
    if (!timers_.empty()) {
        next = std::min(next, local_of(timers_.begin()->first.first));
    }
    next = std::min({next, deadlines_.first(), rate_tick_});
    for (const auto& [sequence, until] : held_back_) {
        next = until > now_ ? std::min(next, until) : next;
    }
    if (starved_) {
        next = std::min(next, next_relief_);
    }
    if (!outstanding_) {
        // What is left after the pause waits for something else, which wakes us.
        if (channel_after_ <= now_ && !dirty_.empty() && settle_pace_.next() > now_) {
            next = std::min(next, settle_pace_.next());
        }
        if (channel_after_ > now_) {
            next = std::min(next, channel_after_);
        } else if (!owned_.empty() && !stopping_ && !resigned_) {
            next = std::min(next, poll_at_);
            next = suspects_.may_look() ? std::min(next, next_reconcile_) : next;
            if (due_horizon_ != StoreTime{}) {
                next = std::min(next, local_of(due_horizon_ - due_lead_ / 2));
            }
        }
    }
    if (was_fused_) {
        for (const auto& [id, partition] : owned_) {
            if (partition->quiet_at > now_) {
                next = std::min(next, partition->quiet_at);
            }
        }
    }
    return std::max(next, now_ + 1ms);
}

}  // namespace waybill::engine
