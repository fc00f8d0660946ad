#include <algorithm>

#include "core/engine/machine.hpp"

/// Which deliveries a row stands for, now and when the registry changes.
namespace waybill::engine {
namespace {

constexpr std::size_t kForeignMax = 64;

}  // namespace

/// Every registered target that wants the message, with what is already known of its delivery.
void Machine::route(const BoxState& box, const Entry& entry,
                    std::vector<Delivery>& deliveries) const {
    deliveries.clear();
    const std::vector<RouteTarget>& targets = box.routes.targets();
    const auto add = [&](std::uint32_t index) {
        Delivery delivery{
            .target = index, .chain = targets[index].chain, .due = entry.message->not_before};
        const auto known = std::ranges::find_if(entry.progress, [&](const Progress& progress) {
            return is_named(targets[index].target, progress.target);
        });
        if (known != entry.progress.end()) {
            delivery.state = known->state == Progress::State::done   ? Delivery::State::done
                             : known->state == Progress::State::dead ? Delivery::State::dead
                                                                     : Delivery::State::ready;
            delivery.announced = delivery.is_terminal();
            delivery.failures = known->failures;
            delivery.due = std::max(delivery.due, known->due);
            delivery.last_error = known->last_error;
            delivery.skipped = known->skipped;
        }
        deliveries.push_back(std::move(delivery));
    };
    if (entry.only.empty() && entry.progress.empty()) {
        std::ranges::for_each(box.routes.wanting(*entry.message), add);
        return;
    }
    // What has been begun is ended, also by one that would not want it today.
    std::vector<std::uint32_t> indexes;
    if (entry.only.empty()) {
        indexes = box.routes.wanting(*entry.message);
    }
    const auto add_named = [&](const std::string& key) {
        if (const std::uint32_t index = box.routes.find(key); index != UINT32_MAX) {
            indexes.push_back(index);
        }
    };
    std::ranges::for_each(entry.only, add_named);
    for (const Progress& progress : entry.progress) {
        add_named(progress.target);
    }
    std::ranges::sort(indexes);
    indexes.erase(std::ranges::unique(indexes).begin(), indexes.end());
    std::ranges::for_each(indexes, add);
}

void Machine::note_foreign(Partition& partition, const BoxState& box,
                           const std::vector<Delivery>& deliveries) {
    for (const Delivery& delivery : deliveries) {
        const RouteTarget& target = box.routes.targets()[delivery.target];
        if (target.local == no_executor && !delivery.is_terminal() &&
            partition.foreign.size() < kForeignMax &&
            std::ranges::find(partition.foreign, target.number) == partition.foreign.end()) {
            partition.foreign.push_back(target.number);
        }
    }
}

/// The registry changed while the work was in memory.
void Machine::reroute(Work& work) {
    const BoxState& box = box_of(work);
    const bool was_unmatched = is_unmatched(work);
    for (std::uint32_t i = 0; i < work.deliveries.size(); ++i) {
        follow_registry(work, i);
    }
    Entry entry{.message = work.message, .only = work.only};
    route(box, entry, routed_);
    for (Delivery& fresh : routed_) {
        const bool known = std::ranges::any_of(
            work.deliveries, [&](const Delivery& d) { return d.target == fresh.target; });
        if (!known && !work.collapsed) {
            // A successor joins a chain that is attached already; a new chain is read by the scan.
            fresh.attached = std::ranges::any_of(work.deliveries, [&](const Delivery& d) {
                return d.chain == fresh.chain && d.attached;
            });
            work.deliveries.push_back(std::move(fresh));
        }
    }
    if (was_unmatched && !is_unmatched(work)) {
        work.letters.clear();  // somebody wants it after all
        work.sent_letters = 0;
        work.parked = false;
    } else if (!was_unmatched && is_unmatched(work)) {
        give_up_unmatched(work);
    }
    bury_orphans(work);
    note_foreign(*work.partition, box, work.deliveries);
}

/// A forgotten target counts no longer. If it is registered again in time, after a failover that had
/// lost it, say, it counts as before.
void Machine::follow_registry(Work& work, std::uint32_t index) {
    Delivery& delivery = work.deliveries[index];
    const bool is_forgotten = box_of(work).routes.targets()[delivery.target].forgotten;
    if (is_forgotten && delivery.state == Delivery::State::ready) {
        clear_timer(delivery);
        delivery.state = Delivery::State::done;
        delivery.waived = true;
        delivery.changed = delivery.sent = false;
        mark_dirty(work);
    } else if (!is_forgotten && delivery.waived) {
        delivery.state = Delivery::State::ready;
        delivery.waived = false;
        if (delivery.failures > 0) {
            delivery.changed = true;  // the last one may not have been stored
            mark_dirty(work);
        }
        if (delivery.attached && !work.entered) {
            set_timer(work, index, work.message->not_before);
        } else if (delivery.attached) {
            advance(work, delivery.chain);
        }
    }
}

/// Nothing has come of it, and nobody is left to want it.
bool Machine::is_unmatched(const Work& work) {
    return !work.missing && !work.begun && !work.collapsed &&
           std::ranges::all_of(work.deliveries, [](const Delivery& delivery) {
               return delivery.waived && delivery.failures == 0;
           });
}

/// What becomes of a message that nobody wants is for its box to say.
void Machine::give_up_unmatched(Work& work) {
    const Unmatched unmatched = box_of(work).box->options.unmatched;
    if (unmatched == Unmatched::park) {
        work.parked = true;
    } else if (unmatched == Unmatched::dead) {
        bury_unrouted(work, "no registered target matches");
    }
}

/// A dead letter of no target.
void Machine::bury_unrouted(Work& work, std::string reason) {
    work.letters.push_back({.message = work.message->id,
                            .sequence = work.sequence,
                            .reason = std::move(reason),
                            .requeues = work.requeues,
                            .at = store_now()});
}

}  // namespace waybill::engine
