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
    for (std::uint32_t index = 0; index < targets.size(); ++index) {
        const RouteTarget& route = targets[index];
        if (route.forgotten) {
            continue;
        }
        const auto named = [&](std::string_view key) {
            return key == route.target.key || std::ranges::find(route.target.legacy_keys, key) !=
                                                  route.target.legacy_keys.end();
        };
        const auto known = std::ranges::find_if(entry.progress,
                                                [&](const Progress& p) { return named(p.target); });
        const bool wanted = entry.only.empty() ? matches(route.target.matcher, *entry.message)
                                               : std::ranges::any_of(entry.only, named);
        if (!wanted && known == entry.progress.end()) {
            continue;
        }
        Delivery delivery{.target = index, .chain = route.chain, .due = entry.message->not_before};
        if (known != entry.progress.end()) {
            delivery.state = known->state == Progress::State::done   ? Delivery::State::done
                             : known->state == Progress::State::dead ? Delivery::State::dead
                                                                     : Delivery::State::ready;
            delivery.failures = known->failures;
            delivery.due = std::max(delivery.due, known->due);
            delivery.last_error = known->last_error;
            delivery.skipped = known->skipped;
        }
        deliveries.push_back(std::move(delivery));
    }
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
    for (Delivery& delivery : work.deliveries) {
        if (box.routes.targets()[delivery.target].forgotten &&
            delivery.state == Delivery::State::ready) {
            clear_timer(delivery);
            delivery.state = Delivery::State::done;  // it counts no longer
            mark_dirty(work);
        }
    }
    const bool was_unmatched = work.deliveries.empty() && !work.missing;
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
    if (was_unmatched && !work.deliveries.empty()) {
        work.letters.clear();  // somebody wants it after all
        work.sent_letters = 0;
        work.parked = false;
    }
    bury_orphans(work);
    note_foreign(*work.partition, box, work.deliveries);
}

}  // namespace waybill::engine
