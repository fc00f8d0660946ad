#include <algorithm>
#include <limits>

#include "calls.hpp"
#include "core/asking.hpp"
#include "letters.hpp"

namespace waybill::postgres {
namespace {

constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();
/// Rows of one answer.
constexpr std::int32_t kPiece = 10'000;
/// Bodies of a page of a listing, in bytes.
constexpr std::uint64_t kListingBytesMax = std::numeric_limits<std::int64_t>::max();

/// For LIKE: `*` is any run of characters, everything else is itself.
std::string like(const std::string& pattern) {
    std::string out;
    for (const char letter : pattern.empty() ? std::string{"*"} : pattern) {
        if (letter == '*') {
            out.push_back('%');
            continue;
        }
        if (letter == '%' || letter == '_' || letter == '\\') out.push_back('\\');
        out.push_back(letter);
    }
    return out;
}

std::int16_t state_number(Filter::State state) {
    return static_cast<std::int16_t>(state);
}

std::vector<OpenRow> open_rows(Database& db, PartitionId partition, Sequence message) {
    std::vector<OpenRow> all;
    Rows rows = db.read(sql::open_rows_of_message, partition, message);
    while (rows.next()) all.push_back(open_row(rows));
    return all;
}

std::vector<Attempt> attempts_of(Database& db, Sequence message, const Uuid& id) {
    std::vector<Attempt> all;
    Rows rows = db.read(sql::attempts_of_message, message);
    while (rows.next()) {
        all.push_back({.message = id,
                       .target = rows.string(0),
                       .requeues = rows.number<std::uint32_t>(1),
                       .number = rows.number<std::uint32_t>(2),
                       .result = rows.number<Attempt::Result>(3),
                       .at = rows.time(4),
                       .took = Duration{rows.integer(5)},
                       .error = rows.string(6),
                       .detail = rows.string(7)});
    }
    return all;
}

/// Most are done, and who asks for others does not walk over them.
const sql::Query& statement_for(const Filter& filter) {
    if (filter.state == Filter::State::any || filter.state == Filter::State::done) {
        return filter.oldest_first ? sql::browse_oldest : sql::browse;
    }
    return filter.oldest_first ? sql::browse_unfinished_oldest : sql::browse_unfinished;
}

}  // namespace

Page<MessageSummary> browse(Session session, const Filter& filter, const std::string& cursor,
                            std::uint32_t rows_max) {
    const auto limit = std::max(rows_max, 1U);
    struct Line {
        MessageRef message;
        Filter::State state;
        StoreTime at;
        std::uint32_t requeues;
    };
    std::vector<Line> lines;
    {
        Rows rows = session.db.read(
            statement_for(filter),
            detail::place_of_cursor(cursor, filter.oldest_first ? 0 : kNewest), filter.since,
            filter.until, filter.box, like(filter.type), like(filter.source), like(filter.tenant),
            state_number(filter.state), filter.target, filter.reason, std::int64_t{limit} + 1);
        while (rows.next()) {
            lines.push_back({{rows.uuid(3), rows.integer(0)},
                             rows.number<Filter::State>(1),
                             rows.time(2),
                             rows.number<std::uint32_t>(4)});
        }
    }
    Page<MessageSummary> page;
    const bool has_more = lines.size() > limit;
    if (has_more) {
        lines.resize(limit);
        page.next = std::to_string(lines.back().message.sequence);
    }
    std::vector<MessageRef> wanted;
    for (const Line& line : lines) wanted.push_back(line.message);
    const auto messages = load_messages(session, wanted, kListingBytesMax);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        // One that was swept meanwhile is not there.
        if (messages[i].message == nullptr) continue;
        page.items.push_back({messages[i].message, lines[i].state, lines[i].at, lines[i].requeues});
    }
    return page;
}

Page<DeadLetterDetail> dead_letters(Session session, const Filter& filter,
                                    const std::string& cursor, std::uint32_t rows_max) {
    const auto limit = std::max(rows_max, 1U);
    Page<DeadLetterDetail> page;
    constexpr int kNumber = 8;
    constexpr int kMessage = 9;
    Rows rows =
        session.db.read(sql::letters_after, detail::place_of_cursor(cursor, 0), filter.since,
                        filter.until, filter.box, like(filter.type), like(filter.source),
                        like(filter.tenant), filter.target, filter.reason, std::int64_t{limit} + 1);
    while (rows.next()) {
        if (page.items.size() >= limit) {
            page.next = page.items.back().cursor;
            break;
        }
        page.items.push_back({.letter = read_letter(rows),
                              .message = message_row(session, rows, kMessage).message,
                              .cursor = std::to_string(rows.integer(kNumber))});
    }
    return page;
}

std::optional<MessageDetail> get(Session session, const Uuid& id) {
    Database& db = session.db;
    MessageRow message;
    MessageDetail detail;
    {
        Rows rows = db.read(sql::message_by_id, id);
        if (!rows.next()) return std::nullopt;
        message = message_row(session, rows, 1);
        detail.summary = {message.message, rows.number<Filter::State>(0), message.appended_at,
                          rows.number<std::uint32_t>(18)};
    }
    for (OpenRow& row : open_rows(db, message.partition, message.sequence)) {
        row.entry.message = message.message;
        detail.open.push_back(std::move(row.entry));
    }
    detail.dead = letters_of(db, message.sequence);
    detail.attempts = attempts_of(db, message.sequence, id);
    return detail;
}

std::uint64_t count(Database& db, const Filter& filter) {
    if (filter == Filter{.state = Filter::State::done, .box = filter.box}) {
        // There is a row for each: no message is looked at.
        Rows done = db.read(sql::count_done, filter.box);
        done.next();
        return done.number<std::uint64_t>(0);
    }
    const bool is_dead = filter.state == Filter::State::dead;
    Rows rows = is_dead ? db.read(sql::count_letters, filter.since, filter.until, filter.box,
                                  like(filter.type), like(filter.source), like(filter.tenant),
                                  filter.target, filter.reason)
                        : db.read(sql::count_messages, filter.since, filter.until, filter.box,
                                  like(filter.type), like(filter.source), like(filter.tenant),
                                  state_number(filter.state), filter.target, filter.reason);
    rows.next();
    return rows.number<std::uint64_t>(0);
}

std::vector<BoxState> boxes(Database& db) {
    std::vector<BoxState> all;
    Rows rows = db.read(sql::box_counts);
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
    Sequence after = 0;
    // In pieces: an answer is in memory as a whole.
    for (;;) {
        Rows rows = db.read(sql::ready_rows_of_box, target.box, after, kPiece);
        while (rows.next()) {
            const Entry row = open_row(rows).entry;
            const Message message{
                .type = rows.string(12), .source = rows.string(13), .tenant = rows.string(14)};
            if (detail::waits_for(target, row, message, registry)) ++waiting;
            after = row.sequence;
        }
        if (rows.count() < kPiece) return waiting;
    }
}

}  // namespace waybill::postgres
