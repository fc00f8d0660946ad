#include <algorithm>

#include "calls.hpp"
#include "error_map.hpp"
#include "letters.hpp"
#include "waybill/system.hpp"

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

/// Retention of boxes that keep at least a day is by days: their tables are dropped, which costs nothing per
/// message, up to a day later than row by row.
constexpr Duration kDay = std::chrono::hours{24};
constexpr std::int32_t kDaysAhead = 14;
/// So many are moved while appends wait for it.
constexpr std::int64_t kSurvivorsMax = 10'000;

/// A box and the moment up to which it does not keep what is finished.
struct Cut {
    std::int32_t box = 0;
    StoreTime until{};
    Duration keep{};
};

/// Of the tables whose names end so.
void sweep_messages(Database& db, const std::string& tables, const Cut& cut, std::int64_t limit,
                    Swept& swept) {
    Rows rows = db.write(sql::sweep_messages, tables, cut.box, cut.until, limit);
    rows.next();
    swept.messages += rows.number<std::uint64_t>(0);
    swept.more = swept.more || rows.flag(1);
    swept.attempts += rows.number<std::uint64_t>(2);
}

/// For what takes locks that others wait for: it ends in time, or as if it had never begun. False: it took
/// longer.
template <class Work>
bool done_within(Database& db, Duration at_most, Work work) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
    try {
        Transaction transaction{db};
        db.script("set local statement_timeout = " + std::to_string(ms), "sweep");
        work();
        transaction.commit();
        return true;
    } catch (const ServerError& error) {
        if (!error.is_late()) throw;
        return false;
    }
}

/// One after the other: what is made stays, whatever becomes of the next.
void make_days(Database& db, Duration at_most) {
    for (bool is_made = true; is_made;) {
        is_made = false;
        done_within(db, at_most, [&] {
            Rows rows = db.write(sql::make_days, kDaysAhead);
            is_made = rows.next() && rows.integer(0) > 0;
        });
    }
}

/// How days are dropped.
struct Days {
    const std::vector<Cut>& cuts;
    std::int64_t rows_max = 0;
    /// So long others wait for one that is dropped.
    Duration drop_max{};
};

/// False: too much of it must stay, or to drop it would keep others waiting for too long.
bool drop_day(Database& db, const std::string& day, const Days& days, Swept& swept) {
    Ints boxes;
    Longs until;
    for (const Cut& cut : days.cuts) {
        boxes.add(cut.box);
        until.add(cut.until);
    }
    const LocalTime begin = system_clock().now();
    Rows cleared = db.write(sql::clear_day, day, boxes, until, kSurvivorsMax, days.rows_max);
    cleared.next();
    const auto attempts = cleared.number<std::uint64_t>(2);
    swept.attempts += attempts;
    if (cleared.is_null(0)) {
        swept.more = swept.more || attempts > 0;
        return true;
    }
    // What must stay is looked up once more while others wait.
    if (!cleared.flag(0) || system_clock().now() - begin > days.drop_max) return false;
    bool is_dropped = false;
    bool may_be_later = false;
    std::uint64_t messages = 0;
    const bool is_in_time = done_within(db, days.drop_max, [&] {
        Rows rows = db.write(sql::drop_day, day, boxes, until, kSurvivorsMax);
        rows.next();
        may_be_later = rows.is_null(0);
        is_dropped = !may_be_later && rows.flag(0);
        const auto all = cleared.number<std::uint64_t>(1);
        messages = all - std::min(all, rows.number<std::uint64_t>(1));
    });
    if (is_in_time && is_dropped) swept.messages += messages;
    return is_in_time && (is_dropped || may_be_later);
}

void sweep_finished(Database& db, StoreTime now, const Days& retention, Swept& swept) {
    const std::int64_t limit = retention.rows_max;
    std::vector<Cut> by_days;
    for (const Cut& cut : retention.cuts) {
        if (cut.keep >= kDay) {
            by_days.push_back(cut);
        } else {
            sweep_messages(db, "", cut, limit, swept);
        }
    }
    if (by_days.empty()) return;
    const Duration shortest = std::ranges::min(by_days, {}, &Cut::keep).keep;
    std::vector<std::string> others{"_other"};
    std::vector<std::string> days;
    {
        Rows rows = db.read(sql::days_before, now - shortest);
        while (rows.next()) days.push_back(rows.string(0));
    }
    for (const std::string& day : days) {
        if (!drop_day(db, day, retention, swept)) others.push_back("_" + day);
    }
    for (const std::string& tables : others) {
        for (const Cut& cut : by_days) sweep_messages(db, tables, cut, limit, swept);
    }
}

}  // namespace

Swept sweep(Session session, std::span<const BoxDeclaration> boxes, std::uint32_t rows_max,
            Duration drop_max) {
    Database& db = session.db;
    const StoreTime now = time_of(db);
    const auto limit = std::int64_t{rows_max};
    Swept swept;
    std::vector<Cut> cuts;
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
            cuts.push_back({box->id, *until, declared.options.keep_done});
        }
    }
    make_days(db, drop_max);
    sweep_finished(db, now, {.cuts = cuts, .rows_max = limit, .drop_max = drop_max}, swept);
    swept.dedup_records += counted(db.write(sql::sweep_dedup, now, limit), swept);
    return swept;
}

StoreHealth health(Database& db) {
    // Whoever probes does not wait for somebody who has locked a table; how long counting may take is another matter.
    std::optional<Transaction> brief;
    if (!db.in_transaction()) {
        brief.emplace(db);
        db.script("set local lock_timeout = '1s'", "health");
    }
    Rows rows = db.read(sql::health);
    if (brief) brief->commit();
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
