#include <algorithm>

#include "calls.hpp"
#include "core/asking.hpp"
#include "core/wording.hpp"
#include "letters.hpp"

namespace waybill::postgres {
namespace {

/// A message that nobody else changes until this transaction ends.
struct Held {
    Sequence sequence = 0;
    PartitionId partition = 0;
};

std::optional<Held> hold_message(Database& db, const Uuid& id) {
    Rows rows = db.write(sql::hold_message, id);
    if (!rows.next()) return std::nullopt;
    return Held{rows.integer(0), rows.number<PartitionId>(1)};
}

struct Found {
    Held message{};
    DeadLetter letter{};
};

std::optional<Found> dead_letter(Database& db, const DeliveryRef& delivery) {
    const auto message = hold_message(db, delivery.message);
    if (!message) return std::nullopt;
    for (DeadLetter& letter : letters_of(db, message->sequence)) {
        if (letter.target == delivery.target) return Found{*message, std::move(letter)};
    }
    return std::nullopt;
}

bool holds_a_lane(Database& db, const Found& found) {
    return db.read(sql::is_halted, found.message.partition, found.letter.sequence).count() > 0;
}

std::uint64_t leave(Database& db, PartitionId partition, const Command& wish) {
    Rows rows = db.write(sql::insert_command, partition, static_cast<std::int16_t>(wish.kind),
                         wish.message, wish.sequence, wish.target);
    rows.next();
    return rows.number<std::uint64_t>(0);
}

void record_generation(Database& db, Sequence message, std::uint32_t requeues) {
    Longs messages;
    Ints generations;
    messages.add(message);
    generations.add(requeues);
    db.write(sql::record_generation, messages, generations);
}

void requeue_one(Database& db, const DeliveryRef& delivery, const Found& found) {
    record_generation(db, found.message.sequence, found.letter.requeues + 1);
    if (holds_a_lane(db, found)) {
        // It runs again in its old place, and only its owner can put it there; until then the letter
        // stays, or a skip that comes first would lose it.
        leave(db, found.message.partition,
              {.kind = Command::Kind::resume,
               .message = delivery.message,
               .sequence = found.letter.sequence,
               .target = delivery.target});
        return;
    }
    const auto chain =
        detail::revived_with(letters_of(db, found.message.sequence), delivery.target);
    std::vector<std::string> only;
    // An unmatched message has no target: it goes to whoever wants it now.
    std::ranges::copy_if(chain, std::back_inserter(only),
                         [](const std::string& target) { return !target.empty(); });
    db.write(sql::delete_held, found.message.sequence);
    db.write(sql::insert_requeued, found.message.sequence, found.letter.requeues + 1,
             only.empty() ? std::nullopt : std::optional{texts_of(only)});
    for (const std::string& target : chain) erase_letter(db, found.message.sequence, target);
}

std::uint64_t cancel(Database& db, const Command& wish) {
    const auto message = hold_message(db, wish.message);
    if (!message) return 0;
    // A requeue may have given it several rows. The first one answers for all.
    std::uint64_t first = 0;
    Rows rows = db.read(sql::open_rows_of_message, message->partition, message->sequence);
    while (rows.next()) {
        Command complete = wish;
        complete.sequence = rows.integer(1);
        const std::uint64_t number = leave(db, message->partition, complete);
        if (first == 0) first = number;
    }
    return first;
}

/// In one order, so that two who requeue the same messages do not wait for each other.
void hold_all(Database& db, std::span<const DeliveryRef> deliveries) {
    Uuids ids;
    for (const DeliveryRef& delivery : deliveries) ids.add(delivery.message);
    db.write(sql::hold_messages, ids);
}

}  // namespace

std::vector<OperationResult> requeue(Database& db, std::span<const DeliveryRef> deliveries) {
    hold_all(db, deliveries);
    // Whether there was a dead letter is asked first: requeueing a predecessor revives its successors,
    // and one that was named beside it was not refused.
    std::vector<OperationResult> results;
    for (const DeliveryRef& delivery : deliveries) {
        results.push_back(dead_letter(db, delivery) ? OperationResult{true, "requeued"}
                                                    : detail::no_such_letter(delivery));
    }
    for (const DeliveryRef& delivery : deliveries) {
        if (const auto found = dead_letter(db, delivery)) requeue_one(db, delivery, *found);
    }
    return results;
}

bool requeue_dead(Database& db, const DeliveryRef& delivery) {
    const auto found = dead_letter(db, delivery);
    if (found) requeue_one(db, delivery, *found);
    return found.has_value();
}

std::vector<OperationResult> discard(Database& db, std::span<const DeliveryRef> deliveries) {
    hold_all(db, deliveries);
    std::vector<OperationResult> results;
    for (const DeliveryRef& delivery : deliveries) {
        const auto found = dead_letter(db, delivery);
        if (!found) {
            results.push_back(detail::no_such_letter(delivery));
        } else if (holds_a_lane(db, *found)) {
            results.push_back({.text = std::string{detail::lane_stands_at_it}});
        } else {
            erase_letter(db, found->message.sequence, delivery.target);
            results.push_back({true, "discarded"});
        }
    }
    return results;
}

std::uint64_t command(Database& db, const Command& wish) {
    if (wish.kind == Command::Kind::cancel) return cancel(db, wish);
    Rows rows = db.read(sql::halted_row, wish.sequence);
    if (!rows.next()) return 0;
    Command complete = wish;
    complete.message = rows.uuid(1);
    if (wish.kind == Command::Kind::resume) {
        record_generation(db, rows.integer(2), rows.number<std::uint32_t>(3) + 1);
    }
    return leave(db, rows.number<PartitionId>(0), complete);
}

std::optional<CommandResult> command_result(Database& db, std::uint64_t id) {
    Rows rows = db.read(sql::command_answer, static_cast<std::int64_t>(id));
    if (!rows.next()) return std::nullopt;
    return CommandResult{rows.number<std::uint64_t>(0), rows.number<PartitionId>(1), rows.flag(2),
                         rows.string(3)};
}

}  // namespace waybill::postgres
