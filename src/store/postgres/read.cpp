#include <algorithm>
#include <charconv>

#include "calls.hpp"
#include "waybill/system.hpp"

/// What is new is what was not visible in one snapshot and is in a later one. A sequence is drawn
/// before its transaction commits, so that "larger than the last I saw" would skip late committers for
/// ever.
namespace waybill::postgres {
namespace {

/// The snapshot that everything is known of; and while an increment is read page by page, the one it is
/// read up to, fixed by its first page, and the last sequence so far.
struct Place {
    std::string known{};
    std::string up_to{};
    Sequence after = 0;
};

Position encode(const Place& place) {
    if (place.up_to.empty()) return place.known;
    return place.known + "/" + place.up_to + "/" + std::to_string(place.after);
}

Place decode(const Position& position) {
    const std::size_t first = position.find('/');
    if (first == std::string::npos) return {.known = position};
    const std::size_t second = position.find('/', first + 1);
    Place place{.known = position.substr(0, first),
                .up_to = position.substr(first + 1, second - first - 1)};
    std::from_chars(position.data() + second + 1, position.data() + position.size(), place.after);
    return place;
}

/// The first transaction that had not begun yet.
std::uint64_t end_of(const std::string& snapshot) {
    std::uint64_t value = 0;
    const std::size_t from = snapshot.find(':') + 1;
    std::from_chars(snapshot.data() + from, snapshot.data() + snapshot.size(), value);
    return value;
}

constexpr int kRow = 4;           ///< the first column of the row; before it is what the page tells
constexpr int kMore = kRow + 12;  ///< of a further page, behind the row

struct RowsFound {
    std::vector<OpenRow> rows{};
    std::string snapshot{};
    bool has_commands = false;
    /// Told by a further page: there is more behind its last row.
    bool more = false;
};

RowsFound take_rows(Rows rows, ReadPage& page) {
    RowsFound found;
    while (rows.next()) {
        if (!rows.is_null(0)) {
            found.snapshot = rows.string(0);
            page.now = rows.time(1);
            page.generation = rows.string(2);
            found.has_commands = rows.flag(3);
            found.more = rows.columns() > kMore && rows.flag(kMore);
        }
        if (!rows.is_null(kRow + 1)) found.rows.push_back(open_row(rows, kRow));
    }
    return found;
}

/// The messages of rows: those that were appended here just now, the others from the database. As many as
/// the page holds, one at least.
std::vector<MessagePtr> messages_of(Session session, const std::vector<OpenRow>& rows,
                                    std::uint64_t bytes_max) {
    std::vector<MessagePtr> known;
    std::vector<MessageRef> wanted;
    std::uint64_t taken = 0;
    for (const OpenRow& row : rows) {
        if (taken > bytes_max) break;  // what is taken is not there for the next page
        known.push_back(session.recent == nullptr ? nullptr : session.recent->take(row.message));
        if (known.back() == nullptr) {
            wanted.push_back({row.id, row.message});
        } else {
            taken += sizeof(Entry) + known.back()->body.size();
        }
    }
    std::vector<MessageRow> loaded;
    if (!wanted.empty()) loaded = load_messages(session, wanted, bytes_max);
    auto next = loaded.begin();
    std::vector<MessagePtr> all;
    std::uint64_t bytes = 0;
    for (MessagePtr& message : known) {
        const bool is_here = message != nullptr;
        if (!is_here && next == loaded.end()) break;
        MessagePtr one = is_here ? std::move(message) : std::move((next++)->message);
        bytes += sizeof(Entry) + (one == nullptr ? 0 : one->body.size());
        if (!all.empty() && bytes > bytes_max) break;
        all.push_back(std::move(one));
    }
    return all;
}

/// Fills the page with rows and their messages, up to its limits, with one row at least.
void fill(Session session, std::vector<OpenRow> rows, const ReadRequest& request, ReadPage& page) {
    const std::size_t rows_max = std::max<std::size_t>(request.rows_max, 1);
    page.more = rows.size() > rows_max;
    if (page.more) rows.resize(rows_max);
    if (rows.empty()) return;
    std::vector<MessagePtr> messages = messages_of(session, rows, request.bytes_max);
    page.more = page.more || messages.size() < rows.size();
    for (std::size_t i = 0; i < messages.size(); ++i) {
        Entry& entry = rows[i].entry;
        entry.message = std::move(messages[i]);
        if (entry.message == nullptr) {
            auto stub = std::make_shared<Message>();
            stub->id = rows[i].id;
            stub->box = session.boxes.box_of(session.db, entry.partition).name;
            entry.message = std::move(stub);
            entry.missing = true;
        }
        page.entries.push_back(std::move(entry));
    }
}

Ints unique(std::vector<PartitionId> partitions) {
    std::ranges::sort(partitions);
    partitions.erase(std::unique(partitions.begin(), partitions.end()), partitions.end());
    Ints column;
    for (const PartitionId partition : partitions) column.add(partition);
    return column;
}

/// One more than fits tells that there is more.
std::int32_t limit_of(const ReadRequest& request) {
    return static_cast<std::int32_t>(std::min<std::uint32_t>(request.rows_max, 100'000) + 1);
}

/// Twice its share of a page, for partitions are not filled alike.
std::int32_t rows_of_each(const ReadRequest& request) {
    const auto partitions =
        static_cast<std::int32_t>(std::max<std::size_t>(request.partitions.size(), 1));
    return std::min(limit_of(request), 2 * limit_of(request) / partitions + 16);
}

void read_commands(Database& db, const Ints& partitions, ReadPage& page) {
    Rows rows = db.read(sql::commands_waiting, partitions);
    while (rows.next()) {
        page.commands.push_back({.id = rows.number<std::uint64_t>(0),
                                 .partition = rows.number<PartitionId>(1),
                                 .kind = rows.number<Command::Kind>(2),
                                 .message = rows.uuid(3),
                                 .sequence = rows.integer(4),
                                 .target = rows.string(5)});
    }
}

void read_increment(Session session, const ReadRequest& request, ReadPage& page) {
    Database& db = session.db;
    const Ints partitions = unique(request.partitions);
    Place place = decode(request.position);
    const bool is_first = place.up_to.empty();
    Texts known;
    for (const std::uint64_t transaction : request.known) known.add(std::to_string(transaction));
    RowsFound found;
    if (place.known.empty()) {
        found = take_rows(db.read(sql::read_position, partitions), page);
        page.position = found.snapshot;
    } else if (is_first) {
        found = take_rows(db.read(sql::read_new, partitions, place.known, limit_of(request), known),
                          page);
        const auto sequence = [](const OpenRow& row) { return row.entry.sequence; };
        if (!std::ranges::is_sorted(found.rows, {}, sequence)) {
            std::ranges::sort(found.rows, {}, sequence);
        }
        place.up_to = found.snapshot;
        // The database is not the one that gave us the position: everything is read anew.
        page.reconnected = end_of(found.snapshot) < end_of(place.known);
    } else {
        found = take_rows(db.read(sql::read_new_next, partitions, place.known, place.up_to,
                                  place.after, limit_of(request), rows_of_each(request), known),
                          page);
    }
    if (found.has_commands) read_commands(db, partitions, page);
    if (place.known.empty()) return;
    fill(session, std::move(found.rows), request, page);
    page.more = page.more || found.more;
    if (page.more) {
        place.after = page.entries.back().sequence;
    } else {
        place = {.known = place.up_to};
    }
    page.position = encode(place);
}

/// Rows that may be beside the list of lanes, for they are looked through with every read, and sequences that may have been
/// drawn since. When it was brought up to date just now, as many as may have come meanwhile: more would mean to do it again, and
/// again.
constexpr std::int32_t kUnlistedMax = 2'048;
constexpr std::int32_t kUnlistedMeanwhileMax = 200'000;
constexpr std::int64_t kDrawnMeanwhileMax = 10'000'000;
/// How many rows a step of listing looks at, which is a tenth of a second.
constexpr std::int64_t kListedAtOnce = 20'000;
/// What part of a call's time may go into listing before its caller has something else to do.
constexpr int kListingPart = 10;

/// False: there is more to list than there is time.
bool list_lanes(Database& db, LocalTime until) {
    for (;;) {
        Rows rows = db.read(sql::list_lanes, kListedAtOnce);
        rows.next();
        if (rows.flag(0)) return true;
        if (system_clock().now() >= until) return false;
    }
}

void read_lanes(Session session, const ReadRequest& request, ReadPage& page) {
    Ints partitions;
    Texts lanes;
    Longs numbers;
    Longs first;
    for (const LaneRef& wanted : request.lanes) {
        partitions.add(wanted.partition);
        lanes.add(wanted.lane);
        numbers.add(lane_number(wanted.lane));
        first.add(wanted.from);
    }
    const auto lane_rows = static_cast<std::int32_t>(request.lane_rows);
    const auto read = [&](std::int32_t unlisted_max, std::int64_t drawn_max) {
        return take_rows(session.db.read(sql::read_lanes, partitions, lanes, numbers, first,
                                         lane_rows, limit_of(request), unlisted_max, drawn_max),
                         page);
    };
    RowsFound found = read(kUnlistedMax, kListedAtOnce);
    if (found.more) {
        const LocalTime until = later(system_clock().now(), session.db.deadline() / kListingPart);
        if (list_lanes(session.db, until)) found = read(kUnlistedMeanwhileMax, kDrawnMeanwhileMax);
    }
    if (found.more) {
        page.more = true;  // nothing yet
        return;
    }
    fill(session, std::move(found.rows), request, page);
}

void read_rows(Session session, const ReadRequest& request, ReadPage& page) {
    const bool is_parked = request.kind == ReadRequest::Kind::parked;
    RowsFound found = take_rows(session.db.read(sql::read_rows, request.partition, is_parked,
                                                request.after, limit_of(request)),
                                page);
    fill(session, std::move(found.rows), request, page);
}

void read_due(Session session, const ReadRequest& request, ReadPage& page) {
    RowsFound found =
        take_rows(session.db.read(sql::read_due, unique(request.partitions), request.due_from,
                                  request.after, request.due_until, limit_of(request)),
                  page);
    fill(session, std::move(found.rows), request, page);
}

}  // namespace

ReadPage read(Session session, const ReadRequest& request) {
    ReadPage page;
    switch (request.kind) {
        case ReadRequest::Kind::increment: read_increment(session, request, page); break;
        case ReadRequest::Kind::scan:
        case ReadRequest::Kind::parked: read_rows(session, request, page); break;
        case ReadRequest::Kind::due: read_due(session, request, page); break;
        case ReadRequest::Kind::lanes: read_lanes(session, request, page); break;
    }
    return page;
}

}  // namespace waybill::postgres
