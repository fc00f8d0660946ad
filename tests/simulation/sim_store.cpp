#include "simulation/sim_store.hpp"

#include <algorithm>

#include "waybill/slot.hpp"

/// Publishing, operators, failover. Owning is in sim_owning.cpp, reading in sim_reading.cpp, settling
/// in sim_settling.cpp.
namespace waybill::sim {

SimStore::TxId SimStore::begin_tx(std::int32_t instance) {
    const TxId tx = next_tx_++;
    transactions_[tx] = {.xid = db_.next_xid++, .instance = instance};
    return tx;
}

Sequence SimStore::draw_sequence() {
    if (is(Mutation::row_id_reuse)) {
        Sequence newest = 0;
        for (const auto& [partition, rows] : db_.open) {
            if (!rows.empty()) newest = std::max(newest, rows.rbegin()->first);
        }
        for (const auto& [id, tx] : transactions_) {
            for (const OpenRow& row : tx.rows) newest = std::max(newest, row.entry.sequence);
        }
        db_.next_sequence = newest + 1;
    }
    const Sequence sequence = db_.next_sequence++;
    witness_.on_sequence(sequence);
    return sequence;
}

bool SimStore::must_wait_to_write(const Transaction* own) const {
    return is_in_order_ && std::ranges::any_of(transactions_, [&](const auto& other) {
               return &other.second != own && !other.second.rows.empty();
           });
}

std::string SimStore::dedup_name(const Append& item) const {
    const std::string& scope =
        is(Mutation::dedup_without_scope) ? item.message->box : item.dedup_scope;
    return scope + "/" + item.message->dedup_key;
}

const DedupRow* SimStore::find_key(const Transaction& own, const std::string& name,
                                   bool& is_held) const {
    if (const auto mine = own.keys.find(name); mine != own.keys.end()) return &mine->second;
    for (const auto& [id, tx] : transactions_) {
        const auto other = tx.keys.find(name);
        if (other == tx.keys.end() || &tx == &own) continue;
        if (is(Mutation::duplicate_of_uncommitted)) return &other->second;
        is_held = true;
    }
    const auto stored = db_.dedup.find(name);
    const bool is_there = stored != db_.dedup.end() && stored->second.until > clock(now_);
    return is_there ? &stored->second : nullptr;
}

std::optional<AppendResult> SimStore::append(TxId tx, const Append& item) {
    const auto found = transactions_.find(tx);
    if (found == transactions_.end()) return std::nullopt;
    Transaction& transaction = found->second;
    if (must_wait_to_write(&transaction)) return std::nullopt;
    if (!item.message->dedup_key.empty()) {
        const std::string name = dedup_name(item);
        bool is_held = false;
        if (const DedupRow* first = find_key(transaction, name, is_held)) {
            using enum AppendResult::Status;
            const auto letter = db_.dead.lower_bound({first->first, ""});
            return AppendResult{
                .status = first->body_hash == item.body_hash ? duplicate : conflict,
                .id = first->first,
                .first_is_dead = letter != db_.dead.end() && letter->first.first == first->first};
        }
        if (is_held) return std::nullopt;
        const Duration window =
            is(Mutation::dedup_expires_early) ? item.dedup_window / 64 : item.dedup_window;
        transaction.keys[name] = {.first = item.message->id,
                                  .body_hash = item.body_hash,
                                  .until = later(clock(now_), window)};
    }
    auto message = std::make_shared<Message>(*item.message);
    OpenRow row{.stamp = transaction.xid, .begun = now_};
    row.entry.partition = db_.partition_of(*message);
    row.entry.sequence = draw_sequence();
    row.entry.due = message->not_before;
    row.entry.message = message;
    transaction.rows.push_back(row);
    return AppendResult{.id = message->id,
                        .sequence = row.entry.sequence,
                        .partition = row.entry.partition,
                        .transaction = transaction.xid};
}

void SimStore::commit_row(OpenRow row) {
    row.committed = now_;
    db_.messages[row.entry.message->id] = row.entry.message;
    db_.finished.erase(row.entry.message->id);
    db_.insert_open(row);
    witness_.on_committed(row);
}

bool SimStore::commit_tx(TxId tx) {
    const auto found = transactions_.find(tx);
    if (found == transactions_.end()) return false;
    const Transaction done = std::move(found->second);
    transactions_.erase(found);
    for (const auto& [name, key] : done.keys) db_.dedup[name] = key;
    for (const OpenRow& row : done.rows) commit_row(row);
    return true;
}

void SimStore::rollback_tx(TxId tx) {
    const auto found = transactions_.find(tx);
    if (found == transactions_.end()) return;
    const Transaction gone = std::move(found->second);
    transactions_.erase(found);
    if (!is(Mutation::rollback_leaves_rows)) return;
    for (OpenRow row : gone.rows) {
        row.committed = now_;
        db_.messages[row.entry.message->id] = row.entry.message;
        db_.insert_open(row);
    }
}

void SimStore::declare(std::span<const BoxDeclaration> boxes, std::span<const Target> targets) {
    for (const BoxDeclaration& box : boxes) {
        if (db_.boxes.contains(box.name)) continue;
        const std::uint32_t count = box.options.partitions == 0 ? 4 : box.options.partitions;
        for (std::uint32_t i = 0; i < count; ++i) {
            const PartitionId id = db_.next_partition++;
            db_.partitions[id] = {.id = id,
                                  .box = box.name,
                                  .first_slot = slot_count * i / count,
                                  .last_slot = slot_count * (i + 1) / count - 1};
            db_.boxes[box.name].push_back(id);
        }
    }
    bool is_changed = false;
    for (const Target& target : targets) {
        const auto known = std::find_if(
            db_.registry.begin(), db_.registry.end(),
            [&](const Target& t) { return t.box == target.box && t.key == target.key; });
        if (known == db_.registry.end()) {
            db_.registry.push_back(target);
            is_changed = true;
        } else if (*known != target) {
            *known = target;
            is_changed = true;
        }
    }
    if (is_changed) ++db_.registry_version;
}

bool SimStore::forget_target(const std::string& box, const std::string& key) {
    const auto forgotten =
        std::erase_if(db_.registry, [&](const Target& t) { return t.box == box && t.key == key; });
    if (!is(Mutation::forget_unheard)) db_.registry_version += forgotten;
    return forgotten > 0;
}

bool SimStore::requeue(const Uuid& message, const std::string& target) {
    const auto found = db_.dead.find({message, target});
    if (found == db_.dead.end() || must_wait_to_write(nullptr)) return false;
    const DeadLetter letter = found->second;
    const MessagePtr body = db_.messages.at(message);
    const PartitionId partition = db_.partition_of(*body);
    // What died because of it comes back with it.
    std::vector<std::string> revived{target};
    for (std::size_t i = 0; i < revived.size(); ++i) {
        for (auto at = db_.dead.lower_bound({message, ""});
             at != db_.dead.end() && at->first.first == message; ++at) {
            if (at->second.because == revived[i]) revived.push_back(at->first.second);
        }
    }
    const OpenRow* head = db_.find_open(partition, letter.sequence);
    const bool is_halted = head != nullptr && head->entry.halted;
    if (is_halted) {
        // The letter stays until the owner has put the delivery back into its place.
        leave({.partition = partition,
               .kind = Command::Kind::resume,
               .message = message,
               .sequence = letter.sequence,
               .target = target});
        return true;
    }
    for (const std::string& key : revived) {
        db_.dead.erase({message, key});
        witness_.on_dead_removed({message, key});
    }
    OpenRow row{.stamp = db_.next_xid++, .begun = now_};
    row.entry.partition = partition;
    row.entry.message = body;
    if (!target.empty()) row.entry.only = revived;  // unmatched: to whoever wants it now
    row.entry.requeues = letter.requeues + 1;
    if (is(Mutation::requeue_loses)) return true;
    row.entry.sequence = draw_sequence();
    commit_row(row);
    return true;
}

bool SimStore::discard(const Uuid& message, const std::string& target) {
    if (db_.dead.erase({message, target}) == 0) return false;
    witness_.on_dead_removed({message, target});
    return true;
}

void SimStore::leave(Command command) {
    command.id = db_.next_command++;
    db_.commands[command.id] = {.command = command};
}

/// For each open row of its message; with a sequence only for that one.
bool SimStore::command(const Command& command) {
    bool is_left = false;
    for (const auto& [partition, rows] : db_.open) {
        for (const auto& [sequence, row] : rows) {
            if (row.entry.message->id != command.message) continue;
            if (command.sequence != 0 && command.sequence != sequence) continue;
            Command complete = command;
            complete.partition = partition;
            complete.sequence = sequence;
            leave(complete);
            is_left = true;
        }
    }
    return is_left;
}

void SimStore::pause(const std::string& box, bool paused) {
    if (paused) {
        db_.paused.insert(box);
    } else {
        db_.paused.erase(box);
    }
}

void SimStore::expire_open(Duration age) {
    if (!is(Mutation::open_work_expires)) return;
    for (auto& [partition, rows] : db_.open) {
        for (auto row = rows.begin(); row != rows.end();) {
            const auto next = std::next(row);
            if (now_ - row->second.committed > age) db_.erase_open(partition, row->first);
            row = next;
        }
    }
}

void SimStore::promote() {
    const Database lost = std::move(db_);
    db_ = standby_;
    ++timeline_;
    transactions_.clear();
    locks_.clear();
    liveness_.clear();
    registry_held_ = {};
    witness_.on_promoted(lost);
}

}  // namespace waybill::sim
