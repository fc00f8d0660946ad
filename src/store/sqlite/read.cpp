#include <algorithm>
#include <charconv>
#include <deque>
#include <limits>

#include "calls.hpp"
#include "lanes.hpp"

namespace waybill::sqlite {
namespace {

/// The write lock is held from drawing a sequence to its commit, so that their order is the order of
/// commit, and a position is the newest sequence seen.
Position encode(Sequence sequence) {
    return std::to_string(sequence);
}

Sequence decode(const Position& position) {
    Sequence sequence = 0;
    std::from_chars(position.data(), position.data() + position.size(), sequence);
    return sequence;
}

Sequence last_sequence(Database& db) {
    Rows rows = db.query(sql::last_sequence);
    return rows.next() ? rows.integer(0) : 0;
}

/// Where messages come from: memory if they have just been appended here, else their table.
struct Source {
    Session& session;
    RecentMessages& recent;

    void load(OpenRow& row) {
        Entry& entry = row.entry;
        entry.message = recent.take(row.message);
        if (entry.message == nullptr) entry.message = load_message(session, row.message).message;
        if (entry.message != nullptr) return;
        auto stub = std::make_shared<Message>();
        stub->id = row.id;
        stub->box = session.box_of(entry.partition).name;
        entry.message = std::move(stub);
        entry.missing = true;
    }
};

/// Fills a page up to its limits, with one row at least.
class PageFiller {
public:
    PageFiller(Source& source, const ReadRequest& request, ReadPage& page)
        : source_(source), request_(request), page_(page) {}

    /// No row more fits by number: saves reading its body.
    bool is_full() const {
        return !page_.entries.empty() && page_.entries.size() >= request_.rows_max;
    }
    /// False: the page is full, without this row.
    bool add(OpenRow row) {
        if (is_full()) return refuse();
        source_.load(row);
        return add_loaded(std::move(row.entry));
    }
    bool add_loaded(Entry entry) {
        const std::uint64_t row_bytes = sizeof(Entry) + entry.message->body.size();
        if (is_full() || (!page_.entries.empty() && bytes_ + row_bytes > request_.bytes_max)) {
            return refuse();
        }
        bytes_ += row_bytes;
        page_.entries.push_back(std::move(entry));
        return true;
    }

private:
    bool refuse() {
        page_.more = true;
        return false;
    }

    Source& source_;
    const ReadRequest& request_;
    ReadPage& page_;
    std::uint64_t bytes_ = 0;
};

/// The rows of one partition in their order, fetched a chunk at a time: the statement is shared with
/// the other partitions that are walked at the same time.
class PartitionRows {
public:
    using Key = std::pair<StoreTime, Sequence>;

    PartitionRows(PartitionId partition, const ReadRequest& request, Key after, std::size_t chunk)
        : partition_(partition),
          is_due_(request.kind == ReadRequest::Kind::due),
          is_parked_(request.kind == ReadRequest::Kind::parked),
          due_until_(request.due_until),
          after_(after),
          chunk_(chunk) {}

    /// Whether there is a front.
    bool load(Database& db) {
        if (!rows_.empty()) return true;
        if (at_end_) return false;
        Rows rows = is_due_
                        ? db.query(sql::read_due, partition_, after_.first, after_.second,
                                   due_until_, chunk_)
                        : db.query(sql::read_rows, partition_, is_parked_, after_.second, chunk_);
        while (rows.next()) rows_.push_back(open_row(rows));
        at_end_ = rows_.size() < chunk_;
        if (!rows_.empty()) after_ = key_of(rows_.back());
        return !rows_.empty();
    }
    Key key() const { return key_of(rows_.front()); }
    OpenRow take() {
        OpenRow row = std::move(rows_.front());
        rows_.pop_front();
        return row;
    }

private:
    Key key_of(const OpenRow& row) const {
        return {is_due_ ? row.entry.due : StoreTime{}, row.entry.sequence};
    }

    PartitionId partition_;
    bool is_due_;
    bool is_parked_;
    StoreTime due_until_;
    Key after_;
    std::size_t chunk_;
    bool at_end_ = false;
    std::deque<OpenRow> rows_{};
};

/// Walks partitions as one, in the order of their keys, until the page is full.
void fill(Source& source, std::vector<PartitionId> partitions, const ReadRequest& request,
          PartitionRows::Key after, ReadPage& page) {
    Database& db = source.session.db;
    std::ranges::sort(partitions);
    partitions.erase(std::unique(partitions.begin(), partitions.end()), partitions.end());
    if (partitions.empty()) return;
    // One more than fits tells that there is more.
    const std::size_t chunk = request.rows_max / partitions.size() + 1;
    const auto later_first = [](const PartitionRows& a, const PartitionRows& b) {
        return a.key() > b.key();
    };
    std::vector<PartitionRows> heads;
    for (const PartitionId partition : partitions) {
        PartitionRows rows{partition, request, after, chunk};
        if (rows.load(db)) heads.push_back(std::move(rows));
    }
    std::ranges::make_heap(heads, later_first);

    PageFiller filler{source, request, page};
    while (!heads.empty()) {
        std::ranges::pop_heap(heads, later_first);
        PartitionRows& first = heads.back();
        if (!filler.add(first.take())) return;
        if (first.load(db)) {
            std::ranges::push_heap(heads, later_first);
        } else {
            heads.pop_back();
        }
    }
}

void read_commands(Database& db, std::span<const PartitionId> partitions, ReadPage& page) {
    for (const PartitionId partition : partitions) {
        Rows rows = db.query(sql::commands_waiting, partition);
        while (rows.next()) {
            page.commands.push_back({.id = rows.number<std::uint64_t>(0),
                                     .partition = rows.number<PartitionId>(1),
                                     .kind = static_cast<Command::Kind>(rows.integer(2)),
                                     .message = rows.uuid(3),
                                     .sequence = rows.integer(4),
                                     .target = rows.string(5)});
        }
    }
}

void read_increment(Source& source, const ReadRequest& request, ReadPage& page) {
    Sequence complete = last_sequence(source.session.db);
    read_commands(source.session.db, request.partitions, page);
    if (!request.position.empty()) {
        source.recent.forget_through(request.known_through);
        const Sequence seen = std::max(decode(request.position), request.known_through);
        fill(source, request.partitions, request, {StoreTime{}, seen}, page);
        if (page.more) complete = page.entries.back().sequence;
    }
    page.complete_through = complete;
    page.position = encode(complete);
}

void read_lanes(Source& source, const ReadRequest& request, ReadPage& page) {
    PageFiller filler{source, request, page};
    LaneRows lanes{source.session};
    for (const LaneRef& wanted : request.lanes) {
        std::uint32_t left = request.lane_rows;
        lanes.each(wanted, [&](OpenRow row) {
            if (left == 0) return false;
            source.load(row);
            if (row.entry.message->lane != wanted.lane) return true;
            --left;
            return filler.add_loaded(std::move(row.entry));
        });
        if (page.more) return;
    }
}

}  // namespace

ReadPage read(Session& session, StoreTime now, const ReadRequest& request, RecentMessages& recent) {
    Source source{session, recent};
    const ReadTransaction snapshot{session.db};
    ReadPage page{.generation = session.generation(), .now = now};
    switch (request.kind) {
        case ReadRequest::Kind::increment: read_increment(source, request, page); break;
        case ReadRequest::Kind::scan:
        case ReadRequest::Kind::parked:
            fill(source, {request.partition}, request, {StoreTime{}, request.after}, page);
            break;
        case ReadRequest::Kind::due:
            fill(source, request.partitions, request, {request.due_from, request.after}, page);
            break;
        case ReadRequest::Kind::lanes: read_lanes(source, request, page); break;
    }
    return page;
}

}  // namespace waybill::sqlite
