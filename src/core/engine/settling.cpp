#include <algorithm>

#include "core/engine/machine.hpp"

/// Making results durable, in batches, repeatably.
namespace waybill::engine {

using namespace std::chrono_literals;

namespace {

/// What executors say of their attempts, per batch: the rest follows with the next one.
constexpr std::size_t kDetailBytesMax = std::size_t{4} << 20;
/// What was refused alone is tried again after this: a try may take as long as a statement may, and the others wait.
constexpr Duration kHeldBack = 10s;

}  // namespace

void Machine::mark_dirty(Work& work, bool somebody_waits) {
    if (somebody_waits) {
        settle_pace_.hurry();
    }
    if (work.settle == Work::Settle::sent) {
        work.settle = Work::Settle::sent_and_dirty;
    } else if (work.settle == Work::Settle::clean) {
        work.settle = Work::Settle::dirty;
        ++work.partition->unsettled;
        dirty_.push_back(&work);
    }
}

/// All that was in flight has ended and others wait for it: half of it goes first, or handlers would be idle while the
/// store settles, and the store while handlers run.
std::size_t Machine::settle_rows() const {
    const bool halves = settle_pace_.hurries() && settle_pace_.pays_halves() && in_flight_ == 0 &&
                        settled_.empty() && dirty_.size() >= config_.options.settle_halves_from;
    return halves ? std::min(settle_limit_, dirty_.size() / 2) : settle_limit_;
}

std::optional<SettleBatch> Machine::next_settle() {
    if ((dirty_.empty() && answers_.empty()) || registry_stale_) {
        return std::nullopt;
    }
    const bool is_time = stopping_ || !config_.options.company || !answers_.empty() ||
                         dirty_.size() >= settle_limit_ || settle_pace_.is_time(now_);
    if (!is_time) {
        return std::nullopt;
    }
    SettleBatch batch;
    batch.registry_version = registry_version_;
    std::vector<Work*> waiting;
    const Partition* last = nullptr;
    std::set<PartitionId> fenced;
    const auto fence = [&](const Partition& partition) {
        if (fenced.insert(partition.id).second) {
            batch.fences.push_back({partition.id, partition.token});
        }
    };
    std::size_t detail_bytes = 0;
    const std::size_t rows = settle_rows();
    while (!dirty_.empty() && sent_.size() < rows && detail_bytes < kDetailBytesMax) {
        Work& work = *dirty_.front();
        dirty_.pop_front();
        const auto held = held_back_.find(work.sequence);
        const bool goes_alone = held != held_back_.end();
        const bool comes_later = goes_alone && (now_ < held->second || !sent_.empty());
        if (work.inline_running > 0 || comes_later) {
            waiting.push_back(&work);  // the inline transaction writes this row, or it was refused
            continue;
        }
        if (work.partition != last) {
            last = work.partition;
            fence(*last);
        }
        batch.items.push_back(settlement_of(work));
        for (const Attempt& attempt : work.attempts) detail_bytes += attempt.detail.size();
        work.settle = Work::Settle::sent;
        sent_.push_back(&work);
        if (goes_alone) {
            held_back_.erase(held);
            break;
        }
    }
    dirty_.insert(dirty_.begin(), waiting.begin(), waiting.end());
    for (CommandResult& answer : answers_) {
        if (const Partition* partition = find_partition(answer.partition)) {
            fence(*partition);
            answers_sent_.push_back(answer);
        }
    }
    answers_.clear();
    settle_pace_.sent(now_, batch.items.size(), !dirty_.empty());
    batch.commands = answers_sent_;
    if (batch.items.empty() && batch.commands.empty()) {
        return std::nullopt;
    }
    return batch;
}

Settlement Machine::settlement_of(Work& work) {
    const BoxOptions& options = box_of(work).box->options;
    Settlement item{
        .partition = work.partition->id, .sequence = work.sequence, .message = work.message->id};
    bool any_dead = !work.letters.empty();
    bool any_done = false;
    bool all_terminal = true;
    for (Delivery& delivery : work.deliveries) {
        all_terminal = all_terminal && delivery.is_terminal();
        any_dead = any_dead || delivery.state == Delivery::State::dead;
        any_done = any_done || delivery.state == Delivery::State::done;
        delivery.sent = delivery.changed;
        delivery.changed = false;
    }
    work.sent_finish = work.collapsed || (all_terminal && !work.halted && !work.parked);
    work.sent_letters = static_cast<std::uint32_t>(work.letters.size());
    work.sent_attempts = static_cast<std::uint32_t>(work.attempts.size());
    work.sent_revived = static_cast<std::uint32_t>(work.revived.size());
    item.revived = work.revived;
    item.finish = work.sent_finish;
    const bool keeps_dead = any_dead && options.keep_dead > Duration{};
    const bool keeps_done = options.keep_done > Duration{} && (any_done || !any_dead);
    item.drop_message = work.collapsed || (item.finish && !keeps_dead && !keeps_done);
    item.dead = work.letters;
    item.attempts = work.attempts;
    if (!item.finish) {
        for (const Delivery& delivery : work.deliveries) {
            if (!delivery.sent) {
                continue;
            }
            const auto state = delivery.state == Delivery::State::done   ? Progress::State::done
                               : delivery.state == Delivery::State::dead ? Progress::State::dead
                                                                         : Progress::State::ready;
            item.progress.push_back({std::string(target_key(work, delivery)), state,
                                     delivery.failures, delivery.due, delivery.last_error,
                                     delivery.skipped});
        }
        item.due = work.parked ? store_never : row_due(work);
        work.sent_due = item.due;
        item.halted = work.halted;
        item.parked = work.parked;
        item.strikes = work.strikes;
        item.solo_epoch = work.solo_epoch;
        item.requeues = work.requeues;
    }
    if (work.unstorable) {
        const auto blank = [](std::string& text) { text = "(this text could not be stored)"; };
        std::ranges::for_each(item.progress,
                              [&](Progress& progress) { blank(progress.last_error); });
        std::ranges::for_each(item.dead, [&](DeadLetter& letter) { blank(letter.reason); });
        std::ranges::for_each(item.attempts, [&](Attempt& attempt) {
            blank(attempt.error);
            attempt.detail.clear();
        });
    }
    return item;
}

void Machine::on_settled(const SettleReply& reply) {
    settle_pace_.answered(now_);
    if (reply.registry_stale) {
        registry_stale_ = true;  // until the next beat has brought it
        next_beat_ = now_;
        return unsend();
    }
    for (const PartitionId id : reply.lost) {
        if (find_partition(id) != nullptr) {
            drop_partition(id, Event::Kind::lost);
        }
    }
    settle_limit_ = std::min<std::size_t>(settle_limit_ * 2, config_.options.settle_rows);
    for (const CommandResult& answer : std::exchange(answers_sent_, {})) {
        commands_seen_.erase(answer.id);
    }
    settled_ = std::exchange(sent_, {});
    // take_commands() hands it out before the rest is decided. Not where a read would make room for itself by throwing out
    // what is about to start.
    if (reply.lost.empty() && !dirty_.empty() &&
        memory_used() <= config_.options.window_bytes / 4 * 3) {
        next_channel_call();
    }
    if (!outstanding_) {
        conclude_settled();
    }
}

/// What the last answer made possible.
void Machine::conclude_settled() {
    const std::vector<Work*> settled_works = std::exchange(settled_, {});
    for (Work* work : settled_works) {
        if (work != nullptr && work->unparking) {
            unparked(*work);  // before others of its lane go on
        }
    }
    for (Work* work : settled_works) {
        if (work != nullptr) {
            settled(*work);
        }
    }
}

void Machine::settled(Work& work) {
    if (work.settle == Work::Settle::sent_and_dirty) {
        work.settle = Work::Settle::dirty;
        dirty_.push_back(&work);
        settle_pace_.hurry();
    } else {
        work.settle = Work::Settle::clean;
        --work.partition->unsettled;
    }
    work.stored_due = work.sent_due;
    for (Delivery& delivery : work.deliveries) {
        if (std::exchange(delivery.sent, false) && delivery.is_terminal() &&
            !std::exchange(delivery.announced, true)) {
            const bool done = delivery.state == Delivery::State::done;
            emit(done ? Event::Kind::done : Event::Kind::died, work, target_key(work, delivery),
                 delivery.last_error);
        }
    }
    work.letters.erase(work.letters.begin(), work.letters.begin() + work.sent_letters);
    work.attempts.erase(work.attempts.begin(), work.attempts.begin() + work.sent_attempts);
    work.revived.erase(work.revived.begin(), work.revived.begin() + work.sent_revived);
    if (work.sent_finish) {
        emit(work.collapsed ? Event::Kind::collapsed : Event::Kind::finished, work);
        return remove(work);
    }
    if (work.parked) {
        emit(Event::Kind::parked, work);
        return remove(work);
    }
    if (&work == solo_ && work.settle == Work::Settle::clean) {
        return launch_solo();
    }
    go_on(work);
}

/// What is durable now makes the next step possible.
void Machine::go_on(Work& work) {
    for (const std::uint32_t chain : chains_of(work.deliveries)) {
        if (!is_attached(work.deliveries, chain)) {
            continue;
        }
        if (chain_is_halted(work, chain)) {
            emit(Event::Kind::halted, work);
            block_lane(*work.partition, lane_key(work.lane_hash, chain), chain, work.sequence,
                       work.message->lane);
            detach(work, chain);
        } else if (!chain_is_open(work, chain)) {
            detach(work, chain);
        } else {
            advance_after_run(work, chain);
        }
    }
    if (is_far(row_due(work), work.sequence) && is_evictable(work)) {
        evict(work);
        return;
    }
    retire(work);
}

void Machine::settle_failed(const Failure& failure) {
    emit({.kind = Event::Kind::settle_failed, .text = failure.text});
    const auto size = static_cast<std::size_t>(
        std::ranges::count_if(sent_, [](const Work* w) { return w != nullptr; }));
    const bool is_data = failure.reaction == Reaction::bad_data;
    // Halve until the culprit is alone: one bad outcome, or a row that somebody holds, must not hold up the others.
    if (is_data || may_be_one_row(failure)) {
        settle_limit_ = std::max<std::size_t>(1, size / 2);
        if (size == 1) {
            blame(**std::ranges::find_if(sent_, [](const Work* w) { return w != nullptr; }),
                  failure);
        }
    }
    if (is_data && size == 0) {
        for (CommandResult& answer : answers_sent_) {
            answer.text = "(this text could not be stored)";
        }
    }
    unsend();
}

/// Its texts are left out, and if that was not it, it waits while the others go on.
void Machine::blame(Work& culprit, const Failure& failure) {
    if (failure.reaction == Reaction::bad_data && !culprit.unstorable) {
        culprit.unstorable = true;
        emit(Event::Kind::settle_unstorable, culprit);
        return;
    }
    note_refusal(SettleBatch{}, failure);
    held_back_[culprit.sequence] = later(now_, kHeldBack);
}

/// Back to the front of the queue, in the same order; values are absolute, so sending them again
/// after an unknown answer is safe.
void Machine::unsend() {
    for (auto it = sent_.rbegin(); it != sent_.rend(); ++it) {
        if (*it == nullptr) {
            continue;
        }
        Work& work = **it;
        for (Delivery& delivery : work.deliveries) {
            delivery.changed = delivery.changed || delivery.sent;
            delivery.sent = false;
        }
        work.settle = Work::Settle::dirty;
        dirty_.push_front(&work);
    }
    sent_.clear();
    settle_pace_.hurry();
    answers_.insert(answers_.begin(), answers_sent_.begin(), answers_sent_.end());
    answers_sent_.clear();
}

}  // namespace waybill::engine
