#include <algorithm>

#include "calls.hpp"
#include "core/asking.hpp"
#include "core/replaying.hpp"
#include "core/wording.hpp"

namespace waybill::sqlite {
namespace {

/// Answers kept for whoever asked; older ones are forgotten.
constexpr std::uint64_t kAnswersMax = 10'000;

struct Found {
    Place place{};
    DeadLetter letter{};
};

std::optional<Found> dead_letter(Database& db, const DeliveryRef& delivery) {
    const auto place = place_of(db, delivery.message);
    if (!place) return std::nullopt;
    for (DeadLetter& letter : letters_of(db, place->sequence)) {
        if (letter.target == delivery.target) return Found{*place, std::move(letter)};
    }
    return std::nullopt;
}

bool holds_a_lane(Database& db, const Found& found) {
    const auto row = find_open(db, found.place.partition, found.letter.sequence);
    return row && row->entry.halted;
}

std::uint64_t leave(Database& db, PartitionId partition, const Command& wish) {
    db.execute(sql::insert_command, partition, wish.kind, wish.message, wish.sequence, wish.target);
    return static_cast<std::uint64_t>(db.last_row());
}

void requeue_one(Session& session, const DeliveryRef& delivery, const Found& found) {
    Database& db = session.db;
    db.execute(sql::record_generation, found.place.sequence, found.letter.requeues + 1);
    if (holds_a_lane(db, found)) {
        // It runs again in its old place, and only its owner can put it there; until then the letter
        // stays, or a skip that comes first would lose it.
        leave(db, found.place.partition,
              {.kind = Command::Kind::resume,
               .message = delivery.message,
               .sequence = found.letter.sequence,
               .target = delivery.target});
        return;
    }
    const auto chain = detail::revived_with(letters_of(db, found.place.sequence), delivery.target);
    Entry work{.requeues = found.letter.requeues + 1};
    // An unmatched message has no target: it goes to whoever wants it now.
    std::ranges::copy_if(chain, std::back_inserter(work.only),
                         [](const std::string& target) { return !target.empty(); });
    reopen_message(db, found.place.sequence);
    const MessageRow message = load_message(session, found.place.sequence);
    insert_work(session, found.place, delivery.message, message.message->lane, work);
    for (const std::string& target : chain) erase_letter(db, found.place.sequence, target);
}

detail::ReplayFacts facts_of(Database& db, const Place& place, const MessageRow& row) {
    detail::ReplayFacts facts{.message = *row.message,
                              .letters = letters_of(db, place.sequence),
                              .requeues = row.requeues};
    Rows rows = db.query(sql::open_rows_of_message, place.partition, place.sequence);
    while (rows.next()) facts.open.push_back(open_row(rows).entry);
    return facts;
}

OperationResult replay_one(Session& session, const DeliveryRef& delivery,
                           std::span<const Target> targets) {
    const auto place = place_of(session.db, delivery.message);
    if (!place) return detail::no_such_message(delivery.message);
    const MessageRow row = load_message(session, place->sequence);
    const detail::ReplayFacts facts = facts_of(session.db, *place, row);
    const detail::ReplayVerdict verdict = detail::judge_replay(delivery.target, facts, targets);
    if (!verdict.refusal.empty()) return {.text = verdict.refusal};
    if (!verdict.dead_as.empty()) {
        const DeliveryRef dead{delivery.message, verdict.dead_as};
        requeue_one(session, dead, *dead_letter(session.db, dead));
        return {true, "replayed"};
    }
    const Entry work{.only = {verdict.target}, .requeues = detail::next_generation(facts)};
    reopen_message(session.db, place->sequence);
    reopen_finished(session, *place, row.appended_at);
    session.db.execute(sql::record_generation, place->sequence, work.requeues);
    insert_work(session, *place, delivery.message, row.message->lane, work);
    return {true, "replayed"};
}

std::uint64_t cancel(Database& db, const Command& wish) {
    const auto place = place_of(db, wish.message);
    if (!place) return 0;
    // A requeue may have given it several rows. The first one answers for all.
    std::vector<Sequence> sequences;
    {
        Rows rows = db.query(sql::open_rows_of_message, place->partition, place->sequence);
        while (rows.next()) sequences.push_back(rows.integer(1));
    }
    std::uint64_t first = 0;
    for (const Sequence sequence : sequences) {
        Command complete = wish;
        complete.sequence = sequence;
        const std::uint64_t number = leave(db, place->partition, complete);
        if (first == 0) first = number;
    }
    return first;
}

}  // namespace

std::vector<OperationResult> requeue(Session& session, std::span<const DeliveryRef> deliveries) {
    // Whether there was a dead letter is asked first: requeueing a predecessor revives its successors,
    // and one that was named beside it was not refused.
    std::vector<OperationResult> results;
    for (const DeliveryRef& delivery : deliveries) {
        results.push_back(dead_letter(session.db, delivery) ? OperationResult{true, "requeued"}
                                                            : detail::no_such_letter(delivery));
    }
    for (const DeliveryRef& delivery : deliveries) {
        if (const auto found = dead_letter(session.db, delivery)) {
            requeue_one(session, delivery, *found);
        }
    }
    return results;
}

std::vector<OperationResult> replay(Session& session, std::span<const DeliveryRef> deliveries) {
    const std::vector<Target> registry = targets(session.db);
    std::vector<OperationResult> results;
    for (const DeliveryRef& delivery : deliveries) {
        results.push_back(replay_one(session, delivery, registry));
    }
    return results;
}

std::vector<OperationResult> discard(Session& session, std::span<const DeliveryRef> deliveries) {
    std::vector<OperationResult> results;
    for (const DeliveryRef& delivery : deliveries) {
        const auto found = dead_letter(session.db, delivery);
        if (!found) {
            results.push_back(detail::no_such_letter(delivery));
        } else if (holds_a_lane(session.db, *found)) {
            results.push_back({.text = std::string{detail::lane_stands_at_it}});
        } else {
            erase_letter(session.db, found->place.sequence, delivery.target);
            results.push_back({true, "discarded"});
        }
    }
    return results;
}

std::uint64_t command(Session& session, const Command& wish) {
    if (wish.kind == Command::Kind::cancel) return cancel(session.db, wish);
    Command complete = wish;
    PartitionId partition = 0;
    {
        Rows rows = session.db.query(sql::halted_row, wish.sequence);
        if (!rows.next()) return 0;
        partition = rows.number<PartitionId>(0);
        complete.message = rows.uuid(1);
    }
    if (wish.kind == Command::Kind::resume) {
        if (const auto row = find_open(session.db, partition, wish.sequence)) {
            session.db.execute(sql::record_generation, row->message, row->entry.requeues + 1);
        }
    }
    return leave(session.db, partition, complete);
}

void answer(Database& db, const CommandResult& result) {
    if (db.execute(sql::answer_command, result.id, result.partition, result.carried_out,
                   result.text) == 0) {
        return;
    }
    if (result.id > kAnswersMax) db.execute(sql::forget_answers, result.id - kAnswersMax);
}

std::optional<CommandResult> command_result(Database& db, std::uint64_t id) {
    Rows rows = db.query(sql::command_answer, id);
    if (!rows.next()) return std::nullopt;
    return CommandResult{rows.number<std::uint64_t>(0), rows.number<PartitionId>(1), rows.flag(2),
                         rows.string(3)};
}

}  // namespace waybill::sqlite
