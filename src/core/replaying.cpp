#include "core/replaying.hpp"

#include <algorithm>

#include "core/asking.hpp"
#include "core/wording.hpp"
#include "waybill/target.hpp"

namespace waybill::detail {
namespace {

const Target* registered(std::span<const Target> targets, const std::string& box,
                         std::string_view key) {
    const auto found = std::ranges::find_if(
        targets, [&](const Target& target) { return target.box == box && is_named(target, key); });
    return found == targets.end() ? nullptr : &*found;
}

/// Where the chain of a target begins: those that share one keep one order.
const Target* first_of_chain(std::span<const Target> targets, const Target& target) {
    const Target* first = &target;
    for (std::size_t steps = 0; steps < targets.size() && !first->after.empty(); ++steps) {
        const Target* const before = registered(targets, target.box, first->after);
        if (before == nullptr) break;
        first = before;
    }
    return first;
}

/// What a halted row is halted by.
std::vector<std::string> dead_at(const Entry& row, std::span<const DeadLetter> letters) {
    std::vector<std::string> keys;
    for (const Progress& progress : row.progress) {
        if (progress.state == Progress::State::dead && !progress.skipped) {
            keys.push_back(progress.target);
        }
    }
    for (const DeadLetter& letter : letters) {
        if (letter.sequence == row.sequence) keys.push_back(letter.target);
    }
    return keys;
}

bool lane_stands_here(const Target& target, const ReplayFacts& facts,
                      std::span<const Target> targets) {
    const Target* const chain = first_of_chain(targets, target);
    return std::ranges::any_of(facts.open, [&](const Entry& row) {
        return row.halted &&
               std::ranges::any_of(dead_at(row, facts.letters), [&](const std::string& key) {
                   const Target* const dead = registered(targets, target.box, key);
                   return dead != nullptr && first_of_chain(targets, *dead) == chain;
               });
    });
}

}  // namespace

ReplayVerdict judge_replay(const std::string& key, const ReplayFacts& facts,
                           std::span<const Target> targets) {
    const Target* const target = registered(targets, facts.message.box, key);
    if (target == nullptr) {
        return {.refusal = "no target " + in_quotes(key) + " is registered in box " +
                           in_quotes(facts.message.box)};
    }
    ReplayVerdict verdict{.target = target->key};
    const std::string name = "target " + in_quotes(target->key);
    if (std::ranges::any_of(facts.open, [&](const Entry& row) {
            return waits_for(*target, row, facts.message, targets);
        })) {
        verdict.refusal = name + " has not ended its delivery of this message yet";
    } else if (lane_stands_here(*target, facts, targets)) {
        verdict.refusal = lane_stands_at_it;
    } else if (const auto letter = std::ranges::find_if(
                   facts.letters,
                   [&](const DeadLetter& dead) { return is_named(*target, dead.target); });
               letter != facts.letters.end()) {
        verdict.dead_as = letter->target;
    } else if (!wants(*target, facts.message, targets)) {
        // Not even by hand: what is one tenant's must not reach another by a filter that is too wide.
        verdict.refusal = name + " does not want this message: its matcher says otherwise";
    }
    return verdict;
}

std::uint32_t next_generation(const ReplayFacts& facts) {
    std::uint32_t most = facts.requeues;
    for (const Entry& row : facts.open) most = std::max(most, row.requeues);
    for (const DeadLetter& letter : facts.letters) most = std::max(most, letter.requeues);
    return most + 1;
}

OperationResult no_such_message(const Uuid& id) {
    return {.text = "message " + to_string(id) + " is not kept any more, or never was"};
}

}  // namespace waybill::detail
