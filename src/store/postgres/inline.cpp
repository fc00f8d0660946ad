#include "calls.hpp"
#include "progress.hpp"

namespace waybill::postgres {
namespace {

using Record = InlineResult::Record;

bool holds(Database& db, const Fence& fence) {
    Rows rows = db.read(sql::holds_fence, fence.partition, fence.token.owner,
                        static_cast<std::int64_t>(fence.token.epoch), fence.token.generation);
    return rows.next() && rows.flag(0);
}

std::optional<OpenRow> find_row(Database& db, const InlineRequest& request) {
    Ints partitions;
    Longs sequences;
    partitions.add(request.fence.partition);
    sequences.add(request.sequence);
    Rows rows = db.read(sql::rows_at, partitions, sequences);
    if (!rows.next()) return std::nullopt;
    return open_row(rows);
}

struct Verdict {
    Record record = Record::recorded;
    OpenRow row{};
};

/// `recorded` while the delivery is still to be done.
Verdict verdict_on(Database& db, const InlineRequest& request) {
    if (!holds(db, request.fence)) return {Record::lost};
    auto row = find_row(db, request);
    if (!row) return {Record::already};
    const Progress* known = progress_of(row->entry, request.target);
    if (known != nullptr && known->state != Progress::State::ready) return {Record::already};
    return {Record::recorded, std::move(*row)};
}

/// The fence and the record in one statement; nothing is locked before it, and COMMIT follows at once.
bool record(Database& db, const InlineRequest& request, const OpenRow& row) {
    Entry changed = row.entry;
    const Progress* known = progress_of(changed, request.target);
    put_progress(changed, {.target = request.target,
                           .state = Progress::State::done,
                           .failures = known == nullptr ? 0 : known->failures});
    const Fence& fence = request.fence;
    return db.write(sql::record_inline, fence.partition, fence.token.owner,
                    static_cast<std::int64_t>(fence.token.epoch), fence.token.generation,
                    request.sequence, progress_literal(row.entry.progress),
                    progress_literal(changed.progress))
               .count() == 1;
}

/// The handler's time is its own affair. A connection that broke under its hands is the store's trouble and
/// not its failure, whatever it made of it.
Outcome in_its_own_time(Database& db, const std::function<Outcome(void* native)>& body) {
    const auto check = [&] {
        if (PQstatus(db.handle()) == CONNECTION_OK) return;
        throw StoreError{Reaction::reconnect,
                         "postgres store: the connection was lost while an inline handler ran; "
                         "nothing of it was applied"};
    };
    try {
        Outcome outcome = body(db.handle());
        db.start_call();
        check();
        return outcome;
    } catch (...) {
        db.start_call();
        check();
        throw;
    }
}

}  // namespace

InlineResult run_inline(Database& db, const InlineRequest& request,
                        const std::function<Outcome(void* native)>& body) {
    if (const Verdict before = verdict_on(db, request); before.record != Record::recorded) {
        return {before.record, Done{}};
    }
    Transaction transaction{db};
    Outcome outcome = in_its_own_time(db, body);
    const PGTransactionStatusType status = PQtransactionStatus(db.handle());
    if (status == PQTRANS_IDLE) {
        throw StoreError{Reaction::bad_data,
                         "postgres store: the inline handler ended the transaction it was given; "
                         "it commits when the handler returns: remove its COMMIT or ROLLBACK"};
    }
    if (!std::holds_alternative<Done>(outcome)) return {Record::not_done, std::move(outcome)};
    if (status == PQTRANS_INERROR) {
        return {Record::not_done,
                Fail{.reason = "a statement of the inline handler failed and its transaction with "
                               "it, but it returned Done; let it fail, or use a savepoint"}};
    }
    const Verdict verdict = verdict_on(db, request);
    if (verdict.record != Record::recorded) return {verdict.record, Done{}};
    if (!record(db, request, verdict.row)) return {verdict_on(db, request).record, Done{}};
    try {
        transaction.commit();
    } catch (const StoreError& error) {
        if (error.reaction() != Reaction::find_out) throw;
        return {Record::unknown, Done{}};
    }
    return {Record::recorded, Done{}};
}

}  // namespace waybill::postgres
