#include "tables.hpp"

#include <algorithm>

namespace waybill::memory {

std::vector<const Row*> OpenWork::lane_from(const std::string& name, Sequence from,
                                            std::size_t rows_max) const {
    std::vector<const Row*> rows;
    const auto found = lanes_.find(name);
    if (found == lanes_.end()) return rows;
    const SequenceQueue<Row>& lane = found->second;
    for (std::size_t i = lane.place_from(from); i < lane.size() && rows.size() < rows_max; ++i) {
        rows.push_back(lane[i]);
    }
    return rows;
}

Row* OpenWork::find(Sequence sequence) {
    if (const auto found = ready_.find(sequence); found != ready_.end()) return &found->second;
    if (const auto found = parked_.find(sequence); found != parked_.end()) return &found->second;
    return nullptr;
}

void OpenWork::insert(Row row) {
    const Sequence sequence = row.entry.sequence;
    Row& placed = ready_.emplace_hint(ready_.end(), sequence, std::move(row))->second;
    enter_due(placed);
    enter_lane(placed);
}

Row OpenWork::remove(Sequence sequence) {
    auto found = ready_.find(sequence);
    Rows& home = found == ready_.end() ? parked_ : ready_;
    if (found == ready_.end()) found = parked_.find(sequence);
    leave_due(found->second);
    leave_lane(found->second);
    Row row = std::move(found->second);
    home.erase(found);
    return row;
}

void OpenWork::enter_due(const Row& row) {
    if (row.entry.parked || row.entry.due == StoreTime{}) return;
    due_.emplace(std::pair{row.entry.due, row.entry.sequence}, &row);
}

void OpenWork::leave_due(const Row& row) {
    if (row.entry.parked || row.entry.due == StoreTime{}) return;
    due_.erase({row.entry.due, row.entry.sequence});
}

void OpenWork::enter_lane(Row& row) {
    const std::string& name = row.entry.message->lane;
    if (name.empty()) return;
    row.lane = &*lanes_.try_emplace(name).first;
    row.lane->second.insert(row.entry.sequence, row);
}

void OpenWork::leave_lane(Row& row) {
    if (row.lane == nullptr) return;
    row.lane->second.erase(row.entry.sequence);
    if (row.lane->second.empty()) lanes_.erase(row.lane->first);
    row.lane = nullptr;
}

void OpenWork::move(Row& row) {
    const bool parks = row.entry.parked;
    leave_lane(row);
    Rows& from = parks ? ready_ : parked_;
    Rows& to = parks ? parked_ : ready_;
    to.insert(from.extract(row.entry.sequence));
    if (!parks) enter_lane(row);
}

Partition* Tables::partition(PartitionId id) {
    return id == 0 || id > partitions.size() ? nullptr : &partitions[id - 1];
}

MessageRow* Tables::message(const Uuid& id) {
    const auto found = messages_by_id.find(id);
    return found == messages_by_id.end() ? nullptr : &found->second->second;
}

MessageRow& Tables::insert_message(const MessagePtr& message, PartitionId partition,
                                   StoreTime now) {
    const auto placed = messages.emplace_hint(messages.end(), last_sequence,
                                              MessageRow{.message = message,
                                                         .sequence = last_sequence,
                                                         .partition = partition,
                                                         .appended_at = now});
    messages_by_id.emplace(message->id, placed);
    return placed->second;
}

void Tables::put_attempt(MessageRow& row, const Attempt& attempt) {
    const bool is_known = std::ranges::any_of(row.attempts, [&](const Attempt& known) {
        return known.number == attempt.number && known.requeues == attempt.requeues &&
               known.target == attempt.target;
    });
    if (is_known) return;
    row.attempts.push_back(attempt);
    boxes.find(row.message->box)->second.attempts.emplace(attempt.at, row.sequence);
}

void Tables::erase_oldest_attempt(Box& box) {
    const auto [at, sequence] = *box.attempts.begin();
    box.attempts.erase(box.attempts.begin());
    std::vector<Attempt>& attempts = messages.at(sequence).attempts;
    attempts.erase(std::ranges::find(attempts, at, &Attempt::at));
}

void Tables::erase_message(MessageRow& row) {
    auto& ages = boxes.find(row.message->box)->second.attempts;
    for (const Attempt& attempt : row.attempts) {
        ages.erase(ages.find({attempt.at, row.sequence}));
    }
    const auto found = messages_by_id.find(row.message->id);
    const auto place = found->second;
    messages_by_id.erase(found);
    messages.erase(place);
}

void Tables::file_if_finished(MessageRow& row) {
    if (row.open_rows > 0 || row.dead_letters > 0) return;
    auto& finished = boxes.find(row.message->box)->second.finished;
    finished.emplace_hint(finished.end(), row.finished_at, row.sequence);
}

void Tables::unfile(const MessageRow& row) {
    boxes.find(row.message->box)->second.finished.erase({row.finished_at, row.sequence});
}

void Tables::put_dead(const DeadLetter& letter, const MessagePtr& message) {
    auto& ages = boxes.find(message->box)->second.dead;
    const auto [place, is_new] =
        dead_by_delivery.try_emplace({letter.message, letter.target}, last_dead + 1);
    if (is_new) {
        ++last_dead;
        ++this->message(letter.message)->dead_letters;
    } else {
        ages.erase({dead.at(place->second).letter.at, place->second});
    }
    ages.emplace(letter.at, place->second);
    dead.insert_or_assign(place->second, DeadRow{letter, message});
}

void Tables::erase_dead(std::uint64_t number) {
    const DeadRow gone = std::move(dead.extract(number).mapped());
    dead_by_delivery.erase({gone.letter.message, gone.letter.target});
    boxes.find(gone.message->box)->second.dead.erase({gone.letter.at, number});
    MessageRow& row = *message(gone.letter.message);
    --row.dead_letters;
    file_if_finished(row);
}

}  // namespace waybill::memory
