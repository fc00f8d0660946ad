#include <algorithm>

#include "calls.hpp"
#include "core/progress.hpp"
#include "pack.hpp"

namespace waybill::sqlite {
namespace {

using detail::progress_of;
using detail::put_progress;
using detail::was_dead;

/// The settlements of one batch, one after the other.
class Settling {
public:
    Settling(Session& session, StoreTime now) : session_(session), db_(session.db), now_(now) {
        Rows rows = db_.query(sql::exceptions);
        rows.next();
        any_letters_ = rows.flag(0);
        any_requeued_ = rows.flag(1);
    }

    void apply(const Settlement& item) {
        const bool is_plain = item.finish && item.dead.empty() && item.revived.empty();
        if (is_plain && finish_plain(item)) return;

        // Gone: this settlement was applied before and its answer lost. All of it was, so that even
        // its dead letters may have been requeued since.
        auto row = find_open(db_, item.partition, item.sequence);
        if (!row || row->id != item.message) return;
        put_attempts(item, row->message);
        settle_letters(*row, item);
        if (item.finish) {
            db_.execute(sql::delete_row, item.partition, row->entry.parked, item.sequence);
            close({row->message, item.partition}, item.drop_message);
        } else {
            change(*row, item);
        }
    }

private:
    /// The row of a message that was never requeued is finished and nothing died: no need to read it.
    bool finish_plain(const Settlement& item) {
        if (db_.execute(sql::finish_row, item.partition, item.sequence, item.message) == 0) {
            return false;
        }
        put_attempts(item, item.sequence);
        close({item.sequence, item.partition}, item.drop_message);
        return true;
    }

    void close(const Place& message, bool drop) {
        Left left;
        if (any_letters_ || any_requeued_) left = what_is_left(db_, message);
        if (!left.open) close_message(session_, now_, message, left.dead, drop);
    }

    void put_attempts(const Settlement& item, Sequence message) {
        for (const Attempt& attempt : item.attempts) {
            db_.execute(sql::insert_attempt, message, attempt.target, attempt.requeues,
                        attempt.number, session_.box_of(item.partition).id, attempt.result,
                        attempt.at, attempt.took, attempt.error, attempt.detail);
        }
    }

    /// First what runs again loses its letter, then what died gets one: what was revived and died
    /// before either was stored (a resume, then a cancel) keeps the second. A revival brings a new
    /// generation; without one it was applied before, and its letter may be one of a later death.
    void settle_letters(OpenRow& row, const Settlement& item) {
        const bool is_new = item.finish || item.requeues > row.entry.requeues;
        const auto revives = [&](const std::string& target) {
            return is_new && std::ranges::find(item.revived, target) != item.revived.end();
        };
        if (is_new) {
            for (const std::string& target : item.revived) erase_letter(db_, row.message, target);
        }
        for (const DeadLetter& letter : item.dead) {
            if (was_dead(row.entry, letter.target) && !revives(letter.target)) continue;
            any_letters_ = true;
            if (letter.target.empty()) {
                db_.execute(sql::insert_remains, row.message, row.id, item.partition, now_);
            }
            db_.execute(sql::put_dead, row.message, session_.box_of(item.partition).id,
                        letter.sequence, letter.target, letter.reason, letter.failures,
                        letter.requeues, letter.because, letter.at);
        }
    }

    void change(OpenRow& row, const Settlement& item) {
        for (const Progress& change : item.progress) put_progress(row.entry, change);
        const std::string progress = pack(row.entry.progress);
        db_.execute(sql::update_row, item.partition, row.entry.parked, item.sequence, item.due,
                    item.halted, item.parked, item.strikes, item.solo_epoch, item.requeues,
                    OptionalBlob{progress});
    }

    Session& session_;
    Database& db_;
    StoreTime now_;
    bool any_letters_ = false;
    bool any_requeued_ = false;
};

}  // namespace

SettleReply settle(Session& session, StoreTime now, const SettleBatch& batch) {
    if (batch.registry_version < store_row(session.db).registry_version) {
        return {.registry_stale = true};
    }
    SettleReply reply;
    std::vector<PartitionId> held;
    for (const Fence& fence : batch.fences) {
        auto& verdict = holds(session, fence) ? held : reply.lost;
        verdict.push_back(fence.partition);
    }
    // An item without a fence has no proof either: it is lost, and said so.
    const auto is_held = [&](PartitionId id) {
        if (std::ranges::find(held, id) != held.end()) return true;
        if (std::ranges::find(reply.lost, id) == reply.lost.end()) reply.lost.push_back(id);
        return false;
    };

    if (!batch.items.empty()) {
        Settling settling{session, now};
        for (const Settlement& item : batch.items) {
            if (is_held(item.partition)) settling.apply(item);
        }
    }
    for (const CommandResult& result : batch.commands) {
        if (is_held(result.partition)) answer(session.db, result);
    }
    return reply;
}

InlineResult::Record inline_verdict(Session& session, const InlineRequest& request) {
    using enum InlineResult::Record;
    if (!holds(session, request.fence)) return lost;
    auto row = find_open(session.db, request.fence.partition, request.sequence);
    if (!row) return already;
    const Progress* known = progress_of(row->entry, request.target);
    return known != nullptr && known->state != Progress::State::ready ? already : recorded;
}

void record_inline(Session& session, const InlineRequest& request) {
    auto row = find_open(session.db, request.fence.partition, request.sequence);
    const Progress* known = progress_of(row->entry, request.target);
    put_progress(row->entry, {.target = request.target,
                              .state = Progress::State::done,
                              .failures = known == nullptr ? 0 : known->failures});
    const std::string progress = pack(row->entry.progress);
    session.db.execute(sql::update_progress, request.fence.partition, row->entry.parked,
                       request.sequence, Blob{progress});
}

}  // namespace waybill::sqlite
