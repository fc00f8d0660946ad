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
        carry_out(found->second.get(), command);
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
        carry_out(found->second.get(), command);
    }
}

void Machine::carry_out(Work* work, const Command& command) {
    if (work == nullptr) {
        return answer(command, false, "nothing of it is open any more");
    }
    switch (command.kind) {
        case Command::Kind::cancel:
            cancel(*work);
            answer(command, true, "cancelled; what was running ends first");
            break;
        case Command::Kind::skip:
            if (!work->halted) {
                answer(command, false, "its lane is not halted here");
                break;
            }
            work->halted = false;
            mark_dirty(*work);
            emit(Event::Kind::resumed, *work);
            answer(command, true, "skipped; its dead letter stays");
            break;
        case Command::Kind::resume: {
            const bool revived = work->halted && revive(*work, command.target);
            answer(command, revived,
                   revived ? "runs again in its old place" : "its lane is not halted here");
            break;
        }
    }
    retire(*work);
}

/// A dead delivery of a halted head becomes ready again, and those that died with it.
bool Machine::revive(Work& work, std::string_view target) {
    const Routes& routes = box_of(work).routes;
    const std::uint32_t index = routes.find(target);
    const auto found = std::ranges::find_if(work.deliveries, [&](const Delivery& delivery) {
        return delivery.target == index && delivery.state == Delivery::State::dead;
    });
    if (found == work.deliveries.end()) {
        return false;
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
                if (successor) {
                    revived.push_back(delivery.target);
                }
            }
        }
    }
    ++work.requeues;
    work.halted = std::ranges::any_of(work.deliveries, [](const Delivery& delivery) {
        return delivery.state == Delivery::State::dead;
    });
    const std::uint32_t chain = routes.targets()[index].chain;
    const std::uint64_t key = lane_key(work.lane_hash, chain);
    if (const auto* blocked = work.partition->blocked.find(key)) {
        const auto [head, more] = *blocked;
        work.partition->blocked.erase(key);
        const auto [lane, fresh] = work.partition->lanes.try_emplace(key);
        window_used_ += fresh ? lane_bytes : 0;
        lane->second.skipped_from = more ? head + 1 : 0;
    }
    const bool attached = std::ranges::any_of(work.deliveries, [&](const Delivery& delivery) {
        return delivery.chain == chain && delivery.attached;
    });
    mark_dirty(work);
    if (!attached && routes.chain_is_local(chain) &&
        work.sequence <= work.partition->cursors[chain]) {
        attach(work, chain);
    }
    emit(Event::Kind::resumed, work, target);
    return true;
}

void Machine::cancel(Work& work) {
    for (std::uint32_t i = 0; i < work.deliveries.size(); ++i) {
        Delivery& delivery = work.deliveries[i];
        if (delivery.state == Delivery::State::running) {
            delivery.cancel = true;
        } else if (delivery.state == Delivery::State::ready) {
            kill(work, delivery, "cancelled by an operator", {}, false);
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
}

void Machine::answer(const Command& command, bool carried_out, std::string text) {
    answers_.push_back({command.id, command.partition, carried_out, std::move(text)});
}

}  // namespace waybill::engine
