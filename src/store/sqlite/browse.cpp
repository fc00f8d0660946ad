#include <algorithm>
#include <limits>

#include "calls.hpp"
#include "core/asking.hpp"
#include "waybill/target.hpp"

namespace waybill::sqlite {
namespace {

constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();

bool fits(const std::string& pattern, std::string_view text) {
    return pattern.empty() || matches(pattern, text);
}

bool fits(const Filter& filter, std::string_view box, std::string_view type,
          std::string_view source, std::string_view tenant) {
    return (filter.box.empty() || filter.box == box) && fits(filter.type, type) &&
           fits(filter.source, source) && fits(filter.tenant, tenant);
}

DeadLetter read_letter(const Rows& rows) {
    return {.message = rows.uuid(0),
            .sequence = rows.integer(1),
            .target = rows.string(2),
            .reason = rows.string(3),
            .failures = rows.number<std::uint32_t>(4),
            .requeues = rows.number<std::uint32_t>(5),
            .because = rows.string(6),
            .at = rows.time(7)};
}

std::vector<OpenRow> open_rows(Database& db, const Place& message) {
    std::vector<OpenRow> all;
    Rows rows = db.query(sql::open_rows_of_message, message.partition, message.sequence);
    while (rows.next()) all.push_back(open_row(rows));
    return all;
}

std::vector<Attempt> attempts_of(Database& db, Sequence message, const Uuid& id) {
    std::vector<Attempt> all;
    Rows rows = db.query(sql::attempts_of_message, message);
    while (rows.next()) {
        all.push_back({.message = id,
                       .target = rows.string(0),
                       .requeues = rows.number<std::uint32_t>(1),
                       .number = rows.number<std::uint32_t>(2),
                       .result = static_cast<Attempt::Result>(rows.integer(3)),
                       .at = rows.time(4),
                       .took = Duration{rows.integer(5)},
                       .error = rows.string(6),
                       .detail = rows.string(7)});
    }
    return all;
}

bool was_attempted(Database& db, Sequence message, const std::string& target) {
    Rows rows = db.query(sql::was_attempted, message, target);
    rows.next();
    return rows.flag(0);
}

Filter::State state_of(Database& db, const Place& message) {
    const auto rows = open_rows(db, message);
    if (!rows.empty()) {
        const bool parked =
            std::ranges::all_of(rows, [](const OpenRow& row) { return row.entry.parked; });
        return parked ? Filter::State::parked : Filter::State::open;
    }
    return what_is_left(db, message).dead ? Filter::State::dead : Filter::State::done;
}

/// Something is recorded of it for this target.
bool concerns(Database& db, const Place& message, const std::string& target) {
    const auto named = [&](const auto& item) { return item.target == target; };
    return std::ranges::any_of(letters_of(db, message.sequence), named) ||
           was_attempted(db, message.sequence, target) ||
           std::ranges::any_of(open_rows(db, message), [&](const OpenRow& row) {
               return std::ranges::any_of(row.entry.progress, named) ||
                      std::ranges::find(row.entry.only, target) != row.entry.only.end();
           });
}

bool fits(Database& db, const Filter& filter, const Place& message) {
    if (filter.state != Filter::State::any && filter.state != state_of(db, message)) return false;
    if (!filter.target.empty() && !concerns(db, message, filter.target)) return false;
    return filter.reason.empty() ||
           std::ranges::any_of(letters_of(db, message.sequence), [&](const DeadLetter& letter) {
               return letter.reason.find(filter.reason) != std::string::npos;
           });
}

/// The messages among which those that fit are, in order.
const auto& candidates(const Filter& filter) {
    if (filter.state == Filter::State::any || filter.state == Filter::State::done) {
        return filter.oldest_first ? sql::messages_after : sql::messages_before;
    }
    return filter.oldest_first ? sql::unfinished_after : sql::unfinished_before;
}

/// Calls `visit` with the place of every message from there on that fits, until it answers false.
template <class Visit>
void each_message(Session& session, const Filter& filter, std::int64_t from, Visit visit) {
    Rows rows = session.db.query(candidates(filter), from, filter.since, filter.until);
    while (rows.next()) {
        const Place place{rows.integer(0), rows.number<PartitionId>(1)};
        const std::string& box = session.box_of(place.partition).name;
        if (!fits(filter, box, rows.text(3), rows.text(4), rows.text(5))) continue;
        if (fits(session.db, filter, place) && !visit(place, rows.time(2))) return;
    }
}

/// The same for dead letters, oldest first.
template <class Visit>
void each_letter(Session& session, const Filter& filter, std::int64_t after, Visit visit) {
    Rows rows = session.db.query(sql::letters_after, after, filter.since, filter.until);
    while (rows.next()) {
        DeadLetterDetail detail{.letter = read_letter(rows),
                                .cursor = std::to_string(rows.integer(8))};
        if (!filter.target.empty() && filter.target != detail.letter.target) continue;
        if (detail.letter.reason.find(filter.reason) == std::string::npos) continue;
        detail.message = load_message(session, rows.integer(9)).message;
        const Message& message = *detail.message;
        if (!fits(filter, message.box, message.type, message.source, message.tenant)) continue;
        if (!visit(std::move(detail))) return;
    }
}

}  // namespace

std::vector<DeadLetter> letters_of(Database& db, Sequence message) {
    std::vector<DeadLetter> all;
    Rows rows = db.query(sql::letters_of_message, message);
    while (rows.next()) all.push_back(read_letter(rows));
    return all;
}

Page<MessageSummary> browse(Session& session, const Filter& filter, const std::string& cursor,
                            std::uint32_t rows_max) {
    const ReadTransaction snapshot{session.db};
    Page<MessageSummary> page;
    Sequence last = 0;
    const std::int64_t from = detail::place_of_cursor(cursor, filter.oldest_first ? 0 : kNewest);
    each_message(session, filter, from, [&](const Place& place, StoreTime at) {
        if (page.items.size() >= std::max(rows_max, 1U)) {
            page.next = std::to_string(last);
            return false;
        }
        const MessageRow row = load_message(session, place.sequence);
        page.items.push_back({row.message, state_of(session.db, place), at, row.requeues});
        last = place.sequence;
        return true;
    });
    return page;
}

Page<DeadLetterDetail> dead_letters(Session& session, const Filter& filter,
                                    const std::string& cursor, std::uint32_t rows_max) {
    const ReadTransaction snapshot{session.db};
    Page<DeadLetterDetail> page;
    const std::int64_t after = detail::place_of_cursor(cursor, 0);
    each_letter(session, filter, after, [&](DeadLetterDetail detail) {
        if (page.items.size() >= std::max(rows_max, 1U)) {
            page.next = page.items.back().cursor;
            return false;
        }
        page.items.push_back(std::move(detail));
        return true;
    });
    return page;
}

std::optional<MessageDetail> get(Session& session, const Uuid& id) {
    const ReadTransaction snapshot{session.db};
    const auto place = place_of(session.db, id);
    if (!place) return std::nullopt;
    const MessageRow row = load_message(session, place->sequence);
    MessageDetail detail{
        .summary = {row.message, state_of(session.db, *place), row.appended_at, row.requeues}};
    for (OpenRow& open : open_rows(session.db, *place)) {
        open.entry.message = row.message;
        detail.open.push_back(std::move(open.entry));
    }
    detail.dead = letters_of(session.db, place->sequence);
    detail.attempts = attempts_of(session.db, place->sequence, id);
    return detail;
}

std::uint64_t count(Session& session, const Filter& filter) {
    if (filter == Filter{.state = Filter::State::done, .box = filter.box}) {
        // There is a row for each: no message is looked at.
        Rows rows = session.db.query(sql::count_done, filter.box);
        rows.next();
        return rows.number<std::uint64_t>(0);
    }
    const ReadTransaction snapshot{session.db};
    std::uint64_t found = 0;
    if (filter.state == Filter::State::dead) {
        each_letter(session, filter, 0, [&](const DeadLetterDetail&) { return ++found > 0; });
    } else {
        each_message(session, filter, filter.oldest_first ? 0 : kNewest,
                     [&](const Place&, StoreTime) { return ++found > 0; });
    }
    return found;
}

std::vector<BoxState> boxes(Database& db) {
    std::vector<BoxState> all;
    Rows rows = db.query(sql::list_boxes);
    while (rows.next()) {
        all.push_back({.name = rows.string(0),
                       .paused = rows.flag(1),
                       .open = rows.number<std::uint64_t>(2),
                       .parked = rows.number<std::uint64_t>(3)});
    }
    return all;
}

std::uint64_t waiting_for(Database& db, const Target& target) {
    const std::vector<Target> registry = targets(db);
    std::uint64_t waiting = 0;
    Rows rows = db.query(sql::ready_rows_of_box, target.box);
    while (rows.next()) {
        Message message;
        message.type = rows.text(12);
        message.source = rows.text(13);
        message.tenant = rows.text(14);
        if (detail::waits_for(target, open_row(rows).entry, message, registry)) ++waiting;
    }
    return waiting;
}

}  // namespace waybill::sqlite
