#include <algorithm>

#include "simulation/checker.hpp"

namespace waybill::sim {

/// A head that halted holds the rest of its chain, and what comes after it in its lane and chain.
bool Checker::is_behind_halt(const OpenRow& row, const std::string& chain) const {
    const auto& rows = store_->db().open.at(row.entry.partition);
    for (auto at = rows.begin(); at != rows.end() && at->first <= row.entry.sequence; ++at) {
        const Entry& head = at->second.entry;
        if (!head.halted || head.message->lane != row.entry.message->lane) continue;
        for (const Target* target : matching(store_->db().registry, head)) {
            const Progress* progress = progress_of(head, *target);
            if (progress != nullptr && progress->state == Progress::State::dead &&
                chain_of(store_->db().registry, target->box, target->key) == chain) {
                return true;
            }
        }
    }
    return false;
}

std::vector<const OpenRow*> Checker::unfinished() const {
    std::vector<const OpenRow*> found;
    for (const auto& [partition, rows] : store_->db().open) {
        for (const auto& [sequence, row] : rows) {
            const Entry& entry = row.entry;
            const std::vector<const Target*> wanted = matching(store_->db().registry, entry);
            if (entry.parked && wanted.empty()) continue;
            const BoxPlan& box = box_plan(entry.message->box);
            const bool may_halt = box.options.lanes == Lanes::strict &&
                                  box.options.on_dead == OnDead::halt &&
                                  !entry.message->lane.empty();
            bool any_held = false;
            bool any_free = false;
            for (const Target* target : wanted) {
                const Progress* progress = progress_of(entry, *target);
                if (progress != nullptr && progress->state != Progress::State::ready) continue;
                const std::string chain = chain_of(store_->db().registry, target->box, target->key);
                const bool is_held = may_halt && is_behind_halt(row, chain);
                (is_held ? any_held : any_free) = true;
            }
            const bool is_stuck = any_free || (!any_held && !entry.halted);
            if (is_stuck) found.push_back(&row);
        }
    }
    return found;
}

/// I17: who has stopped holds nothing and runs nothing.
void Checker::on_stopped(ProcessNumber process) {
    note("stopped", process);
    const bool had_trouble = now_ - processes_[process].trouble < plan_.engine.shutdown_timeout * 2;
    // What ended in the last moment may not be settled in time.
    const bool just_ended =
        now_ - processes_[process].last_return < plan_.engine.shutdown_timeout / 4;
    if (has_running(process) || had_trouble || just_ended) return;
    const Uuid& self = processes_[process].incarnation;
    for (const auto& [id, row] : store_->db().partitions) {
        if (row.token.owner == self && row.token.generation == store_->generation()) {
            fail("I17", "i" + std::to_string(process) + " stopped and still owns partition " +
                            std::to_string(id));
        }
    }
}

/// I2 and I7 once more, over everything.
void Checker::at_end() {
    const Database& db = store_->db();
    for (std::size_t i = 0; i < messages_.size(); ++i) {
        const MessageFacts& facts = messages_[i];
        const auto number = static_cast<MessageNumber>(i);
        if (facts.acked && !facts.committed && !facts.was_lost) {
            fail("I1", "an acked message is not there", number);
        }
        if (!facts.committed) continue;
        const bool is_open = db.has_open(facts.message.id);
        const bool is_finished = db.finished.contains(facts.message.id);
        if (is_open == is_finished) {
            fail("I2", is_open ? "it is open and finished" : "it vanished", number);
        }
    }
    for (const DeadKey& key : letters_) {
        if (!db.dead.contains(key)) fail("I2", "a dead letter vanished", number_of(key.first));
    }
    for (const auto& [key, count] : db.effects) {
        const bool is_recorded = db.inline_done.contains(key);
        if (count != 1 || !is_recorded) {
            fail("I7",
                 key.target + ": " + std::to_string(count) + " effects, " +
                     (is_recorded ? "recorded" : "not recorded"),
                 number_of(key.message));
        }
    }
}

}  // namespace waybill::sim
