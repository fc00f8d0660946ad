#include <algorithm>

#include "calls.hpp"
#include "core/asking.hpp"
#include "core/replaying.hpp"
#include "core/wording.hpp"

namespace waybill::memory {
namespace {

const DeadRow* dead_row(const Tables& tables, const DeliveryRef& delivery) {
    const auto found = tables.dead_by_delivery.find({delivery.message, delivery.target});
    return found == tables.dead_by_delivery.end() ? nullptr : &tables.dead.at(found->second);
}

void erase_dead(Tables& tables, const DeliveryRef& delivery) {
    tables.erase_dead(tables.dead_by_delivery.at({delivery.message, delivery.target}));
}

std::uint64_t leave(Partition& partition, Tables& tables, Command wish) {
    wish.id = ++tables.last_command;
    wish.partition = partition.id;
    partition.commands.emplace(wish.id, wish);
    return wish.id;
}

bool holds_a_lane(Tables& tables, const DeadLetter& letter) {
    const PartitionId partition = tables.message(letter.message)->partition;
    const Row* const row = tables.partition(partition)->work.find(letter.sequence);
    return row != nullptr && row->entry.halted;
}

/// The delivery and those that died because of it, directly or not.
std::vector<DeliveryRef> revived_with(const Tables& tables, const DeliveryRef& delivery) {
    std::vector<DeliveryRef> chain{delivery};
    for (std::size_t i = 0; i < chain.size(); ++i) {
        const std::string cause = chain[i].target;
        auto at = tables.dead_by_delivery.lower_bound({delivery.message, ""});
        for (; at != tables.dead_by_delivery.end() && at->first.first == delivery.message; ++at) {
            const DeliveryRef other{delivery.message, at->first.second};
            const bool is_listed = std::ranges::find(chain, other) != chain.end();
            if (!is_listed && tables.dead.at(at->second).letter.because == cause) {
                chain.push_back(other);
            }
        }
    }
    return chain;
}

void record_generation(MessageRow& message, std::uint32_t requeues) {
    message.requeues = std::max(message.requeues, requeues);
}

void requeue_one(Tables& tables, const DeliveryRef& delivery) {
    const DeadLetter letter = dead_row(tables, delivery)->letter;
    MessageRow& message = *tables.message(delivery.message);
    Partition& partition = *tables.partition(message.partition);
    record_generation(message, letter.requeues + 1);
    if (holds_a_lane(tables, letter)) {
        // It runs again in its old place, and only its owner can put it there; until then the letter
        // stays, or a skip that comes first would lose it.
        leave(partition, tables,
              {.kind = Command::Kind::resume,
               .message = delivery.message,
               .sequence = letter.sequence,
               .target = delivery.target});
        return;
    }
    const std::vector<DeliveryRef> chain = revived_with(tables, delivery);
    Entry work{.requeues = letter.requeues + 1};
    for (const DeliveryRef& revived : chain) {
        // An unmatched message has no target: it goes to whoever wants it now.
        if (!revived.target.empty()) work.only.push_back(revived.target);
    }
    // Open again first: a message with neither open nor dead deliveries counts as finished.
    insert_work(tables, message, work);
    for (const DeliveryRef& revived : chain) erase_dead(tables, revived);
}

detail::ReplayFacts facts_of(Tables& tables, const MessageRow& message) {
    detail::ReplayFacts facts{.message = *message.message, .requeues = message.requeues};
    OpenWork& work = tables.partition(message.partition)->work;
    if (const Row* const row = work.find(message.sequence)) facts.open.push_back(row->entry);
    for (const Sequence sequence : message.requeued) {
        facts.open.push_back(work.find(sequence)->entry);
    }
    const Uuid& id = message.message->id;
    auto at = tables.dead_by_delivery.lower_bound({id, ""});
    for (; at != tables.dead_by_delivery.end() && at->first.first == id; ++at) {
        facts.letters.push_back(tables.dead.at(at->second).letter);
    }
    return facts;
}

OperationResult replay_one(Tables& tables, const DeliveryRef& delivery,
                           std::span<const Target> targets) {
    MessageRow* const message = tables.message(delivery.message);
    if (message == nullptr) return detail::no_such_message(delivery.message);
    const detail::ReplayFacts facts = facts_of(tables, *message);
    const detail::ReplayVerdict verdict = detail::judge_replay(delivery.target, facts, targets);
    if (!verdict.refusal.empty()) return {.text = verdict.refusal};
    if (!verdict.dead_as.empty()) {
        requeue_one(tables, {delivery.message, verdict.dead_as});
    } else {
        message->requeues = detail::next_generation(facts);
        tables.unfile(*message);
        insert_work(tables, *message, {.only = {verdict.target}, .requeues = message->requeues});
    }
    return {true, "replayed"};
}

std::uint64_t cancel(Tables& tables, const Command& wish) {
    MessageRow* message = tables.message(wish.message);
    if (message == nullptr || message->open_rows == 0) return 0;
    // A requeue may have given it several rows. The first one answers for all.
    std::vector<Sequence> rows = message->requeued;
    rows.insert(rows.begin(), message->sequence);
    Partition& partition = *tables.partition(message->partition);
    std::uint64_t first = 0;
    for (const Sequence sequence : rows) {
        if (partition.work.find(sequence) == nullptr) continue;
        Command complete = wish;
        complete.sequence = sequence;
        const std::uint64_t number = leave(partition, tables, complete);
        if (first == 0) first = number;
    }
    return first;
}

}  // namespace

std::vector<OperationResult> requeue(Tables& tables, std::span<const DeliveryRef> deliveries) {
    // Whether there was a dead letter is asked first: requeueing a predecessor revives its successors,
    // and one that was named beside it was not refused.
    std::vector<OperationResult> results;
    for (const DeliveryRef& delivery : deliveries) {
        results.push_back(dead_row(tables, delivery) ? OperationResult{true, "requeued"}
                                                     : detail::no_such_letter(delivery));
    }
    for (const DeliveryRef& delivery : deliveries) {
        if (dead_row(tables, delivery)) requeue_one(tables, delivery);
    }
    return results;
}

std::vector<OperationResult> replay(Tables& tables, std::span<const DeliveryRef> deliveries) {
    const std::vector<Target> registry = targets(tables);
    std::vector<OperationResult> results;
    for (const DeliveryRef& delivery : deliveries) {
        results.push_back(replay_one(tables, delivery, registry));
    }
    return results;
}

std::vector<OperationResult> discard(Tables& tables, std::span<const DeliveryRef> deliveries) {
    std::vector<OperationResult> results;
    for (const DeliveryRef& delivery : deliveries) {
        const DeadRow* const row = dead_row(tables, delivery);
        if (row == nullptr) {
            results.push_back(detail::no_such_letter(delivery));
        } else if (holds_a_lane(tables, row->letter)) {
            results.push_back({.text = std::string{detail::lane_stands_at_it}});
        } else {
            erase_dead(tables, delivery);
            results.push_back({true, "discarded"});
        }
    }
    return results;
}

std::uint64_t command(Tables& tables, const Command& wish) {
    if (wish.kind == Command::Kind::cancel) return cancel(tables, wish);
    for (Partition& partition : tables.partitions) {
        const Row* row = partition.work.find(wish.sequence);
        if (row == nullptr || !row->entry.halted) continue;
        Command complete = wish;
        complete.message = row->entry.message->id;
        if (wish.kind == Command::Kind::resume) {
            record_generation(*row->message, row->entry.requeues + 1);
        }
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
