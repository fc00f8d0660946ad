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

/// False: too much of it must stay.
bool drop_day(Database& db, const std::string& day, const std::vector<Cut>& cuts,
              std::int64_t limit, Swept& swept) {
    Ints boxes;
    Longs until;
    for (const Cut& cut : cuts) {
        boxes.add(cut.box);
        until.add(cut.until);
    }
    Rows rows = db.write(sql::drop_day, day, boxes, until, kSurvivorsMax, limit);
    rows.next();
    swept.messages += rows.number<std::uint64_t>(1);
    const auto attempts = rows.number<std::uint64_t>(2);
    swept.attempts += attempts;
    swept.more = swept.more || (rows.is_null(0) && attempts > 0);
    return rows.is_null(0) || rows.flag(0);
}

void sweep_finished(Database& db, StoreTime now, const std::vector<Cut>& cuts, std::int64_t limit,
                    Swept& swept) {
    std::vector<Cut> by_days;
    for (const Cut& cut : cuts) {
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
        if (!drop_day(db, day, cuts, limit, swept)) others.push_back("_" + day);
    }
    for (const std::string& tables : others) {
        for (const Cut& cut : by_days) sweep_messages(db, tables, cut, limit, swept);
    }
}

}  // namespace

Swept sweep(Session session, std::span<const BoxDeclaration> boxes, std::uint32_t rows_max) {
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
    db.write(sql::make_days, kDaysAhead);
    sweep_finished(db, now, cuts, limit, swept);
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
