#include <algorithm>

#include "calls.hpp"

namespace waybill::memory {
namespace {

/// Kept for exactly `keep`: what is as old as that goes.
bool is_over(StoreTime since, Duration keep, StoreTime now) {
    return later(since, keep) <= now;
}

void sweep_messages(Tables& tables, StoreTime now, Box& box, Duration keep, std::uint64_t rows_max,
                    Swept& swept) {
    while (!box.finished.empty() && is_over(box.finished.begin()->first, keep, now)) {
        if (swept.messages >= rows_max) {
            swept.more = true;
            return;
        }
        MessageRow& message = tables.messages.at(box.finished.begin()->second);
        box.finished.erase(box.finished.begin());
        swept.attempts += message.attempts.size();
        ++swept.messages;
        tables.erase_message(message);
    }
}

/// A lane stands still at it: without its letter nobody could requeue it.
bool is_halted_head(Tables& tables, const DeadLetter& letter) {
    const MessageRow& message = *tables.message(letter.message);
    const Row* row = tables.partition(message.partition)->work.find(letter.sequence);
    return row != nullptr && row->entry.halted;
}

void sweep_dead(Tables& tables, StoreTime now, Box& box, Duration keep, std::uint64_t rows_max,
                Swept& swept) {
    auto next = box.dead.begin();
    while (next != box.dead.end() && is_over(next->first, keep, now)) {
        const std::uint64_t number = next->second;
        ++next;
        if (is_halted_head(tables, tables.dead.at(number).letter)) continue;
        if (swept.dead_letters >= rows_max) {
            swept.more = true;
            return;
        }
        ++swept.dead_letters;
        tables.erase_dead(number);
    }
}

void sweep_attempts(Tables& tables, StoreTime now, Box& box, Duration keep, std::uint64_t rows_max,
                    Swept& swept) {
    while (!box.attempts.empty() && is_over(box.attempts.begin()->first, keep, now)) {
        if (swept.attempts >= rows_max) {
            swept.more = true;
            return;
        }
        ++swept.attempts;
        tables.erase_oldest_attempt(box);
    }
}

void sweep_dedup(Tables& tables, StoreTime now, std::uint64_t rows_max, Swept& swept) {
    while (!tables.dedup_ends.empty() && tables.dedup_ends.begin()->first <= now) {
        if (swept.dedup_records >= rows_max) {
            swept.more = true;
            return;
        }
        ++swept.dedup_records;
        const auto gone = tables.dedup.find(*tables.dedup_ends.begin()->second);
        tables.dedup_ends.erase(tables.dedup_ends.begin());
        tables.dedup.erase(gone);
    }
}

}  // namespace

Swept sweep(Tables& tables, StoreTime now, std::span<const BoxDeclaration> boxes,
            std::uint32_t rows_max) {
    Swept swept;
    for (const BoxDeclaration& declared : boxes) {
        const auto box = tables.boxes.find(declared.name);
        if (box == tables.boxes.end()) continue;
        sweep_attempts(tables, now, box->second, declared.options.keep_attempts, rows_max, swept);
        sweep_dead(tables, now, box->second, declared.options.keep_dead, rows_max, swept);
        sweep_messages(tables, now, box->second, declared.options.keep_done, rows_max, swept);
    }
    sweep_dedup(tables, now, rows_max, swept);
    return swept;
}

StoreHealth health(Tables& tables, StoreTime now) {
    StoreHealth health{.reachable = true, .text = "in memory: gone when the process ends"};
    for (const Partition& partition : tables.partitions) {
        const OpenWork::Rows& ready = partition.work.ready();
        health.open += ready.size();
        health.parked += partition.work.parked().size();
        const auto oldest = std::ranges::find_if(
            ready, [&](const auto& item) { return item.second.entry.due <= now; });
        if (oldest == ready.end()) continue;
        health.oldest_open =
            std::max(health.oldest_open, now - oldest->second.message->appended_at);
    }
    health.dead = tables.dead.size();
    return health;
}

}  // namespace waybill::memory
