#include "simulation/database.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/assert.hpp"
#include "waybill/slot.hpp"

namespace waybill::sim {
namespace {

std::string encode(const Snapshot& snapshot) {
    std::string text = std::to_string(snapshot.xmax) + ":";
    for (const Xid xid : snapshot.xip) text += std::to_string(xid) + ",";
    return text;
}

std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// Cuts the text before `mark` off its front.
std::string_view cut(std::string_view& text, char mark) {
    const std::size_t end = std::min(text.find(mark), text.size());
    const std::string_view head = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return head;
}

Snapshot decode_snapshot(std::string_view text) {
    Snapshot snapshot{.xmax = number(cut(text, ':'))};
    while (!text.empty()) snapshot.xip.push_back(number(cut(text, ',')));
    return snapshot;
}

}  // namespace

bool Snapshot::sees(Xid xid) const {
    return xid < xmax && !std::binary_search(xip.begin(), xip.end(), xid);
}

Position encode(const ReadPlace& place) {
    return encode(place.s1) + "|" + (place.s2 ? encode(*place.s2) : "") + "|" +
           std::to_string(place.after);
}

ReadPlace decode(const Position& position) {
    std::string_view rest = position;
    ReadPlace place{.s1 = decode_snapshot(cut(rest, '|'))};
    if (const std::string_view s2 = cut(rest, '|'); !s2.empty()) place.s2 = decode_snapshot(s2);
    place.after = static_cast<Sequence>(number(rest));
    return place;
}

OpenRow* Database::find_open(PartitionId partition, Sequence sequence) {
    const auto rows = open.find(partition);
    if (rows == open.end()) return nullptr;
    const auto row = rows->second.find(sequence);
    return row == rows->second.end() ? nullptr : &row->second;
}

const OpenRow* Database::find_open(PartitionId partition, Sequence sequence) const {
    const auto rows = open.find(partition);
    if (rows == open.end()) return nullptr;
    const auto row = rows->second.find(sequence);
    return row == rows->second.end() ? nullptr : &row->second;
}

void Database::insert_open(const OpenRow& row) {
    const Entry& entry = row.entry;
    erase_open(entry.partition, entry.sequence);
    open[entry.partition][entry.sequence] = row;
    by_stamp[{row.stamp, entry.sequence}] = entry.partition;
}

void Database::erase_open(PartitionId partition, Sequence sequence) {
    const OpenRow* row = find_open(partition, sequence);
    if (row == nullptr) return;
    by_stamp.erase({row->stamp, sequence});
    open[partition].erase(sequence);
}

bool Database::has_open(const Uuid& message) const {
    return std::any_of(open.begin(), open.end(), [&](const auto& rows) {
        return std::any_of(rows.second.begin(), rows.second.end(), [&](const auto& row) {
            return row.second.entry.message && row.second.entry.message->id == message;
        });
    });
}

PartitionId Database::partition_of(const Message& message) const {
    const std::uint32_t slot = slot_of(message);
    for (const PartitionId id : boxes.at(message.box)) {
        const PartitionRow& row = partitions.at(id);
        if (row.first_slot <= slot && slot <= row.last_slot) return id;
    }
    WAYBILL_ASSERT(false);
}

Progress* find_progress(std::vector<Progress>& progress, const std::string& target) {
    const auto found = std::find_if(progress.begin(), progress.end(),
                                    [&](const Progress& p) { return p.target == target; });
    return found == progress.end() ? nullptr : &*found;
}

const Progress* find_progress(const std::vector<Progress>& progress, const std::string& target) {
    const auto found = std::find_if(progress.begin(), progress.end(),
                                    [&](const Progress& p) { return p.target == target; });
    return found == progress.end() ? nullptr : &*found;
}

}  // namespace waybill::sim
