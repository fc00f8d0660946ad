#include <algorithm>

#include "core/engine/machine.hpp"

/// Wishes of people that only the owner can grant.
namespace waybill::engine {

void Machine::on_command(const Command& command) {
    if (!commands_seen_.emplace(command.id, command.partition).second) {
        return;
    }
    Partition& partition = *find_partition(command.partition);
    const auto found = partition.works.find(command.sequence);
    if (found != partition.works.end()) {
        carry_out(&found->second, command);
    } else {
        waiting_commands_.push_back(command);  // its row must be read first
    }
}

/// Rows that came into memory while their command waited.
void Machine::carry_out_waiting() {
    if (waiting_commands_.empty() || row_read_) {
        return;
    }
    const Command command = waiting_commands_.front();
    Partition* partition = find_partition(command.partition);
    const auto found = partition->works.find(command.sequence);
    if (found != partition->works.end()) {
        waiting_commands_.pop_front();
        carry_out(&found->second, command);
    }
}

void Machine::carry_out(Work* work, const Command& command) {
    if (work == nullptr) {
        return answer(command, false, "nothing of it is open any more");
    }
    switch (command.kind) {
        case Command::Kind::cancel: {
            const bool was_halted = work->halted;
            const bool cancelled = cancel(*work);
            if (was_halted) {
                skip(*work);
            }
            answer(command, cancelled || was_halted,
                   cancelled    ? "cancelled; what was running ends first"
                   : was_halted ? "skipped; its dead letter stays"
                                : "nothing of it is open any more");
            break;
        }
        case Command::Kind::skip:
            if (!work->halted) {
                answer(command, false, "its lane is not halted here");
                break;
            }
            skip(*work);
            answer(command, true, "skipped; its dead letter stays");
            break;
        case Command::Kind::resume: {
            const bool revived = work->halted && revive(*work, command.target);
            answer(command, revived,
                   revived ? "runs again in its old place"
                           : "it is no dead head of a halted lane here; requeue its predecessor");
            break;
        }
    }
    retire(*work);
}

void Machine::skip(Work& work) {
    emit(Event::Kind::resumed, work);
    for (const std::uint32_t chain : chains_of(work.deliveries)) {
        if (!chain_is_halted(work, chain)) {
            continue;
        }
        for (Delivery& delivery : work.deliveries) {
            if (delivery.chain == chain && delivery.state == Delivery::State::dead) {
                delivery.skipped = delivery.changed = true;
            }
        }
        // A successor that goes on after a dead predecessor may still have to run.
        if (any_open(work.deliveries, chain)) {
            unblock(work, chain);
        }
    }
    work.halted = false;
    mark_dirty(work);
}

/// The head of this lane is no longer stuck: the lane comes back into memory with it.
void Machine::unblock(Work& work, std::uint32_t chain) {
    Partition& partition = *work.partition;
    const std::uint64_t key = lane_key(work.lane_hash, chain);
    const auto blocked = partition.blocked.find(key);
    if (blocked && blocked->head < work.sequence) {
        partition.blocked.set(key, blocked->head, true);  // another one is stuck before it
        return;
    }
    lift_block(partition, key, work.sequence);
    if (!is_attached(work.deliveries, chain) && box_of(work).routes.chain_is_local(chain) &&
        work.sequence <= partition.cursors[chain]) {
        attach(work, chain);
    }
}

/// It died and lives again before anybody heard of it.
void Machine::forget_unsent_letter(Work& work, std::string_view target) {
    const bool on_its_way =
        work.settle == Work::Settle::sent || work.settle == Work::Settle::sent_and_dirty;
    const auto unsent = work.letters.begin() + (on_its_way ? work.sent_letters : 0);
    work.letters.erase(
        std::remove_if(unsent, work.letters.end(),
                       [&](const DeadLetter& letter) { return letter.target == target; }),
        work.letters.end());
}

/// A dead delivery of a halted head becomes ready again, and those that died with it.
bool Machine::revive(Work& work, std::string_view target) {
    const Routes& routes = box_of(work).routes;
    const std::uint32_t index = routes.find(target);
    const auto found = std::ranges::find_if(work.deliveries, [&](const Delivery& delivery) {
        // A death that is not durable yet is a newer one than the operator saw.
        return delivery.target == index && delivery.state == Delivery::State::dead &&
               delivery.is_settled();
    });
    if (found == work.deliveries.end() || !predecessor_done(work, *found)) {
        return false;  // not dead here, or only its predecessor can bring it back
    }
    std::vector<std::uint32_t> revived{index};
    for (std::size_t i = 0; i < revived.size(); ++i) {
        for (Delivery& delivery : work.deliveries) {
            const bool successor = routes.predecessor(delivery.target) == revived[i] &&
                                   delivery.state == Delivery::State::dead;
            if ((delivery.target == revived[i] || successor) &&
                delivery.state == Delivery::State::dead) {
                delivery.state = Delivery::State::ready;
                delivery.failures = 0;
                delivery.due = store_now();
                delivery.last_error.clear();
                delivery.changed = true;
                delivery.cancel = false;
                delivery.skipped = false;
                delivery.announced = false;
                forget_unsent_letter(work, target_key(work, delivery));
                work.revived.emplace_back(target_key(work, delivery));
                if (successor) {
                    revived.push_back(delivery.target);
                }
            }
        }
    }
    ++work.requeues;
    work.halted = std::ranges::any_of(chains_of(work.deliveries), [&](std::uint32_t other) {
        return any_halting(work.deliveries, other);
    });
    const std::uint32_t chain = routes.targets()[index].chain;
    mark_dirty(work);
    unblock(work, chain);
    emit(Event::Kind::resumed, work, target);
    return true;
}

/// False: nothing of it was open.
bool Machine::cancel(Work& work) {
    bool any = false;
    for (std::uint32_t i = 0; i < work.deliveries.size(); ++i) {
        Delivery& delivery = work.deliveries[i];
        if (delivery.state == Delivery::State::running) {
            delivery.cancel = true;
            any = true;
        } else if (delivery.state == Delivery::State::ready) {
            kill(work, delivery, "cancelled by an operator", {}, false);
            any = true;
        }
    }
    std::vector<RunId> running;
    for (const auto& [id, run] : runs_) {
        if (std::ranges::any_of(run.parts,
                                [&](const RunState::Part& part) { return part.work == &work; }) &&
            !run.ghost) {
            running.push_back(id);
        }
    }
    std::ranges::sort(running);
    commands_.cancels.insert(commands_.cancels.end(), running.begin(), running.end());
    return any;
}

void Machine::answer(const Command& command, bool carried_out, std::string text) {
    answers_.push_back({command.id, command.partition, carried_out, std::move(text)});
}

}  // namespace waybill::engine
