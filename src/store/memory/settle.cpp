#include <algorithm>

#include "calls.hpp"
#include "core/progress.hpp"

namespace waybill::memory {
namespace {

using detail::progress_of;
using detail::put_progress;
using detail::was_dead;

bool holds(Tables& tables, const Fence& fence) {
    const Partition* partition = tables.partition(fence.partition);
    return partition != nullptr && partition->token == fence.token;
}

/// First what runs again loses its letter, then what died gets one: what was revived and died before
/// either was stored (a resume, then a cancel) keeps the second. A revival brings a new generation;
/// without one it was applied before, and its letter may be one of a later death.
void settle_letters(Tables& tables, Row& row, const Settlement& item) {
    const bool is_new = item.finish || item.requeues > row.entry.requeues;
    const auto revives = [&](const std::string& target) {
        return is_new && std::ranges::find(item.revived, target) != item.revived.end();
    };
    for (const std::string& target : item.revived) {
        const auto dead = tables.dead_by_delivery.find({item.message, target});
        if (is_new && dead != tables.dead_by_delivery.end()) tables.erase_dead(dead->second);
    }
    for (const DeadLetter& letter : item.dead) {
        if (!was_dead(row.entry, letter.target) || revives(letter.target)) {
            tables.put_dead(letter, row.message->message);
        }
    }
}

void finish(Tables& tables, StoreTime now, const Settlement& item, MessageRow& message,
            std::vector<MessagePtr>& garbage) {
    Partition& partition = *tables.partition(item.partition);
    garbage.push_back(partition.work.remove(item.sequence).entry.message);
    std::erase(message.requeued, item.sequence);
    if (--message.open_rows > 0) return;
    message.finished_at = now;
    if (item.drop_message && message.dead_letters == 0) {
        tables.erase_message(message);
    } else {
        tables.file_if_finished(message);
    }
}

void apply(Tables& tables, StoreTime now, const Settlement& item,
           std::vector<MessagePtr>& garbage) {
    OpenWork& work = tables.partition(item.partition)->work;
    Row* row = work.find(item.sequence);
    // Gone: this settlement was applied before and its answer lost. All of it was, so that even its
    // dead letters may have been requeued since.
    if (row == nullptr || row->entry.message->id != item.message) return;

    MessageRow& message = *row->message;
    for (const Attempt& attempt : item.attempts) tables.put_attempt(message, attempt);
    settle_letters(tables, *row, item);
    if (item.finish) {
        finish(tables, now, item, message, garbage);
        return;
    }
    work.change(*row, [&](Entry& entry) {
        for (const Progress& change : item.progress) put_progress(entry, change);
        entry.due = item.due;
        entry.halted = item.halted;
        entry.parked = item.parked;
        entry.strikes = item.strikes;
        entry.solo_epoch = item.solo_epoch;
        entry.requeues = item.requeues;
    });
}

}  // namespace

SettleReply settle(Tables& tables, StoreTime now, const SettleBatch& batch,
                   std::vector<MessagePtr>& garbage) {
    if (batch.registry_version < tables.registry_version) return {.registry_stale = true};
    SettleReply reply;
    std::vector<PartitionId> held;
    for (const Fence& fence : batch.fences) {
        auto& verdict = holds(tables, fence) ? held : reply.lost;
        verdict.push_back(fence.partition);
    }
    // An item without a fence has no proof either: it is lost, and said so.
    const auto is_held = [&](PartitionId id) {
        if (std::ranges::find(held, id) != held.end()) return true;
        if (std::ranges::find(reply.lost, id) == reply.lost.end()) reply.lost.push_back(id);
        return false;
    };

    garbage.reserve(batch.items.size());
    for (const Settlement& item : batch.items) {
        if (is_held(item.partition)) apply(tables, now, item, garbage);
    }
    for (const CommandResult& result : batch.commands) {
        if (is_held(result.partition)) answer(tables, result);
    }
    return reply;
}

InlineResult::Record inline_verdict(Tables& tables, const InlineRequest& request) {
    using enum InlineResult::Record;
    if (!holds(tables, request.fence)) return lost;
    Row* row = tables.partition(request.fence.partition)->work.find(request.sequence);
    if (row == nullptr) return already;
    const Progress* known = progress_of(row->entry, request.target);
    return known != nullptr && known->state != Progress::State::ready ? already : recorded;
}

void record_inline(Tables& tables, const InlineRequest& request) {
    Row* row = tables.partition(request.fence.partition)->work.find(request.sequence);
    const Progress* known = progress_of(row->entry, request.target);
    put_progress(row->entry, {.target = request.target,
                              .state = Progress::State::done,
                              .failures = known == nullptr ? 0 : known->failures});
}

}  // namespace waybill::memory
