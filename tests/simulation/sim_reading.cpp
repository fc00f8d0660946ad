#include <algorithm>

#include "simulation/sim_store.hpp"

namespace waybill::sim {
namespace {

/// Fills a page up to its limits; says when it is full.
class Filler {
public:
    Filler(ReadPage& page, const ReadRequest& request) : page_(page), request_(request) {}

    bool is_full() const {
        return page_.entries.size() >= std::max<std::size_t>(request_.rows_max, 1) ||
               (!page_.entries.empty() && bytes_ >= request_.bytes_max);
    }
    void add(const Entry& entry) {
        page_.entries.push_back(entry);
        bytes_ += entry.message ? entry.message->body.size() + 100 : 100;
    }

private:
    ReadPage& page_;
    const ReadRequest& request_;
    std::uint64_t bytes_ = 0;
};

template <class T>
bool has(const std::vector<T>& all, T one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

Snapshot SimStore::snapshot(std::int32_t instance) const {
    Snapshot snapshot{.xmax = db_.next_xid};
    for (const auto& [id, tx] : transactions_) {
        // A transaction does not see itself as running.
        const bool is_own = instance >= 0 && tx.instance == instance;
        if (is_own && is(Mutation::snapshot_in_writing_transaction)) continue;
        snapshot.xip.push_back(tx.xid);
    }
    std::sort(snapshot.xip.begin(), snapshot.xip.end());
    return snapshot;
}

/// In order: what a transaction has drawn and not committed is the newest.
Sequence SimStore::committed_through() const {
    Sequence through = db_.next_sequence - 1;
    for (const auto& [id, tx] : transactions_) {
        if (!tx.rows.empty()) through = std::min(through, tx.rows.front().entry.sequence - 1);
    }
    return through;
}

ReadPage SimStore::increment(const ReadRequest& request, std::int32_t instance) {
    ReadPage page;
    for (const auto& [id, row] : db_.commands) {
        if (!row.result && has(request.partitions, row.command.partition)) {
            page.commands.push_back(row.command);
        }
    }
    const Snapshot now = snapshot(instance);
    if (request.position.empty()) {
        page.position = encode(ReadPlace{.s1 = now});
        if (is_in_order_) page.complete_through = committed_through();
        return page;
    }
    ReadPlace place = decode(request.position);
    const bool is_new_snapshot = !place.s2 || is(Mutation::page_without_s2);
    if (is_new_snapshot) place.s2 = now;

    std::map<Sequence, const OpenRow*> fresh;
    for (auto at = db_.by_stamp.lower_bound({place.s1.xmin(), 0}); at != db_.by_stamp.end(); ++at) {
        const auto& [stamp, sequence] = at->first;
        if (place.s1.sees(stamp) || !place.s2->sees(stamp) || sequence <= place.after) continue;
        if (sequence <= request.known_through || has(request.known, stamp)) continue;
        const OpenRow* row = db_.find_open(at->second, sequence);
        if (has(request.partitions, at->second) && !row->entry.parked) fresh[sequence] = row;
    }
    if (is(Mutation::read_uncommitted)) {
        for (const auto& [id, tx] : transactions_) {
            for (const OpenRow& row : tx.rows) {
                if (has(request.partitions, row.entry.partition)) fresh[row.entry.sequence] = &row;
            }
        }
    }
    Filler filler{page, request};
    for (const auto& [sequence, row] : fresh) {
        if (filler.is_full()) break;
        filler.add(row->entry);
        place.after = sequence;
    }
    page.more = filler.is_full();
    if (is_in_order_) {
        if (!page.entries.empty()) page.complete_through = page.entries.back().sequence;
        if (is_new_snapshot && !page.more) page.complete_through = committed_through();
        if (is(Mutation::complete_through_too_far)) page.complete_through = db_.next_sequence;
    } else if (is(Mutation::complete_through_out_of_order)) {
        page.complete_through = db_.next_sequence - 1;
    }
    const Sequence greatest = is(Mutation::cursor_by_sequence) ? place.after : 0;
    if (!page.more) place = {.s1 = *place.s2, .after = greatest};
    page.position = encode(place);
    return page;
}

ReadPage SimStore::scan(const ReadRequest& request, bool parked) {
    ReadPage page;
    if (parked && is(Mutation::parked_never_return)) return page;
    const auto rows = db_.open.find(request.partition);
    if (rows == db_.open.end()) return page;
    Filler filler{page, request};
    for (auto row = rows->second.upper_bound(request.after);
         row != rows->second.end() && !filler.is_full(); ++row) {
        if (row->second.entry.parked != parked) continue;
        filler.add(row->second.entry);
        if (is(Mutation::scan_forgets_halt)) page.entries.back().halted = false;
    }
    page.more = filler.is_full();
    return page;
}

ReadPage SimStore::due(const ReadRequest& request) {
    ReadPage page;
    std::map<std::pair<StoreTime, Sequence>, const OpenRow*> found;
    for (const PartitionId partition : request.partitions) {
        const auto rows = db_.open.find(partition);
        if (rows == db_.open.end()) continue;
        for (const auto& [sequence, row] : rows->second) {
            const std::pair key{row.entry.due, sequence};
            if (row.entry.parked || row.entry.due > request.due_until) continue;
            if (is(Mutation::due_read_skips_ties)) {
                if (row.entry.due > request.due_from) found[key] = &row;
            } else if (key > std::pair{request.due_from, request.after}) {
                found[key] = &row;
            }
        }
    }
    Filler filler{page, request};
    for (const auto& [key, row] : found) {
        if (filler.is_full()) break;
        filler.add(row->entry);
    }
    page.more = filler.is_full();
    return page;
}

ReadPage SimStore::lanes(const ReadRequest& request, Duration not_after) {
    ReadPage page;
    for (const LaneRef& lane : request.lanes) {
        const auto rows = db_.open.find(lane.partition);
        if (rows == db_.open.end()) continue;
        std::uint32_t count = 0;
        for (auto row = rows->second.lower_bound(lane.from);
             row != rows->second.end() && count < request.lane_rows; ++row) {
            const Entry& entry = row->second.entry;
            if (entry.parked || entry.message->lane != lane.lane) continue;
            if (row->second.committed > not_after) continue;
            page.entries.push_back(entry);
            ++count;
        }
    }
    return page;
}

ReadPage SimStore::read(const ReadRequest& request, std::int32_t instance) {
    ReadPage page;
    switch (request.kind) {
        case ReadRequest::Kind::increment: page = increment(request, instance); break;
        case ReadRequest::Kind::scan: page = scan(request, false); break;
        case ReadRequest::Kind::due: page = due(request); break;
        case ReadRequest::Kind::lanes:
            // A store that has to find out first what is in a lane says so now and then.
            if (!is_in_order_ && ++lane_reads_ % 3 == 1) {
                page.more = true;
            } else {
                page = lanes(request, now_);
            }
            break;
        case ReadRequest::Kind::parked: page = scan(request, true); break;
    }
    page.generation = generation();
    page.now = clock(now_);
    return page;
}

ReadPage SimStore::read_old_lanes(const ReadRequest& request, Duration age) {
    ReadPage page = lanes(request, now_ - age);
    page.generation = generation();
    page.now = clock(now_);
    return page;
}

}  // namespace waybill::sim
