#include <algorithm>
#include <stdexcept>

#include "fidelity/player.hpp"

/// What owners write: results as an engine would send them.
namespace waybill::test {

using namespace std::chrono_literals;

Settlement Player::settlement(Dice& dice, const Entry& entry) {
    const StoreTime now = stage_->clock.wall();
    const std::string target(1, "abc"[dice.below(3)]);
    Settlement item{.partition = entry.partition,
                    .sequence = entry.sequence,
                    .message = entry.message->id,
                    .due = entry.due,
                    .halted = entry.halted,
                    .parked = entry.parked,
                    .strikes = entry.strikes,
                    .solo_epoch = entry.solo_epoch,
                    .requeues = entry.requeues};
    const auto letter = [&](const std::string& key, const std::string& because) {
        dead_.push_back({item.message, key});
        return DeadLetter{.message = item.message,
                          .sequence = item.sequence,
                          .target = key,
                          .reason = because.empty() ? "broken" : "predecessor",
                          .failures = static_cast<std::uint32_t>(dice.below(4)),
                          .requeues = item.requeues,
                          .because = because,
                          .at = now};
    };
    const auto attempt = [&](Attempt::Result result) {
        item.attempts.push_back({.message = item.message,
                                 .target = target,
                                 .requeues = item.requeues,
                                 .number = 1 + static_cast<std::uint32_t>(dice.below(3)),
                                 .result = result,
                                 .at = now,
                                 .took = 7us,
                                 .error = "no",
                                 .detail = dice.one_in(2) ? R"({"status":500,"body":"é\n"})" : ""});
    };
    switch (dice.below(9)) {
        case 0:
        case 1:
            item.finish = true;
            item.drop_message = dice.one_in(3);
            if (dice.one_in(2)) attempt(Attempt::Result::done);
            break;
        case 2:  // dies, and what runs after it
            item.finish = true;
            item.dead.push_back(letter("a", ""));
            if (dice.one_in(2)) item.dead.push_back(letter("b", "a"));
            attempt(Attempt::Result::dead);
            break;
        case 3:  // one of two died, the other goes on
            item.progress.push_back(
                {.target = "a", .state = Progress::State::dead, .failures = 2, .last_error = "no"});
            item.dead.push_back(letter("a", ""));
            break;
        case 4:
            item.progress.push_back({.target = target, .state = Progress::State::done});
            if (dice.one_in(2)) {
                item.progress.push_back({.target = "c",
                                         .state = Progress::State::ready,
                                         .failures = 1,
                                         .due = now + 5s,
                                         .last_error = "later"});
            }
            break;
        case 5:
            item.due = now + dice.pick(std::array<Duration, 3>{1s, 5s, 1h});
            item.progress.push_back({.target = target,
                                     .state = Progress::State::ready,
                                     .failures = 1 + static_cast<std::uint32_t>(dice.below(3)),
                                     .due = item.due,
                                     .last_error = "not yet"});
            attempt(Attempt::Result::failed);
            break;
        case 6:
            item.parked = !entry.parked;
            item.due = item.parked ? store_never : entry.message->not_before;
            break;
        case 7:
            if (entry.message->lane.empty()) break;
            item.halted = true;
            item.progress.push_back({.target = "a", .state = Progress::State::dead, .failures = 3});
            item.dead.push_back(letter("a", ""));
            break;
        default:
            if (entry.halted) {  // resumed by its owner
                item.halted = false;
                item.requeues = entry.requeues + 1;
                item.revived = {"a"};
                item.progress.push_back({.target = "a", .state = Progress::State::ready});
            } else {
                item.strikes = entry.strikes + 1;
                item.solo_epoch = dice.below(2);
            }
    }
    return item;
}

std::string Player::describe(const Settlement& item) {
    std::string text = told_.partition(item.partition) + " " + told_.row(item.sequence) + " " +
                       to_string(item.message).substr(24) + (item.finish ? " finish" : "") +
                       (item.drop_message ? " drop" : "") + " due " + Transcript::time(item.due) +
                       (item.halted ? " halted" : "") + (item.parked ? " parked" : "") +
                       " requeues " + std::to_string(item.requeues);
    for (const Progress& progress : item.progress) {
        text += " " + progress.target + "=" + std::to_string(static_cast<int>(progress.state));
    }
    for (const DeadLetter& letter : item.dead) text += " dead " + letter.target;
    for (const std::string& target : item.revived) text += " revived " + target;
    for (const Attempt& attempt : item.attempts) text += " " + Transcript::tell(attempt);
    return text;
}

std::string Player::settle(Dice& dice) {
    last_settler_ = dice.below(hosts_.size());
    Host& who = hosts_[last_settler_];
    last_settle_ = {.registry_version = who.seen.registry_version};
    for (const auto& [id, token] : who.taken) last_settle_.fences.push_back({id, token});
    std::string text = who.state.name + ":";
    std::vector<Sequence> rows;
    for (std::size_t count = dice.below(4); count > 0; --count) {
        const Entry* row = known_row(dice);
        if (row == nullptr || std::ranges::find(rows, row->sequence) != rows.end()) continue;
        rows.push_back(row->sequence);
        last_settle_.items.push_back(settlement(dice, *row));
        text += "\n  < " + describe(last_settle_.items.back());
    }
    for (const Command& command : who.commands) {
        if (dice.one_in(2)) continue;
        last_settle_.commands.push_back(
            {command.id, command.partition, dice.one_in(2), "answered by " + who.state.name});
        text += "\n  < answers " + told_.command(command.id);
    }
    return text + "\n  > " + told_.tell(who.roles.store->settle(last_settle_));
}

/// After a lost answer.
std::string Player::repeat(Dice&) {
    Host& who = hosts_[last_settler_];
    last_settle_.registry_version = who.seen.registry_version;
    return told_.tell(who.roles.store->settle(last_settle_));
}

std::string Player::inline_run(Dice& dice) {
    Host& who = host(dice);
    const Entry* row = known_row(dice);
    if (row == nullptr || !who.taken.contains(row->partition)) return "nothing";
    const InlineRequest request{.fence = {row->partition, who.taken.at(row->partition)},
                                .sequence = row->sequence,
                                .message = row->message->id,
                                .target = std::string(1, "abc"[dice.below(3)])};
    const std::size_t end = dice.below(4);
    Message effect = message(dice);
    effect.id = row->message->id;
    effect.id.bytes[0] ^= 0x55;
    effect.dedup_key.clear();
    const Append write = item(dice, effect);
    std::string text = who.state.name + ": " + told_.row(row->sequence) + " " + request.target;
    try {
        const InlineResult result =
            who.roles.inline_store->run_inline(request, [&](void* native) -> Outcome {
                if (end > 0) stage_->append_inside(native, write);
                if (end == 2) return Fail{"no"};
                if (end == 3) throw std::runtime_error{"thrown"};
                return Done{};
            });
        return text + " record " + std::to_string(static_cast<int>(result.record)) + " outcome " +
               std::to_string(result.outcome.index());
    } catch (const std::runtime_error& error) {
        return text + " " + error.what();
    }
}

}  // namespace waybill::test
