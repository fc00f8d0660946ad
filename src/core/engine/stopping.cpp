#include <algorithm>

#include "core/engine/machine.hpp"

/// How a life ends: nothing new starts, and what runs is told so, at once or when its time is over.
namespace waybill::engine {
namespace {

/// False: there was nobody to tell.
bool tell(RunMap& runs, std::vector<RunId>& cancels, const auto& is_told) {
    const std::size_t before = cancels.size();
    for (auto& [id, run] : runs) {
        if (!run.ghost && is_told(run)) {
            run.cancelled = true;
            cancels.push_back(id);
        }
    }
    std::ranges::sort(cancels);
    return cancels.size() > before;
}

}  // namespace

void Machine::stop(LocalTime now) {
    begin(now);
    if (stopping_) {
        return;
    }
    stopping_ = true;
    stop_deadline_ = later(now, config_.options.shutdown_timeout);
    next_beat_ = now;
    // A guest leaves because its time is over.
    tell(runs_, commands_.cancels, [this](const RunState& run) {
        const TargetOptions& options = boxes_[run.box]->targets[run.target].options;
        return config_.options.guest || !options.ends_by_itself;
    });
    turn(now);
}

/// Whoever was left to end and has not is told now, and has a moment to obey.
bool Machine::waited_long_enough() {
    if (now_ < stop_deadline_) {
        return false;
    }
    if (!tell(runs_, commands_.cancels, [](const RunState& run) { return !run.cancelled; })) {
        return true;
    }
    stop_deadline_ = later(now_, last_moment);
    return false;
}

}  // namespace waybill::engine
