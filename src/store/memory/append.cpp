#include "calls.hpp"
#include "waybill/slot.hpp"

namespace waybill::memory {
namespace {

/// Unambiguous whatever bytes the two contain.
std::string dedup_name(const std::string& scope, const std::string& key) {
    return std::to_string(scope.size()) + ':' + scope + key;
}

PartitionId partition_of(const Box& box, const Message& message) {
    const std::size_t count = box.partitions.size();
    return count == 1 ? box.partitions.front()
                      : box.partitions[slot_of(message) * count / slot_count];
}

bool ended_dead(Tables& tables, const Uuid& id) {
    const MessageRow* row = tables.message(id);
    return row != nullptr && row->open_rows == 0 && row->dead_letters > 0;
}

AppendResult known(Tables& tables, const Uuid& first, bool same_body) {
    using enum AppendResult::Status;
    return {.status = same_body ? duplicate : conflict,
            .id = first,
            .first_is_dead = ended_dead(tables, first)};
}

/// The answer when the item's key is remembered.
std::optional<AppendResult> by_key(Tables& tables, StoreTime now, const Append& item,
                                   const std::string& name) {
    const auto found = tables.dedup.find(name);
    if (found == tables.dedup.end()) return std::nullopt;
    DedupRow& row = found->second;
    if (row.until <= now) return std::nullopt;
    ++row.duplicates;
    return known(tables, row.id, row.body_hash == item.body_hash);
}

void remember(Tables& tables, StoreTime now, const Append& item, std::string name) {
    const auto [place, is_new] = tables.dedup.try_emplace(std::move(name));
    const std::string* key = &place->first;
    if (!is_new) tables.dedup_ends.erase({place->second.until, key});
    place->second = DedupRow{.id = item.message->id,
                             .body_hash = item.body_hash,
                             .until = later(now, item.dedup_window)};
    if (place->second.until != store_never) tables.dedup_ends.emplace(place->second.until, key);
}

AppendResult append_one(Tables& tables, StoreTime now, const Box& box, const Append& item) {
    const Message& message = *item.message;
    std::string name;
    if (!message.dedup_key.empty()) {
        name = dedup_name(item.dedup_scope, message.dedup_key);
        if (const auto answer = by_key(tables, now, item, name)) return *answer;
    }
    if (const MessageRow* row = tables.message(message.id)) {
        return known(tables, message.id, row->message->body == message.body);
    }

    const PartitionId partition = partition_of(box, message);
    ++tables.last_sequence;
    MessageRow& row = tables.insert_message(item.message, partition, now);
    Entry entry{.partition = partition,
                .sequence = tables.last_sequence,
                .message = item.message,
                .due = message.not_before};
    ++row.open_rows;
    tables.partition(partition)->work.insert({std::move(entry), &row});
    if (!name.empty()) remember(tables, now, item, std::move(name));
    return {.id = message.id, .sequence = tables.last_sequence, .partition = partition};
}

}  // namespace

void insert_work(Tables& tables, MessageRow& message, Entry entry) {
    entry.partition = message.partition;
    entry.sequence = ++tables.last_sequence;
    entry.message = message.message;
    ++message.open_rows;
    message.requeued.push_back(entry.sequence);
    tables.partition(message.partition)->work.insert({std::move(entry), &message});
}

std::vector<AppendResult> append(Tables& tables, StoreTime now, std::span<const Append> batch) {
    // Everything that can be refused is, before anything is applied.
    std::vector<const Box*> boxes;
    boxes.reserve(batch.size());
    for (const Append& item : batch) {
        const std::string& name = item.message->box;
        if (!boxes.empty() && boxes.back()->name == name) {
            boxes.push_back(boxes.back());
            continue;
        }
        const auto found = tables.boxes.find(name);
        if (found == tables.boxes.end()) {
            throw StoreError{Reaction::bad_data,
                             "box \"" + name + "\" is not declared; declare it before appending"};
        }
        boxes.push_back(&found->second);
    }

    std::vector<AppendResult> results;
    results.reserve(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
        results.push_back(append_one(tables, now, *boxes[i], batch[i]));
    }
    return results;
}

}  // namespace waybill::memory
