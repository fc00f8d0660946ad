#include <algorithm>
#include <array>

#include "core/engine/machine.hpp"

/// What to ask the store next, and what its pages mean.
namespace waybill::engine {

using namespace std::chrono_literals;
using Kind = ReadRequest::Kind;

/// The kinds take turns, so that none starves another: a stream of new messages must not keep a
/// backlog from being read, nor the other way round.
std::optional<ReadRequest> Machine::next_read() {
    if (owned_.empty() || stopping_ || resigned_ || beat_.peers.empty()) {
        return std::nullopt;
    }
    using Choice = bool (Machine::*)(ReadRequest&);
    static constexpr std::array<Choice, 7> kChoices{&Machine::read_increment, &Machine::read_lanes,
                                                    &Machine::read_due,       &Machine::read_scan,
                                                    &Machine::read_row,       &Machine::read_parked,
                                                    &Machine::read_reconcile};
    for (std::uint32_t i = 0; i < kChoices.size(); ++i) {
        // Without a position nothing else may be read: increments must overlap the scans.
        const std::uint32_t turn =
            position_.empty() ? 0 : (read_turn_ + i) % static_cast<std::uint32_t>(kChoices.size());
        ReadRequest request;
        request.rows_max = config_.options.page_rows;
        request.bytes_max = config_.options.page_bytes;
        if ((this->*kChoices[turn])(request)) {
            read_turn_ = turn + 1;
            return request;
        }
        if (position_.empty()) {
            return std::nullopt;
        }
    }
    return std::nullopt;
}

/// It goes out, or its answer has come. What it brings may be finished before a hand-over of it
/// arrives; only of an increment one can see that: by the sequence, or by what it brought.
void Machine::note_read(const ReadRequest& request) {
    ++reads_issued_;
    const bool is_increment = request.kind == Kind::increment && !request.position.empty();
    if (is_increment && known_through_) {
        return;
    }
    brought_.count(is_increment);
}

/// No chain of ours waits for a scan.
bool Machine::is_caught_up(const Partition& partition) const {
    const Routes& routes = boxes_[partition.box]->routes;
    for (std::uint32_t chain = 0; chain < partition.cursors.size(); ++chain) {
        if (partition.cursors[chain] != tail && routes.chain_is_local(chain)) {
            return false;
        }
    }
    return partition.scanned;
}

/// Where something happens, more may: also from others, whose hint was lost.
void Machine::poll_soon() {
    poll_pause_ = config_.options.poll_active;
    poll_at_ = std::min(poll_at_, now_ + poll_pause_);
}

bool Machine::read_increment(ReadRequest& request) {
    if (!increment_wanted_ && now_ < poll_at_) {
        return false;
    }
    increment_wanted_ = false;
    request.kind = Kind::increment;
    request.position = position_;
    request.known_through = known_through_.value_or(0);
    request.known = handed_.known();
    if (increment_began_ == 0) {
        handed_.increment_begins();
        request.rows_max = config_.options.increment_rows;
    }
    for (const auto& [id, partition] : owned_) {
        request.partitions.push_back(id);
    }
    return true;
}

bool Machine::read_due(ReadRequest& request) {
    const StoreTime until = store_now() + due_lead_;
    const bool in_the_middle = due_after_ != tail;
    if (until <= due_horizon_ || (!in_the_middle && store_now() < due_horizon_ - due_lead_ / 2) ||
        (!due_lags() && !has_slack())) {
        return false;
    }
    request.kind = Kind::due;
    request.due_from = due_horizon_;
    request.after = due_after_;
    request.due_until = until;
    for (const auto& [id, partition] : owned_) {
        request.partitions.push_back(id);
    }
    return true;
}

/// Something may be due in the store that memory does not know of.
bool Machine::due_lags() const {
    return due_horizon_ < store_now();
}

/// The partition that is furthest behind, in sequence order from there. This is the first scan of a
/// partition just taken as well as the catching up of a chain that left memory.
bool Machine::read_scan(ReadRequest& request) {
    Sequence from = tail;
    for (const auto& [id, partition] : owned_) {
        const BoxState& box = *boxes_[partition->box];
        Sequence cursor = partition->scanned ? tail : partition->scan_from;
        for (std::uint32_t chain = 0; chain < partition->cursors.size(); ++chain) {
            if (reads_on(box, chain)) {
                cursor = std::min(cursor, partition->cursors[chain]);
            }
        }
        if (cursor < from) {
            from = cursor;
            request.partition = id;
        }
    }
    if (from == tail || !has_slack()) {
        return false;
    }
    request.kind = Kind::scan;
    request.after = from;
    return true;
}

bool Machine::read_parked(ReadRequest& request) {
    for (const auto& [id, partition] : owned_) {
        if (partition->scanned && partition->parked_cursor != tail && has_slack()) {
            request.kind = Kind::parked;
            request.partition = id;
            request.after = partition->parked_cursor;
            return true;
        }
    }
    return false;
}

/// A command for a row that is not in memory.
bool Machine::read_row(ReadRequest& request) {
    if (waiting_commands_.empty()) {
        return false;
    }
    const Command& command = waiting_commands_.front();
    request.kind = Kind::scan;
    request.partition = command.partition;
    request.after = command.sequence - 1;
    request.rows_max = 1;
    row_read_ = true;
    row_command_ = command.id;
    return true;
}

Partition* Machine::current(PartitionId id) {
    Partition* partition = find_partition(id);
    const auto epoch = read_epochs_.find(id);
    const bool same = partition != nullptr && epoch != read_epochs_.end() &&
                      epoch->second == partition->token.epoch;
    return same ? partition : nullptr;
}

void Machine::on_page(const ReadRequest& request, ReadPage page) {
    const bool row_read = std::exchange(row_read_, false);
    const bool reconcile_read = std::exchange(reconcile_read_, false);
    if (!generation_.empty() && page.generation != generation_) {
        generation_ = page.generation;
        return void_everything("the store is on another timeline");
    }
    if (page.reconnected) {
        return read_everything_again();
    }
    switch (request.kind) {
        case Kind::increment: return on_increment(page);
        case Kind::due: return on_due(request, page);
        case Kind::lanes: return on_lanes(page);
        case Kind::parked: return on_parked(request, page);
        case Kind::scan:
            return row_read         ? on_row(page)
                   : reconcile_read ? on_reconcile(request, page)
                                    : on_scan(request, page);
    }
}

/// A new connection may have missed what the old one was asked. Tokens are still good, and memory
/// wins over a copy that is read again, so nothing that runs is disturbed.
void Machine::read_everything_again() {
    emit({.kind = Event::Kind::rescan, .text = "the reader reconnected"});
    position_.clear();
    known_through_.reset();
    handed_.clear();
    increment_began_ = 0;
    increment_wanted_ = true;
    for (LaneRead& read : lanes_asked_) {
        lane_reads_.push_back(std::move(read));
    }
    lanes_asked_.clear();
    for (auto& [id, partition] : owned_) {
        std::ranges::fill(partition->cursors, 0);
        partition->scan_from = 0;
        partition->scanned = false;
        partition->parked_cursor = 0;
    }
}

void Machine::on_increment(ReadPage& page) {
    const bool first = position_.empty();
    position_ = std::move(page.position);
    const bool is_in_order = known_through_.has_value();
    known_through_ = std::max(known_through_, page.complete_through);  // nothing is the least
    if (!is_in_order && !page.entries.empty()) {
        std::vector<Sequence> sequences;
        sequences.reserve(page.entries.size());
        for (const Entry& entry : page.entries) {
            sequences.push_back(entry.sequence);
        }
        brought_.add(std::move(sequences));
    }
    for (Entry& entry : page.entries) {
        if (Partition* partition = current(entry.partition)) {
            load(*partition, entry, Via::increment);
        }
    }
    for (const Command& command : page.commands) {
        if (current(command.partition) != nullptr) {
            on_command(command);
        }
    }
    if (increment_began_ == 0) {
        increment_began_ = reads_issued_;
    }
    if (!page.more) {
        suspects_.increment_ended(increment_began_);
        prove_lanes(std::exchange(increment_began_, 0));
        handed_.increment_ends();
    }
    const bool busy = page.more || !page.entries.empty();
    increment_wanted_ = increment_wanted_ || page.more || first;
    poll_pause_ =
        busy ? config_.options.poll_active : std::min(poll_pause_ * 2, config_.options.poll_idle);
    poll_at_ = now_ + poll_pause_;
}

void Machine::on_scan(const ReadRequest& request, ReadPage& page) {
    Partition* partition = current(request.partition);
    if (partition == nullptr) {
        return;
    }
    // The chains this page serves, and how far. One that is further behind is not among them, and
    // one that loses memory on the way (its cursor moves back) leaves.
    std::vector<Sequence> covered(partition->cursors.size());
    scan_serves_.resize(covered.size());
    for (std::uint32_t chain = 0; chain < covered.size(); ++chain) {
        const Sequence cursor = partition->cursors[chain];
        scan_serves_[chain] = cursor >= request.after &&
                              (cursor == tail || !rests(boxes_[partition->box]->targets[chain]));
        covered[chain] = scan_serves_[chain] ? cursor : -1;
    }
    const auto pass = [&](Sequence sequence) {
        for (std::size_t chain = 0; chain < covered.size(); ++chain) {
            if (covered[chain] == partition->cursors[chain]) {
                covered[chain] = partition->cursors[chain] = std::max(covered[chain], sequence);
            }
        }
        if (partition->scan_from >= request.after) {
            partition->scan_from = std::max(partition->scan_from, sequence);
        }
    };
    const std::vector<Sequence> before = partition->cursors;
    bool refused = false;
    for (Entry& entry : page.entries) {
        const Sequence sequence = entry.sequence;
        refused = load(*partition, entry, Via::scan) == Loaded::refused;
        if (refused) {
            break;
        }
        pass(sequence);
    }
    if (!refused && !page.more) {
        pass(tail);
    }
    for (const Entry& entry : page.entries) {
        // What was in memory already may be sure of its place now.
        const auto known = partition->works.find(entry.sequence);
        if (known != partition->works.end()) {
            for (const std::uint32_t chain : chains_of(known->second.deliveries)) {
                advance(known->second, chain);
            }
        }
    }
    if (!partition->scanned && partition->scan_from == tail) {
        partition->scanned = true;
        emit({.kind = Event::Kind::scanned, .partition = partition->id});
    }
    for (std::uint32_t chain = 0; chain < before.size(); ++chain) {
        if (before[chain] != tail && partition->cursors[chain] == tail) {
            emit({.kind = Event::Kind::caught_up, .partition = partition->id, .count = chain});
        }
    }
}

void Machine::on_due(const ReadRequest& request, ReadPage& page) {
    if (due_horizon_ != request.due_from || due_after_ != request.after) {
        return;  // making room brought it nearer meanwhile: it is read again from there
    }
    for (Entry& entry : page.entries) {
        const StoreTime due = entry.due;
        const Sequence sequence = entry.sequence;
        // The horizon moves first: the row is inside it from now on.
        const StoreTime horizon = std::exchange(due_horizon_, due);
        const Sequence after = std::exchange(due_after_, sequence);
        Partition* partition = current(entry.partition);
        const bool refused =
            partition != nullptr && load(*partition, entry, Via::due) == Loaded::refused;
        if (due_horizon_ < due) {
            return;  // making room brought it nearer: it goes on from there
        }
        if (refused) {
            // It is not due yet, and all before it are in.
            due_horizon_ = std::max(horizon, due - 1us);
            due_after_ = due_horizon_ == horizon ? after : tail;
            return;
        }
    }
    if (!page.more) {
        due_horizon_ = request.due_until;
        due_after_ = tail;
        if (window_used_ < config_.options.window_bytes / 4) {
            due_lead_ = std::min(due_lead_ * 2, config_.options.due_ahead);
        }
    }
}

void Machine::on_parked(const ReadRequest& request, ReadPage& page) {
    Partition* partition = current(request.partition);
    if (partition == nullptr || partition->parked_cursor != request.after) {
        return;  // the registry changed meanwhile: from the start again
    }
    for (Entry& entry : page.entries) {
        const Sequence sequence = entry.sequence;
        if (load(*partition, entry, Via::parked) == Loaded::refused) {
            return;
        }
        partition->parked_cursor = sequence;
    }
    if (!page.more) {
        partition->parked_cursor = tail;
    }
}

void Machine::on_row(ReadPage& page) {
    if (waiting_commands_.empty() || waiting_commands_.front().id != row_command_) {
        return;  // its partition was lost meanwhile
    }
    const Command command = waiting_commands_.front();
    waiting_commands_.pop_front();
    Partition* partition = current(command.partition);
    if (partition == nullptr) {
        return;
    }
    if (!page.entries.empty() && page.entries.front().sequence == command.sequence) {
        load(*partition, page.entries.front(), Via::forced);
    }
    const auto found = partition->works.find(command.sequence);
    carry_out(found == partition->works.end() ? nullptr : &found->second, command);
}

}  // namespace waybill::engine
