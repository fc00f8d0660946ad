#include <algorithm>

#include "calls.hpp"

namespace waybill::memory {
namespace {

const DeadRow* dead_row(const Tables& tables, const DeliveryRef& delivery) {
    const auto found = tables.dead_by_delivery.find({delivery.message, delivery.target});
    return found == tables.dead_by_delivery.end() ? nullptr : &tables.dead.at(found->second);
}

void erase_dead(Tables& tables, const DeliveryRef& delivery) {
    tables.erase_dead(tables.dead_by_delivery.at({delivery.message, delivery.target}));
}

OperationResult no_such(const DeliveryRef& delivery) {
    return {.text = "no dead letter of " + to_string(delivery.message) + " for target \"" +
                    delivery.target + "\""};
}

std::uint64_t leave(Partition& partition, Tables& tables, Command wish) {
    wish.id = ++tables.last_command;
    wish.partition = partition.id;
    partition.commands.emplace(wish.id, wish);
    return wish.id;
}

/// The targets that run after `target`, directly or not, and died with it.
std::vector<std::string> dead_successors(const Tables& tables, const Message& message,
                                         const std::string& target) {
    std::vector<std::string> chain{target};
    for (std::size_t i = 0; i < chain.size(); ++i) {
        for (const auto& [key, known] : tables.targets) {
            if (known.box != message.box || known.after != chain[i]) continue;
            const bool is_listed = std::ranges::find(chain, known.key) != chain.end();
            if (!is_listed && dead_row(tables, {message.id, known.key})) chain.push_back(known.key);
        }
    }
    chain.erase(chain.begin());
    return chain;
}

/// In its old place, and only its owner can put it there.
void resume(Tables& tables, Partition& partition, Row& head, const DeliveryRef& delivery) {
    leave(partition, tables,
          {.kind = Command::Kind::resume,
           .message = delivery.message,
           .sequence = head.entry.sequence,
           .target = delivery.target});
    erase_dead(tables, delivery);
}

void requeue_one(Tables& tables, const DeliveryRef& delivery) {
    const DeadRow dead = *dead_row(tables, delivery);
    MessageRow& message = *tables.message(delivery.message);
    Partition& partition = *tables.partition(message.partition);
    std::vector<std::string> keys = dead_successors(tables, *dead.message, delivery.target);
    keys.insert(keys.begin(), delivery.target);

    Row* row = partition.work.find(dead.letter.sequence);
    if (row != nullptr && row->entry.halted) {
        ++row->entry.requeues;
        for (const std::string& key : keys)
            resume(tables, partition, *row, {delivery.message, key});
        return;
    }
    insert_work(tables, message, {.only = keys, .requeues = dead.letter.requeues + 1});
    for (const std::string& key : keys) erase_dead(tables, {delivery.message, key});
}

}  // namespace

std::vector<OperationResult> requeue(Tables& tables, std::span<const DeliveryRef> deliveries) {
    // Whether there was a dead letter is asked first: requeueing a predecessor revives its successors,
    // and one that was named beside it was not refused.
    std::vector<OperationResult> results;
    for (const DeliveryRef& delivery : deliveries) {
        results.push_back(dead_row(tables, delivery) ? OperationResult{true, "requeued"}
                                                     : no_such(delivery));
    }
    for (const DeliveryRef& delivery : deliveries) {
        if (dead_row(tables, delivery)) requeue_one(tables, delivery);
    }
    return results;
}

std::vector<OperationResult> discard(Tables& tables, std::span<const DeliveryRef> deliveries) {
    std::vector<OperationResult> results;
    for (const DeliveryRef& delivery : deliveries) {
        if (!dead_row(tables, delivery)) {
            results.push_back(no_such(delivery));
            continue;
        }
        erase_dead(tables, delivery);
        results.push_back({true, "discarded"});
    }
    return results;
}

std::uint64_t command(Tables& tables, const Command& wish) {
    if (wish.kind == Command::Kind::cancel) {
        const MessageRow* message = tables.message(wish.message);
        if (message == nullptr || message->open_rows == 0) return 0;
        return leave(*tables.partition(message->partition), tables, wish);
    }
    for (Partition& partition : tables.partitions) {
        const Row* row = partition.work.find(wish.sequence);
        if (row == nullptr || !row->entry.halted) continue;
        Command complete = wish;
        complete.message = row->entry.message->id;
        return leave(partition, tables, complete);
    }
    return 0;
}

void answer(Tables& tables, const CommandResult& result) {
    if (tables.partition(result.partition)->commands.erase(result.id) == 0) return;
    tables.command_results.emplace(result.id, result);
    if (tables.command_results.size() > command_results_max) {
        tables.command_results.erase(tables.command_results.begin());
    }
}

bool forget_target(Tables& tables, const std::string& box, const std::string& key) {
    if (tables.targets.erase({box, key}) == 0) return false;
    ++tables.registry_version;
    return true;
}

}  // namespace waybill::memory
