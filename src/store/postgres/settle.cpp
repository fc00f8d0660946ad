#include <algorithm>
#include <map>
#include <set>

#include "calls.hpp"
#include "core/progress.hpp"

namespace waybill::postgres {
namespace {

using detail::put_progress;
using detail::was_dead;

using RowKey = std::pair<PartitionId, Sequence>;

RowKey key_of(const Settlement& item) {
    return {item.partition, item.sequence};
}

/// The row goes and nothing died: no need to read it.
bool is_plain(const Settlement& item) {
    return item.finish && item.dead.empty() && item.revived.empty();
}

/// Everything of a batch as the columns of one call.
class Columns {
public:
    void add_fence(const Fence& fence) {
        fence_partition_.add(fence.partition);
        fence_owner_.add(fence.token.owner);
        fence_epoch_.add(fence.token.epoch);
        fence_generation_.add(fence.token.generation);
    }
    void add_finish(const Settlement& item) {
        finish_partition_.add(item.partition);
        finish_sequence_.add(item.sequence);
        finish_id_.add(item.message);
        finish_drop_.add(item.drop_message);
    }
    void add_change(const Settlement& item, const std::vector<Progress>& seen,
                    const std::vector<Progress>& progress) {
        change_partition_.add(item.partition);
        change_sequence_.add(item.sequence);
        change_id_.add(item.message);
        change_due_.add(item.due);
        change_halted_.add(item.halted);
        change_parked_.add(item.parked);
        change_strikes_.add(item.strikes);
        change_solo_epoch_.add(item.solo_epoch);
        change_requeues_.add(item.requeues);
        change_progress_.add(progress_literal(progress));
        change_seen_.add(progress_literal(seen));
    }
    void add_revived(const Settlement& item, Sequence message, const std::string& target) {
        revive_partition_.add(item.partition);
        revive_sequence_.add(item.sequence);
        revive_id_.add(item.message);
        revive_message_.add(message);
        revive_target_.add(target);
    }
    void add_letter(PartitionId partition, Sequence message, const DeadLetter& letter) {
        dead_partition_.add(partition);
        dead_message_.add(message);
        dead_id_.add(letter.message);
        dead_sequence_.add(letter.sequence);
        dead_target_.add(letter.target);
        dead_reason_.add(letter.reason);
        dead_failures_.add(letter.failures);
        dead_requeues_.add(letter.requeues);
        dead_because_.add(letter.because);
        dead_at_.add(letter.at);
    }
    void add_attempt(const Settlement& item, const Attempt& attempt) {
        attempt_partition_.add(item.partition);
        attempt_sequence_.add(item.sequence);
        attempt_id_.add(item.message);
        attempt_target_.add(attempt.target);
        attempt_requeues_.add(attempt.requeues);
        attempt_number_.add(attempt.number);
        attempt_result_.add(attempt.result);
        attempt_at_.add(attempt.at);
        attempt_took_.add(attempt.took);
        attempt_error_.add(attempt.error);
        attempt_detail_.add(attempt.detail);
    }
    void add_answer(const CommandResult& result) {
        command_id_.add(result.id);
        command_partition_.add(result.partition);
        command_carried_out_.add(result.carried_out);
        command_text_.add(result.text);
    }

    Rows send(Database& db, std::uint64_t registry_version) const {
        return db.write(
            sql::settle, registry_version, fence_partition_, fence_owner_, fence_epoch_,
            fence_generation_, finish_partition_, finish_sequence_, finish_id_, finish_drop_,
            change_partition_, change_sequence_, change_id_, change_due_, change_halted_,
            change_parked_, change_strikes_, change_solo_epoch_, change_requeues_, change_progress_,
            change_seen_, revive_partition_, revive_sequence_, revive_id_, revive_message_,
            revive_target_, dead_partition_, dead_message_, dead_id_, dead_sequence_, dead_target_,
            dead_reason_, dead_failures_, dead_requeues_, dead_because_, dead_at_,
            attempt_partition_, attempt_sequence_, attempt_id_, attempt_target_, attempt_requeues_,
            attempt_number_, attempt_result_, attempt_at_, attempt_took_, attempt_error_,
            attempt_detail_, command_id_, command_partition_, command_carried_out_, command_text_);
    }

private:
    Ints fence_partition_{}, finish_partition_{}, change_partition_{}, revive_partition_{},
        dead_partition_{}, attempt_partition_{}, command_partition_{};
    Uuids fence_owner_{}, finish_id_{}, change_id_{}, revive_id_{}, dead_id_{}, attempt_id_{};
    Longs fence_epoch_{}, finish_sequence_{}, change_sequence_{}, change_due_{},
        change_solo_epoch_{}, revive_sequence_{}, revive_message_{}, dead_message_{},
        dead_sequence_{}, dead_failures_{}, dead_at_{}, attempt_sequence_{}, attempt_number_{},
        attempt_at_{}, attempt_took_{}, command_id_{};
    Texts fence_generation_{}, change_progress_{}, change_seen_{}, revive_target_{}, dead_target_{},
        dead_reason_{}, dead_because_{}, attempt_target_{}, attempt_error_{}, attempt_detail_{},
        command_text_{};
    Flags finish_drop_{}, change_halted_{}, change_parked_{}, command_carried_out_{};
    Ints change_strikes_{}, change_requeues_{}, dead_requeues_{}, attempt_requeues_{};
    Smalls attempt_result_{};
};

/// The rows of those items that need more than to go, as they are.
std::map<RowKey, OpenRow> rows_of(Database& db, std::span<const Settlement> items) {
    Ints partitions;
    Longs sequences;
    for (const Settlement& item : items) {
        if (is_plain(item)) continue;
        partitions.add(item.partition);
        sequences.add(item.sequence);
    }
    std::map<RowKey, OpenRow> found;
    if (partitions.size() == 0) return found;
    Rows rows = db.read(sql::rows_at, partitions, sequences);
    while (rows.next()) {
        OpenRow row = open_row(rows);
        const RowKey key{row.entry.partition, row.entry.sequence};
        found.emplace(key, std::move(row));
    }
    return found;
}

/// The settlements of one call, none of which is about the same row as another.
class Settling {
public:
    explicit Settling(Columns& columns) : columns_(columns) {}

    void apply(const Settlement& item, const std::map<RowKey, OpenRow>& rows) {
        if (is_plain(item)) {
            for (const Attempt& attempt : item.attempts) columns_.add_attempt(item, attempt);
            columns_.add_finish(item);
            return;
        }
        // Gone: this settlement was applied before and its answer lost. All of it was, so that even
        // its dead letters may have been requeued since.
        const auto found = rows.find(key_of(item));
        if (found == rows.end() || found->second.id != item.message) return;
        OpenRow row = found->second;
        for (const Attempt& attempt : item.attempts) columns_.add_attempt(item, attempt);
        settle_letters(row, item);
        if (item.finish) {
            columns_.add_finish(item);
        } else {
            for (const Progress& change : item.progress) put_progress(row.entry, change);
            columns_.add_change(item, found->second.entry.progress, row.entry.progress);
        }
    }
    void end() {
        for (const Letter& item : letters_) {
            columns_.add_letter(item.partition, item.message, item.letter);
        }
    }

private:
    /// First what runs again loses its letter, then what died gets one: what was revived and died
    /// before either was stored (a resume, then a cancel) keeps the second. A revival brings a new
    /// generation; without one it was applied before, and its letter may be one of a later death.
    void settle_letters(OpenRow& row, const Settlement& item) {
        const bool is_new = item.finish || item.requeues > row.entry.requeues;
        const auto revives = [&](const std::string& target) {
            return is_new && std::ranges::find(item.revived, target) != item.revived.end();
        };
        if (is_new) {
            for (const std::string& target : item.revived) {
                columns_.add_revived(item, row.message, target);
            }
        }
        for (const DeadLetter& letter : item.dead) {
            if (was_dead(row.entry, letter.target) && !revives(letter.target)) continue;
            const auto [place, is_first] =
                places_.try_emplace({row.message, letter.target}, letters_.size());
            // Two rows of one message may both say that a delivery died: the last one does.
            if (is_first) letters_.emplace_back();
            letters_[place->second] = {item.partition, row.message, letter};
        }
    }

    struct Letter {
        PartitionId partition = 0;
        Sequence message = 0;
        DeadLetter letter{};
    };
    Columns& columns_;
    std::vector<Letter> letters_{};
    std::map<std::pair<Sequence, std::string>, std::size_t> places_{};
};

/// Where an item is about a row that an earlier one was about already.
std::size_t end_of_round(std::span<const Settlement> items) {
    std::set<RowKey> seen;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!seen.insert(key_of(items[i])).second) return i;
    }
    return items.size();
}

/// Lost are fences that do not hold, and items without one: they have no proof either.
SettleReply reply_of(const SettleBatch& batch, Rows rows) {
    rows.next();
    if (rows.flag(0)) return {.registry_stale = true};
    std::vector<bool> holds(batch.fences.size(), false);
    for (const std::uint64_t place : decode_numbers(rows.bytes(1))) holds[place - 1] = true;
    SettleReply reply;
    std::set<PartitionId> held;
    for (std::size_t i = 0; i < batch.fences.size(); ++i) {
        if (holds[i]) {
            held.insert(batch.fences[i].partition);
        } else {
            reply.lost.push_back(batch.fences[i].partition);
        }
    }
    const auto ask = [&](PartitionId id) {
        if (held.contains(id)) return;
        if (std::ranges::find(reply.lost, id) == reply.lost.end()) reply.lost.push_back(id);
    };
    for (const Settlement& item : batch.items) ask(item.partition);
    for (const CommandResult& result : batch.commands) ask(result.partition);
    return reply;
}

Rows settle_round(Database& db, const SettleBatch& batch, std::span<const Settlement> items,
                  std::span<const CommandResult> answers) {
    Columns columns;
    for (const Fence& fence : batch.fences) columns.add_fence(fence);
    const auto rows = rows_of(db, items);
    Settling settling{columns};
    for (const Settlement& item : items) settling.apply(item, rows);
    settling.end();
    for (const CommandResult& answer : answers) columns.add_answer(answer);
    return columns.send(db, batch.registry_version);
}

}  // namespace

SettleReply settle(Session session, const SettleBatch& batch) {
    Database& db = session.db;
    const std::span<const Settlement> items = batch.items;
    if (end_of_round(items) == items.size()) {
        return reply_of(batch, settle_round(db, batch, items, batch.commands));
    }
    Transaction transaction{db};
    for (std::size_t begin = 0;;) {
        const auto rest = items.subspan(begin);
        const std::size_t count = end_of_round(rest);
        begin += count;
        const bool is_last = begin == items.size();
        const auto answers = is_last ? std::span{batch.commands} : std::span<const CommandResult>{};
        Rows rows = settle_round(db, batch, rest.first(count), answers);
        SettleReply reply = reply_of(batch, std::move(rows));
        if (reply.registry_stale) return reply;  // all of it, also the rounds before
        if (!is_last) continue;
        transaction.commit();
        return reply;
    }
}

}  // namespace waybill::postgres
