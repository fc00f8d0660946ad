#include <algorithm>

#include "simulation/checker.hpp"

namespace waybill::sim {
namespace {

using State = Progress::State;

const DeadLetter* find_letter(const Settlement& item, const std::string& target) {
    const auto found = std::find_if(item.dead.begin(), item.dead.end(),
                                    [&](const DeadLetter& d) { return d.target == target; });
    return found == item.dead.end() ? nullptr : &*found;
}

std::string describe(const Settlement& item) {
    std::string text = item.finish ? "finish" : "keep";
    for (const Progress& p : item.progress) {
        text += " " + p.target + "=" +
                (p.state == State::done   ? "done"
                 : p.state == State::dead ? "dead"
                                          : "ready") +
                "/" + std::to_string(p.failures);
    }
    for (const DeadLetter& d : item.dead) text += " dead " + d.target + " (" + d.reason + ")";
    if (item.halted) text += " halted";
    if (item.parked) text += " parked";
    if (item.solo_epoch != 0) text += " solo " + std::to_string(item.solo_epoch);
    if (item.strikes != 0) text += " strikes " + std::to_string(item.strikes);
    return text;
}

}  // namespace

/// What the handler itself may have spent, timeouts included.
std::uint32_t Checker::allowed_failures(MessageNumber message, const std::string& target) const {
    const auto facts = deliveries_.find({message, target});
    std::uint32_t count = facts == deliveries_.end() ? 0 : facts->second.fails;
    for (const ActiveRun& run : active_) {
        if (run.target != target || now_ < run.deadline) continue;
        count += static_cast<std::uint32_t>(
            std::count(run.messages.begin(), run.messages.end(), message));
    }
    return count;
}

void Checker::on_settlement(const Fence& fence, const Settlement& item, const OpenRow* row) {
    const MessageNumber number = number_of(item.message);
    note("settled", -1, number, item.sequence, describe(item));
    if (!is_current(fence)) {
        fail("I5", "a settle with a token that had moved was applied", number);
        return;
    }
    if (row == nullptr || row->entry.message->id != item.message) return;
    if (row->entry.parked && !item.parked) {
        // Whoever had read it had read a parked one.
        const std::pair place{item.partition, item.sequence};
        unparked_[place] = now_;
        for (auto& [process, facts] : processes_) facts.read.erase(place);
    }
    check_progress(item, row->entry);
    check_dead(item, row->entry);
    check_halt(item, row->entry);
    if (item.finish) check_finish(item, row->entry);
}

/// I6: done stays done. I9: only the handler's own failures count, and none is forgotten.
void Checker::check_progress(const Settlement& item, const Entry& entry) {
    const MessageNumber number = number_of(item.message);
    for (const Progress& next : item.progress) {
        const Progress* known = find_progress(entry.progress, next.target);
        const bool was_promised = !item.revived.empty();
        if (known != nullptr && known->state == State::done && next.state != State::done) {
            fail("I6", "the recorded success of " + next.target + " was taken back", number);
        }
        if (next.state == State::done && (known == nullptr || known->state != State::done) &&
            !deliveries_[{number, next.target}].done) {
            fail("I8", next.target + " is recorded as done, and no handler said so", number);
        }
        if (next.failures > allowed_failures(number, next.target)) {
            fail("I9",
                 next.target + " has " + std::to_string(next.failures) +
                     " failures recorded, its handler failed " +
                     std::to_string(allowed_failures(number, next.target)) + " times",
                 number);
        }
        if (known != nullptr && known->state == State::ready && next.state == State::ready &&
            next.failures < known->failures && !was_promised) {
            fail("I9", "a recorded failure of " + next.target + " was forgotten", number);
        }
        if (known != nullptr && known->state == State::dead && next.state == State::ready &&
            !was_promised) {
            fail("I2", "the dead delivery of " + next.target + " came back by itself", number);
        }
    }
}

/// I9: nothing dies before its time.
void Checker::check_dead(const Settlement& item, const Entry& entry) {
    const MessageNumber number = number_of(item.message);
    const BoxPlan& box = box_plan(entry.message->box);
    for (const DeadLetter& letter : item.dead) {
        const Progress* known = find_progress(entry.progress, letter.target);
        if (known != nullptr && known->state == State::dead) continue;
        letters_.insert({letter.message, letter.target});
        if (letter.reason.find("crash loop") != std::string::npos) {
            const std::uint32_t deaths = messages_[static_cast<std::size_t>(number)].alone_deaths;
            if (deaths < 3) {
                fail("C1",
                     "crash loop, though alone in flight only " + std::to_string(deaths) +
                         " times when its process died",
                     number);
            }
            continue;
        }
        const DeliveryFacts& facts = deliveries_[{number, letter.target}];
        if (facts.hopeless || cancelled_.contains(item.message)) continue;
        if (letter.target.empty() && matching(store_->db().registry, entry).empty()) continue;
        const TargetPlan* plan = target_plan(box, letter.target);
        if (plan == nullptr) {
            fail("I9", "a dead letter for an unknown target", number);
            continue;
        }
        const std::uint32_t most = plan->options.retry.max_attempts;
        if (letter.failures >= most && allowed_failures(number, letter.target) >= most) continue;
        const std::string& after = plan->target.after;
        const Progress* before = find_progress(entry.progress, after);
        const bool died_with_it =
            !after.empty() && (find_letter(item, after) != nullptr ||
                               (before != nullptr && before->state == State::dead));
        if (died_with_it) continue;
        fail("I9",
             letter.target + " died after " + std::to_string(letter.failures) + " of " +
                 std::to_string(most) + " attempts: " + letter.reason,
             number);
    }
}

/// I10: in halt mode a death holds its lane, until an operator says otherwise.
void Checker::check_halt(const Settlement& item, const Entry& entry) {
    const BoxOptions& options = box_plan(entry.message->box).options;
    const bool may_halt = options.lanes == Lanes::strict && options.on_dead == OnDead::halt &&
                          !entry.message->lane.empty();
    const bool is_wanted = cancelled_.contains(item.message) || skipped_.contains(item.message);
    if (!may_halt || is_wanted || entry.halted) return;
    for (const DeadLetter& letter : item.dead) {
        if (letter.target.empty() || (item.halted && !item.finish)) continue;
        // It died, and was put back before anyone wrote that down.
        if (std::find(item.revived.begin(), item.revived.end(), letter.target) !=
            item.revived.end()) {
            continue;
        }
        fail("I10", letter.target + " died in halt mode, and its lane goes on",
             number_of(item.message));
    }
}

bool Checker::is_collapsed(const Settlement& item, const Entry& entry) const {
    const Message& older = *entry.message;
    if (older.collapse_key.empty()) return false;
    const MessageNumber number = number_of(item.message);
    const bool has_begun = std::any_of(entry.progress.begin(), entry.progress.end(),
                                       [](const Progress& p) { return p.state == State::done; });
    const bool is_running = std::any_of(active_.begin(), active_.end(), [&](const ActiveRun& run) {
        return is_current(run.fence) && now_ < run.deadline &&
               std::find(run.messages.begin(), run.messages.end(), number) != run.messages.end();
    });
    if (has_begun || is_running) return false;
    return std::any_of(messages_.begin(), messages_.end(), [&](const MessageFacts& facts) {
        const Message& other = facts.message;
        return facts.committed && other.id != older.id && other.box == older.box &&
               other.lane == older.lane && other.collapse_key == older.collapse_key;
    });
}

/// I2 and D4: a row goes when all registered matching targets are terminal, and in no other way.
void Checker::check_finish(const Settlement& item, const Entry& entry) {
    const MessageNumber number = number_of(item.message);
    if (is_collapsed(item, entry)) return;
    const std::vector<const Target*> wanted = matching(store_->db().registry, entry);
    for (const Target* target : wanted) {
        const Progress* known = progress_of(entry, *target);
        const bool was_terminal = known != nullptr && known->state != State::ready;
        const auto facts = deliveries_.find({number, target->key});
        const bool is_done = facts != deliveries_.end() && facts->second.done;
        if (was_terminal || is_done || find_letter(item, target->key) != nullptr) continue;
        if (forgotten_.contains({target->box, target->key})) continue;
        fail("I2", "it was finished, and " + target->key + " has not ended", number);
    }
    const Unmatched unmatched = box_plan(entry.message->box).options.unmatched;
    if (!wanted.empty() || !entry.only.empty() || !entry.progress.empty()) return;
    if (unmatched == Unmatched::park) fail("I2", "nothing matched, and it was finished", number);
    if (unmatched == Unmatched::dead && item.dead.empty()) {
        fail("I2", "nothing matched, and it left without a dead letter", number);
    }
}

void Checker::on_settled(const SettleBatch& batch) {
    for (const Settlement& item : batch.items) {
        for (const DeadLetter& letter : item.dead) {
            const DeadKey key{letter.message, letter.target};
            if (letters_.contains(key) && !store_->db().dead.contains(key)) {
                fail("I2", "a dead letter of " + letter.target + " is missing",
                     number_of(letter.message));
            }
        }
    }
}

/// I7: effects commit with the record or not at all, and once.
void Checker::on_inline(const InlineRequest& request, InlineResult::Record record) {
    const MessageNumber number = number_of(request.message);
    using enum InlineResult::Record;
    note(record == recorded  ? "inline recorded"
         : record == already ? "inline already"
                             : "inline lost",
         -1, number, request.sequence, request.target);
    if (record != recorded) return;
    if (!is_current(request.fence))
        fail("I7", "an inline commit with a token that had moved", number);
    deliveries_[{number, request.target}].done = true;
    const OpenRow* row = store_->db().find_open(request.fence.partition, request.sequence);
    const EffectKey key{request.message, request.target, row->entry.requeues};
    const auto effects = store_->db().effects.find(key);
    if (effects == store_->db().effects.end() || effects->second != 1) {
        fail("I7", "the effects of " + request.target + " were committed twice", number);
    }
}

/// I2: a requeued letter is open work, or still a letter until the owner has put it back.
void Checker::on_requeued(const DeadKey& key) {
    const Database& db = store_->db();
    if (db.dead.contains(key)) return;
    for (const auto& [partition, rows] : db.open) {
        for (const auto& [sequence, row] : rows) {
            const Entry& entry = row.entry;
            const bool is_for_it =
                std::find(entry.only.begin(), entry.only.end(), key.second) != entry.only.end();
            if (entry.message->id == key.first && entry.requeues > 0 && is_for_it) return;
        }
    }
    fail("I2", "the requeued delivery of " + key.second + " is nowhere", number_of(key.first));
}

void Checker::on_forgotten(const std::string& box, const std::string& key) {
    forgotten_.emplace(box, key);
    note("forget", -1, no_message, 0, box + "/" + key);
}

void Checker::on_dead_removed(const DeadKey& key) {
    letters_.erase(key);
    note("letter removed", -1, number_of(key.first), 0, key.second);
}

}  // namespace waybill::sim
