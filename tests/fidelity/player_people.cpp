#include <algorithm>

#include "fidelity/player.hpp"

/// What people ask and order.
namespace waybill::test {

using namespace std::chrono_literals;

std::string Player::requeue_or_discard(Step::Kind kind, Dice& dice) {
    std::vector<DeliveryRef> wanted;
    std::string text;
    for (std::size_t count = 1 + dice.below(3); count > 0 && !deliveries_.empty(); --count) {
        const bool dead = !dead_.empty() && !dice.one_in(kind == Step::Kind::replay ? 2 : 4);
        // Of the dead rather a late one: it is more likely to be so still.
        const std::size_t late = std::min<std::size_t>(dead_.size(), 4);
        wanted.push_back(dead ? dead_[dead_.size() - 1 - dice.below(late)]
                              : dice.pick(deliveries_));
        text += " " + to_string(wanted.back().message).substr(24) + "/" + wanted.back().target;
    }
    const auto results = kind == Step::Kind::requeue  ? here_.catalogue->requeue(wanted)
                         : kind == Step::Kind::replay ? here_.catalogue->replay(wanted)
                                                      : here_.catalogue->discard(wanted);
    text += " >";
    // The words are the store's own; whether it happened is not.
    for (const OperationResult& result : results) text += result.carried_out ? " yes" : " no";
    return text;
}

std::string Player::command(Dice& dice) {
    const Entry* row = known_row(dice);
    Command wish{.kind = static_cast<Command::Kind>(dice.below(2))};
    if (row != nullptr) {
        wish.message = row->message->id;
        if (wish.kind == Command::Kind::skip) wish.sequence = row->sequence;
    }
    const std::string text = told_.tell(wish);
    const std::uint64_t id = here_.catalogue->command(wish);
    if (id != 0) commands_.push_back(id);
    return text + " > " + told_.command(id);
}

std::string Player::command_result(Dice& dice) {
    if (commands_.empty()) return "nothing";
    const std::uint64_t id = dice.pick(commands_);
    const auto result = here_.catalogue->command_result(id);
    return told_.command(id) + " " +
           (result ? (result->carried_out ? "yes " : "no ") + result->text : "not yet");
}

std::string Player::sweep(Dice& dice) {
    const std::array<Duration, 4> times{Duration{}, 10s, 1h, forever};
    std::vector<BoxDeclaration> boxes;
    for (const std::string name : {"orders", "mail", "nowhere"}) {
        if (dice.one_in(3)) continue;
        BoxOptions options{.keep_done = dice.pick(times), .keep_dead = dice.pick(times)};
        options.keep_attempts = dice.pick(times);
        boxes.push_back({name, options});
    }
    const auto rows_max = 1 + static_cast<std::uint32_t>(dice.below(4));
    // To the end: of two that ended in the same moment either may go first.
    Swept all;
    for (bool more = true; more;) {
        const Swept round = here_.upkeep->sweep(boxes, rows_max);
        all.messages += round.messages;
        all.dead_letters += round.dead_letters;
        all.dedup_records += round.dedup_records;
        all.attempts += round.attempts;
        more = round.more;
    }
    return Transcript::tell(all);
}

Filter Player::filter(Dice& dice) {
    Filter filter{.state = static_cast<Filter::State>(dice.below(5))};
    filter.oldest_first = dice.one_in(3);
    if (dice.one_in(3)) filter.box = "orders";
    if (dice.one_in(4)) filter.type = dice.one_in(2) ? "T" : "*u*";
    if (dice.one_in(4)) filter.source = "sh*";
    if (dice.one_in(4)) filter.tenant = "acme";
    if (dice.one_in(4)) filter.target = "a";
    if (dice.one_in(5)) filter.reason = "oke";
    if (dice.one_in(5)) filter.since = stage_->clock.wall() - 10s;
    if (dice.one_in(5)) filter.until = stage_->clock.wall();
    return filter;
}

std::string Player::browse(const Filter& wanted, std::uint32_t rows_max) {
    std::string text;
    std::string cursor;
    do {
        const auto page = here_.catalogue->browse(wanted, cursor, rows_max);
        text += "\n  page of " + std::to_string(page.items.size());
        for (const MessageSummary& summary : page.items) text += "\n    " + told_.tell(summary);
        cursor = page.next;
    } while (!cursor.empty());
    return text;
}

std::string Player::letters(const Filter& wanted, std::uint32_t rows_max) {
    std::string text;
    std::string cursor;
    do {
        const auto page = here_.catalogue->dead_letters(wanted, cursor, rows_max);
        text += "\n  page of " + std::to_string(page.items.size());
        for (const DeadLetterDetail& dead : page.items) {
            text += "\n    " + told_.tell(dead.letter) + ": " + Transcript::tell(*dead.message);
        }
        cursor = page.next;
    } while (!cursor.empty());
    return text;
}

std::string Player::detail(const Uuid& id) {
    const auto found = here_.catalogue->get(id);
    return to_string(id).substr(24) + ": " + (found ? told_.tell(*found) : "not found");
}

std::string Player::everything() {
    std::string text = "everything:" + browse({}, 100) + letters({}, 100);
    std::vector<Uuid> ids = messages_;
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (const Uuid& id : ids) text += "\n" + detail(id);
    for (const PartitionId id : partitions_) {
        using enum ReadRequest::Kind;
        for (const auto kind : {scan, parked}) {
            text += "\n" + told_.tell(here_.store->read({.kind = kind, .partition = id}), false);
        }
        text += "\n" + told_.tell(here_.store->read(
                                      {.kind = due, .partitions = {id}, .due_until = store_never}),
                                  false);
    }
    return text + "\n" + told_.tell(here_.upkeep->health());
}

}  // namespace waybill::test
