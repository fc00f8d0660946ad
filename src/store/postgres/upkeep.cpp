#include <algorithm>

#include "calls.hpp"
#include "letters.hpp"

namespace waybill::postgres {
namespace {

StoreTime time_of(Database& db) {
    Rows rows = db.read(sql::store_row);
    rows.next();
    return rows.time(0);
}

/// What is as old as `keep` goes; nothing: for ever.
std::optional<StoreTime> cut(StoreTime now, Duration keep) {
    if (keep == forever) return std::nullopt;
    return now - keep;
}

/// Each of these statements deletes at most so many and says how many, and whether there are more.
std::uint64_t counted(Rows rows, Swept& swept) {
    rows.next();
    swept.more = swept.more || rows.flag(1);
    return rows.number<std::uint64_t>(0);
}

void sweep_letters(Database& db, StoreTime until, std::int32_t box, std::uint32_t rows_max,
                   Swept& swept) {
    Transaction transaction{db};
    std::vector<std::pair<Sequence, std::string>> expired;
    {
        Rows rows = db.write(sql::expired_letters, box, until, std::int64_t{rows_max} + 1);
        while (rows.next()) expired.emplace_back(rows.integer(0), rows.string(1));
    }
    if (expired.size() > rows_max) {
        swept.more = true;
        expired.resize(rows_max);
    }
    Longs messages;
    for (const auto& [message, target] : expired) messages.add(message);
    if (expired.empty()) return;
    db.write(sql::hold_sequences, messages);
    for (const auto& [message, target] : expired) {
        // Asked again: it may have been requeued, and died again, before we held its message.
        if (db.write(sql::delete_expired_letter, message, target, until).count() == 0) continue;
        db.write(sql::release_finished, message);
        ++swept.dead_letters;
    }
    transaction.commit();
}

}  // namespace

Swept sweep(Session session, std::span<const BoxDeclaration> boxes, std::uint32_t rows_max) {
    Database& db = session.db;
    const StoreTime now = time_of(db);
    const auto limit = std::int64_t{rows_max};
    Swept swept;
    for (const BoxDeclaration& declared : boxes) {
        const BoxRow* box = session.boxes.box(db, declared.name);
        if (box == nullptr) continue;
        if (const auto until = cut(now, declared.options.keep_attempts)) {
            swept.attempts += counted(db.write(sql::sweep_attempts, box->id, *until, limit), swept);
        }
        if (const auto until = cut(now, declared.options.keep_dead)) {
            sweep_letters(db, *until, box->id, rows_max, swept);
        }
        if (const auto until = cut(now, declared.options.keep_done)) {
            Rows rows = db.write(sql::sweep_messages, box->id, *until, limit);
            rows.next();
            swept.messages += rows.number<std::uint64_t>(0);
            swept.more = swept.more || rows.flag(1);
            swept.attempts += rows.number<std::uint64_t>(2);
        }
    }
    swept.dedup_records += counted(db.write(sql::sweep_dedup, now, limit), swept);
    return swept;
}

StoreHealth health(Database& db) {
    Rows rows = db.read(sql::health);
    rows.next();
    StoreHealth health{.reachable = true,
                       .text = "postgres " + rows.string(4),
                       .open = rows.number<std::uint64_t>(0),
                       .parked = rows.number<std::uint64_t>(1),
                       .dead = rows.number<std::uint64_t>(2)};
    if (!rows.is_null(3)) health.oldest_open = std::max(Duration{rows.integer(3)}, Duration{});
    return health;
}

}  // namespace waybill::postgres
