#include <algorithm>

#include "simulation/world.hpp"

namespace waybill::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kDisturbEvery = milliseconds{200};
constexpr Duration kOperateEvery = milliseconds{300};

double share_of_second(Duration time) {
    return static_cast<double>(time.count()) / 1e6;
}

}  // namespace

void World::disturb() {
    if (!faults_on_) return;
    const double part = share_of_second(kDisturbEvery);
    const FaultPlan& faults = plan_.faults;
    for (auto& process : processes_) {
        if (!process->up || process->paused) continue;
        if (dice_.chance(faults.crash * part)) {
            crash(*process);
            restart_later(*process, dice_.skewed(milliseconds{50}, seconds{8}));
        } else if (dice_.chance(faults.pause * part)) {
            pause(*process, dice_.skewed(milliseconds{100}, plan_.engine.lease * 3));
        } else if (!process->stopping && dice_.chance(faults.restart * part)) {
            stop(*process);
        }
    }
    if (dice_.chance(faults.failover * part)) fail_over();
    if (dice_.chance(faults.clock_step * part)) step_clock();
    if (dice_.chance(faults.outage * part)) {
        outage_until_ = now_ + dice_.between(milliseconds{200}, plan_.engine.lease * 2);
        checker_.note("outage");
        checker_.on_trouble_everywhere();
    }
    after(kDisturbEvery, [this] { disturb(); });
}

/// The standby lags: what it has not seen is lost when it is promoted.
void World::fail_over() {
    if (failover_pending_) return;
    failover_pending_ = true;
    store_.mark_standby();
    after(dice_.skewed(milliseconds{1}, seconds{3}), [this] {
        failover_pending_ = false;
        if (!faults_on_) return;
        store_.promote();
        for (auto& process : processes_) {
            // A proxy may hide it.
            if (dice_.chance(0.5)) process->reconnected = true;
        }
    });
}

void World::step_clock() {
    const Duration by = dice_.chance(0.5) ? dice_.skewed(milliseconds{100}, seconds{60})
                                          : -dice_.skewed(milliseconds{100}, seconds{60});
    checker_.note("clock step", -1, no_message, 0, in_seconds(by));
    store_.step_clock(by);
    checker_.on_clock_step();
}

void World::operate() {
    if (!faults_on_) return;
    const double part = share_of_second(kOperateEvery);
    const OperatorPlan& plan = plan_.operators;
    const Database& db = store_.db();
    std::vector<DeadKey> letters;
    for (const auto& [key, letter] : db.dead) {
        if (!key.second.empty()) letters.push_back(key);
    }
    if (!letters.empty() && dice_.chance(plan.requeue * part)) {
        const DeadKey key = dice_.pick(letters);
        checker_.note("requeue", -1, checker_.number_of(key.first), 0, key.second);
        if (store_.requeue(key.first, key.second)) {
            checker_.on_requeued(key);
            hint();
        }
    } else if (!letters.empty() && dice_.chance(plan.discard * part)) {
        const DeadKey key = dice_.pick(letters);
        checker_.note("discard", -1, checker_.number_of(key.first), 0, key.second);
        store_.discard(key.first, key.second);
    }
    if (!published_.empty() && dice_.chance(plan.cancel * part)) {
        const Uuid id = dice_.pick(published_);
        if (store_.command({.kind = Command::Kind::cancel, .message = id})) {
            checker_.on_cancel_asked(id);
            checker_.note("cancel", -1, checker_.number_of(id));
        }
    }
    if (dice_.chance(plan.skip * part)) {
        for (const auto& [partition, rows] : db.open) {
            const auto head = std::find_if(rows.begin(), rows.end(),
                                           [](const auto& row) { return row.second.entry.halted; });
            if (head == rows.end() || dice_.chance(0.5)) continue;
            const Uuid id = head->second.entry.message->id;
            checker_.note("skip", -1, checker_.number_of(id), head->first);
            checker_.on_skip_asked(id);
            store_.command({.kind = Command::Kind::skip, .message = id, .sequence = head->first});
            break;
        }
    }
    if (dice_.chance(plan.pause * part)) {
        const std::string& box = dice_.pick(plan_.boxes).name;
        store_.pause(box, !db.paused.contains(box));
    }
    after(kOperateEvery, [this] { operate(); });
}

}  // namespace waybill::sim
