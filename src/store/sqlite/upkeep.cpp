#include <algorithm>

#include "calls.hpp"

namespace waybill::sqlite {
namespace {

/// What is as old as `keep` goes; nothing: for ever.
std::optional<StoreTime> cut(StoreTime now, Duration keep) {
    if (keep == forever) return std::nullopt;
    return now - keep;
}

void sweep_messages(Session& session, StoreTime until, std::int64_t box, std::uint32_t rows_max,
                    Swept& swept) {
    std::vector<std::pair<StoreTime, Sequence>> expired;
    {
        const auto limit = std::uint64_t{rows_max} + 1;
        Rows rows = session.db.query(sql::expired_messages, box, until, limit);
        while (rows.next()) expired.emplace_back(rows.time(0), rows.integer(1));
    }
    for (const auto& [at, message] : expired) {
        if (swept.messages >= rows_max) {
            swept.more = true;
            return;
        }
        session.db.execute(sql::delete_finished, box, at, message);
        session.db.execute(sql::delete_message, message);
        swept.attempts += session.db.execute(sql::delete_attempts, message);
        ++swept.messages;
    }
}

void sweep_letters(Session& session, StoreTime until, std::int64_t box, std::uint32_t rows_max,
                   Swept& swept) {
    std::vector<std::pair<Sequence, std::string>> expired;
    {
        const auto limit = std::uint64_t{rows_max} + 1;
        Rows rows = session.db.query(sql::expired_letters, box, until, limit);
        while (rows.next()) expired.emplace_back(rows.integer(0), rows.string(1));
    }
    for (const auto& [message, target] : expired) {
        if (swept.dead_letters >= rows_max) {
            swept.more = true;
            return;
        }
        erase_letter(session.db, message, target);
        ++swept.dead_letters;
    }
}

void sweep_attempts(Session& session, StoreTime until, std::int64_t box, std::uint32_t rows_max,
                    Swept& swept) {
    struct Line {
        Sequence message;
        std::string target;
        std::int64_t requeues;
        std::int64_t number;
    };
    std::vector<Line> expired;
    {
        const auto limit = std::uint64_t{rows_max} + 1;
        Rows rows = session.db.query(sql::expired_attempts, box, until, limit);
        while (rows.next()) {
            expired.push_back({rows.integer(0), rows.string(1), rows.integer(2), rows.integer(3)});
        }
    }
    for (const Line& line : expired) {
        if (swept.attempts >= rows_max) {
            swept.more = true;
            return;
        }
        session.db.execute(sql::delete_attempt, line.message, line.target, line.requeues,
                           line.number);
        ++swept.attempts;
    }
}

void sweep_dedup(Session& session, StoreTime now, std::uint32_t rows_max, Swept& swept) {
    std::vector<std::pair<std::string, std::string>> expired;
    {
        Rows rows = session.db.query(sql::expired_dedup, now, std::uint64_t{rows_max} + 1);
        while (rows.next()) expired.emplace_back(rows.string(0), rows.string(1));
    }
    for (const auto& [scope, key] : expired) {
        if (swept.dedup_records >= rows_max) {
            swept.more = true;
            return;
        }
        session.db.execute(sql::delete_dedup, scope, key);
        ++swept.dedup_records;
    }
}

}  // namespace

Swept sweep(Session& session, StoreTime now, std::span<const BoxDeclaration> boxes,
            std::uint32_t rows_max) {
    Swept swept;
    for (const BoxDeclaration& declared : boxes) {
        const BoxRow* box = session.box(declared.name);
        if (box == nullptr) continue;
        if (const auto until = cut(now, declared.options.keep_attempts)) {
            sweep_attempts(session, *until, box->id, rows_max, swept);
        }
        if (const auto until = cut(now, declared.options.keep_dead)) {
            sweep_letters(session, *until, box->id, rows_max, swept);
        }
        if (const auto until = cut(now, declared.options.keep_done)) {
            sweep_messages(session, *until, box->id, rows_max, swept);
        }
    }
    sweep_dedup(session, now, rows_max, swept);
    return swept;
}

StoreHealth health(Database& db, StoreTime now) {
    const ReadTransaction snapshot{db};
    StoreHealth health{.reachable = true};
    {
        Rows rows = db.query(sql::count_open);
        rows.next();
        health.open = rows.number<std::uint64_t>(0);
        health.parked = rows.number<std::uint64_t>(1);
    }
    {
        Rows rows = db.query(sql::count_dead);
        rows.next();
        health.dead = rows.number<std::uint64_t>(0);
    }
    Rows rows = db.query(sql::oldest_open, now);
    if (rows.next() && !rows.is_null(0)) {
        health.oldest_open = std::max(now - rows.time(0), Duration{});
    }
    return health;
}

}  // namespace waybill::sqlite
