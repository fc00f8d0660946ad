#include <algorithm>
#include <charconv>
#include <limits>

#include "calls.hpp"

namespace waybill::memory {
namespace {

/// One mutex makes the sequence the order of commit, so a position is the newest sequence seen.
Position encode(Sequence sequence) {
    return std::to_string(sequence);
}

Sequence decode(const Position& position) {
    Sequence sequence = 0;
    std::from_chars(position.data(), position.data() + position.size(), sequence);
    return sequence;
}

/// Fills a page up to its limits, with one row at least.
class PageFiller {
public:
    PageFiller(const ReadRequest& request, ReadPage& page) : request_(request), page_(page) {}

    /// False: the page is full, without this row.
    bool add(const Entry& entry) {
        const std::uint64_t row_bytes = sizeof(Entry) + entry.message->body.size();
        const std::size_t rows = page_.entries.size();
        if (rows > 0 && (rows >= request_.rows_max || bytes_ + row_bytes > request_.bytes_max)) {
            page_.more = true;
            return false;
        }
        bytes_ += row_bytes;
        page_.entries.push_back(entry);
        return true;
    }

private:
    const ReadRequest& request_;
    ReadPage& page_;
    std::uint64_t bytes_ = 0;
};

/// Ranges of several partitions, walked as one in the order of their keys.
template <class Iterator>
class Merge {
public:
    void add(Iterator begin, Iterator end) {
        if (begin == end) return;
        heads_.push_back({begin, end});
        std::ranges::push_heap(heads_, after);
    }
    bool empty() const { return heads_.empty(); }
    const auto& front() const { return *heads_.front().next; }
    void pop() {
        std::ranges::pop_heap(heads_, after);
        if (++heads_.back().next == heads_.back().end) {
            heads_.pop_back();
        } else {
            std::ranges::push_heap(heads_, after);
        }
    }

private:
    struct Head {
        Iterator next;
        Iterator end;
    };
    static bool after(const Head& a, const Head& b) { return a.next->first > b.next->first; }

    std::vector<Head> heads_{};
};

std::vector<Partition*> asked(Tables& tables, const ReadRequest& request) {
    std::vector<PartitionId> ids = request.partitions;
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::vector<Partition*> partitions;
    for (const PartitionId id : ids) {
        if (Partition* partition = tables.partition(id)) partitions.push_back(partition);
    }
    return partitions;
}

void read_increment(Tables& tables, const ReadRequest& request, ReadPage& page) {
    const std::vector<Partition*> partitions = asked(tables, request);
    for (const Partition* partition : partitions) {
        for (const auto& [id, command] : partition->commands) page.commands.push_back(command);
    }
    page.complete_through = tables.last_sequence;
    page.position = encode(tables.last_sequence);
    if (request.position.empty()) return;

    Merge<OpenWork::Rows::const_iterator> rows;
    const Sequence seen = std::max(decode(request.position), request.known_through);
    for (const Partition* partition : partitions) {
        const OpenWork::Rows& ready = partition->work.ready();
        rows.add(ready.upper_bound(seen), ready.end());
    }
    PageFiller filler{request, page};
    for (; !rows.empty(); rows.pop()) {
        if (filler.add(rows.front().second.entry)) continue;
        page.complete_through = page.entries.back().sequence;
        page.position = encode(page.entries.back().sequence);
        return;
    }
}

void read_rows(const OpenWork::Rows& rows, const ReadRequest& request, ReadPage& page) {
    PageFiller filler{request, page};
    for (auto row = rows.upper_bound(request.after); row != rows.end(); ++row) {
        if (!filler.add(row->second.entry)) return;
    }
}

void read_due(Tables& tables, const ReadRequest& request, ReadPage& page) {
    Merge<OpenWork::DueIndex::const_iterator> index;
    for (const Partition* partition : asked(tables, request)) {
        const OpenWork::DueIndex& due = partition->work.due();
        const auto begin = due.upper_bound({request.due_from, request.after});
        const auto end = due.upper_bound({request.due_until, std::numeric_limits<Sequence>::max()});
        if (request.due_from <= request.due_until) index.add(begin, end);
    }
    PageFiller filler{request, page};
    for (; !index.empty(); index.pop()) {
        if (!filler.add(index.front().second->entry)) return;
    }
}

void read_lanes(Tables& tables, const ReadRequest& request, ReadPage& page) {
    PageFiller filler{request, page};
    for (const LaneRef& wanted : request.lanes) {
        const Partition* partition = tables.partition(wanted.partition);
        if (partition == nullptr) continue;
        for (const Row* row :
             partition->work.lane_from(wanted.lane, wanted.from, request.lane_rows)) {
            if (!filler.add(row->entry)) return;
        }
    }
}

}  // namespace

ReadPage read(Tables& tables, StoreTime now, const ReadRequest& request) {
    ReadPage page{.generation = generation, .now = now};
    Partition* partition = tables.partition(request.partition);
    switch (request.kind) {
        case ReadRequest::Kind::increment: read_increment(tables, request, page); break;
        case ReadRequest::Kind::scan:
            if (partition != nullptr) read_rows(partition->work.ready(), request, page);
            break;
        case ReadRequest::Kind::parked:
            if (partition != nullptr) read_rows(partition->work.parked(), request, page);
            break;
        case ReadRequest::Kind::due: read_due(tables, request, page); break;
        case ReadRequest::Kind::lanes: read_lanes(tables, request, page); break;
    }
    return page;
}

}  // namespace waybill::memory
