#include <algorithm>

#include "simulation/sim_store.hpp"

namespace waybill::sim {
namespace {

bool is_bad(const std::string& text) {
    return text.find(unstorable) != std::string::npos;
}

}  // namespace

bool SimStore::is_storable(const SettleBatch& batch) {
    for (const Settlement& item : batch.items) {
        for (const Progress& progress : item.progress) {
            if (is_bad(progress.last_error)) return false;
        }
        for (const DeadLetter& letter : item.dead) {
            if (is_bad(letter.reason)) return false;
        }
        for (const Attempt& attempt : item.attempts) {
            if (is_bad(attempt.error)) return false;
        }
    }
    return std::none_of(batch.commands.begin(), batch.commands.end(),
                        [](const CommandResult& result) { return is_bad(result.text); });
}

bool SimStore::matches_fence(const Fence& fence) const {
    const auto row = db_.partitions.find(fence.partition);
    if (row == db_.partitions.end()) return false;
    const Token& token = row->second.token;
    if (is(Mutation::no_fence)) return true;
    if (is(Mutation::bare_epoch)) return token.epoch == fence.token.epoch;
    if (is(Mutation::fence_without_generation)) {
        return token.owner == fence.token.owner && token.epoch == fence.token.epoch;
    }
    return token == fence.token && token.generation == generation();
}

Duration SimStore::settle_waits_until(const SettleBatch& batch) const {
    Duration until{};
    if (is(Mutation::fence_without_lock)) return until;
    for (const Fence& fence : batch.fences)
        until = std::max(until, free_at(fence.partition, false));
    return until;
}

SimStore::SettleTicket SimStore::begin_settle(const SettleBatch& batch, Duration hold) {
    SettleTicket ticket{.timeline = timeline_, .batch = batch};
    if (batch.registry_version < db_.registry_version && !is(Mutation::registry_unchecked)) {
        ticket.reply.registry_stale = true;
        return ticket;
    }
    registry_held_ = std::max(registry_held_, now_ + hold);
    for (const Fence& fence : batch.fences) {
        if (!matches_fence(fence)) {
            ticket.reply.lost.push_back(fence.partition);
            continue;
        }
        ticket.accepted.push_back(fence);
        if (is(Mutation::fence_without_lock)) continue;
        Lock& lock = locks_[fence.partition];
        lock.shared_until = std::max(lock.shared_until, now_ + hold);
    }
    return ticket;
}

void SimStore::apply(const Settlement& item) {
    OpenRow* row = db_.find_open(item.partition, item.sequence);
    // Not there: this settlement was applied before.
    if (row == nullptr || row->entry.message->id != item.message) return;
    Entry& entry = row->entry;
    for (const DeadLetter& letter : item.dead) {
        // Repeated after an operator requeued that letter, it must not come back.
        const Progress* known = find_progress(entry.progress, letter.target);
        const bool was_dead = known != nullptr && known->state == Progress::State::dead;
        if (was_dead || is(Mutation::dead_letters_dropped)) continue;
        db_.dead[{letter.message, letter.target}] = letter;
    }
    for (const std::string& target : item.revived) {
        if (db_.dead.erase({item.message, target}) > 0) {
            witness_.on_dead_removed({item.message, target});
        }
    }
    for (const Progress& progress : item.progress) {
        Progress* known = find_progress(entry.progress, progress.target);
        if (known == nullptr) {
            entry.progress.push_back(progress);
        } else {
            *known = progress;
        }
    }
    if (item.finish) {
        db_.erase_open(item.partition, item.sequence);
        if (!db_.has_open(item.message)) db_.finished.insert(item.message);
        return;
    }
    entry.due = item.due;
    entry.halted = item.halted;
    entry.parked = item.parked;
    entry.strikes = item.strikes;
    entry.solo_epoch = item.solo_epoch;
    entry.requeues = item.requeues;
}

std::optional<SettleReply> SimStore::finish_settle(const SettleTicket& ticket) {
    if (ticket.timeline != timeline_) return std::nullopt;
    if (ticket.reply.registry_stale) return ticket.reply;
    const auto accepted = [&](PartitionId partition) {
        return std::find_if(ticket.accepted.begin(), ticket.accepted.end(),
                            [&](const Fence& fence) { return fence.partition == partition; });
    };
    for (const Settlement& item : ticket.batch.items) {
        const auto fence = accepted(item.partition);
        if (fence == ticket.accepted.end()) continue;
        witness_.on_settlement(*fence, item, db_.find_open(item.partition, item.sequence));
        apply(item);
    }
    for (const CommandResult& result : ticket.batch.commands) {
        const auto row = db_.commands.find(result.id);
        if (row == db_.commands.end() || accepted(result.partition) == ticket.accepted.end())
            continue;
        row->second.result = result;
    }
    witness_.on_settled(ticket.batch);
    return ticket.reply;
}

Duration SimStore::inline_waits_until(const InlineRequest& request) const {
    return free_at(request.fence.partition, false);
}

InlineResult::Record SimStore::commit_inline(const InlineRequest& request) {
    using enum InlineResult::Record;
    InlineResult::Record record = recorded;
    OpenRow* row = db_.find_open(request.fence.partition, request.sequence);
    if (!matches_fence(request.fence) && !is(Mutation::inline_without_fence)) {
        record = lost;
    } else if (row == nullptr || row->entry.message->id != request.message) {
        record = already;
    } else {
        Progress* progress = find_progress(row->entry.progress, request.target);
        if (progress != nullptr && progress->state != Progress::State::ready) {
            record = already;
        } else {
            const EffectKey key{request.message, request.target, row->entry.requeues};
            ++db_.effects[key];
            if (!is(Mutation::inline_marker_outside)) {
                db_.inline_done.insert(key);
                if (progress == nullptr) {
                    row->entry.progress.push_back({.target = request.target});
                    progress = &row->entry.progress.back();
                }
                progress->state = Progress::State::done;
            }
        }
    }
    witness_.on_inline(request, record);
    return record;
}

}  // namespace waybill::sim
