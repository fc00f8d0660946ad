#include <algorithm>

#include "simulation/checker.hpp"

namespace waybill::sim {
namespace {

constexpr Duration kClockSlack = std::chrono::seconds{8};

}  // namespace

void Checker::on_start(ProcessNumber process, const engine::Run& run, Duration deadline) {
    const BoxPlan& box = plan_.boxes[run.box];
    const Target& target = box.targets[run.target].target;
    const std::string& key = target.key;
    ActiveRun active{.process = process,
                     .id = run.id,
                     .box = run.box,
                     .target = key,
                     .fence = run.fence,
                     .deadline = deadline};
    std::set<Sequence> same_run;
    Sequence before = 0;
    for (const engine::RunItem& item : run.items) {
        const MessageNumber number = number_of(item.message->id);
        active.messages.push_back(number);
        same_run.insert(item.sequence);
        ++deliveries_[{number, key}].starts;
        note("start", process, number, item.sequence, key);
        const MessageFacts& facts = messages_[static_cast<std::size_t>(number)];
        if (!facts.committed && !facts.was_lost) fail("I3", "started before its commit", number);
        if (!matches(target.matcher, *item.message))
            fail("routing", key + " does not want it", number);
        if (box.options.lanes != Lanes::none && !facts.message.lane.empty() &&
            item.sequence < before) {
            fail("I10", "a batch out of order", number);
        }
        before = item.sequence;
    }
    check_token(process, run);
    active.chain = chain_of(processes_[process].registry, box.name, key);
    check_overlap(active);
    check_limits(active, box.targets[run.target]);
    if (is_current(run.fence)) {
        for (const engine::RunItem& item : run.items) {
            check_times(item);
            check_row(run, item, target);
            const OpenRow* row = store_->db().find_open(run.fence.partition, item.sequence);
            if (row == nullptr) continue;
            check_chain(process, item, *row, target);
            if (box.options.lanes == Lanes::strict) {
                check_order(process, active, item, *row, same_run);
            }
        }
    }
    active_.push_back(std::move(active));
}

/// Starts end with the lease: whoever starts with a token that moved did not look at its clock.
void Checker::check_token(ProcessNumber process, const engine::Run& run) {
    const Token& token = run.fence.token;
    const auto current = tokens_.find(run.fence.partition);
    if (is_current(run.fence) || token.generation != store_->generation()) return;
    if (current != tokens_.end() && current->second.owner == token.owner) return;
    if (now_ - clock_stepped_ < plan_.engine.lease * 3) return;
    fail("I5",
         "i" + std::to_string(process) + " started work of partition " +
             std::to_string(run.fence.partition) + " after it had changed hands",
         number_of(run.items.front().message->id));
}

/// I6: what is recorded as done, dead or finished does not start again.
void Checker::check_row(const engine::Run& run, const engine::RunItem& item, const Target& target) {
    const MessageNumber number = number_of(item.message->id);
    const Database& db = store_->db();
    const OpenRow* row = db.find_open(run.fence.partition, item.sequence);
    const BoxPlan& box = plan_.boxes[run.box];
    const TargetPlan* plan = target_plan(box, target.key);
    const bool is_inline = plan->options.calls == Calls::inline_single;
    if (row == nullptr && !db.finished.contains(item.message->id) &&
        !db.has_open(item.message->id)) {
        fail("I2", "it vanished", number);
        return;
    }
    if (row == nullptr || row->entry.message->id != item.message->id) {
        // An inline commit whose answer was lost is found out by running again.
        if (!is_inline) fail("I6", "it is finished, and " + target.key + " started again", number);
        return;
    }
    const Progress* progress = progress_of(row->entry, target);
    if (progress == nullptr) return;
    if (progress->state != Progress::State::ready && !is_inline) {
        fail("I6", target.key + " is recorded as terminal and started again", number);
    }
    if (progress->state == Progress::State::ready &&
        progress->failures >= plan->options.retry.max_attempts) {
        fail("I9", target.key + " started after its last attempt", number);
    }
}

/// A successor waits until its predecessor is durably done.
void Checker::check_chain(ProcessNumber process, const engine::RunItem& item, const OpenRow& row,
                          const Target& target) {
    const TargetPlan* plan = target_plan(box_plan(item.message->box), target.key);
    if (plan->target.after.empty()) return;
    for (const Target* other : matching(processes_[process].registry, row.entry)) {
        if (other->key != plan->target.after) continue;
        const Progress* progress = progress_of(row.entry, *other);
        const bool is_done = progress != nullptr && progress->state == Progress::State::done;
        const bool is_passed = progress != nullptr && progress->state == Progress::State::dead &&
                               plan->target.after_dead == AfterDead::go_on;
        if (!is_done && !is_passed) {
            fail("C2", target.key + " started before " + other->key + " was done",
                 number_of(item.message->id));
        }
    }
}

/// I10: two that did not overlap in time run in their order, and so do two that the owner has read.
void Checker::check_order(ProcessNumber process, const ActiveRun& run, const engine::RunItem& item,
                          const OpenRow& row, const std::set<Sequence>& same_run) {
    const std::string& lane = row.entry.message->lane;  // whatever the engine thinks it is
    if (lane.empty()) return;
    const ProcessFacts& facts = processes_[process];
    const auto& rows = store_->db().open.at(run.fence.partition);
    for (auto at = rows.begin(); at != rows.end() && at->first < item.sequence; ++at) {
        const OpenRow& head = at->second;
        if (head.entry.message->lane != lane || head.entry.parked) continue;
        if (same_run.contains(at->first)) continue;
        const auto unparked = unparked_.find({run.fence.partition, at->first});
        const Duration visible = unparked == unparked_.end() ? head.committed : unparked->second;
        const bool is_ordered = visible < row.begun;
        const bool is_read = facts.read.contains({run.fence.partition, at->first});
        if (!is_ordered && !is_read) continue;
        const StoreTime not_before = head.entry.message->not_before;
        if (not_before > StoreTime{} && clock_ever_stepped_) continue;
        // The owner's idea of the store's time is as old as its last beat.
        if (not_before > store_->clock(head.committed) - plan_.engine.lease &&
            not_before + kClockSlack * 2 > store_->clock(now_)) {
            continue;
        }
        if (!chain_is_open(facts.registry, head.entry, run.chain)) continue;
        fail("I10",
             "m" + std::to_string(number_of(head.entry.message->id)) + " #" +
                 std::to_string(at->first) + " of " + lane + " is open for " + run.chain +
                 (head.entry.halted ? " (halted)" : ""),
             number_of(item.message->id));
        return;
    }
}

/// One in flight per lane and chain in a process, and one run of a delivery; also while a run that has
/// timed out has not come back.
void Checker::check_overlap(const ActiveRun& run) {
    const BoxPlan& box = plan_.boxes[run.box];
    for (const ActiveRun& other : active_) {
        if (other.process != run.process || other.box != run.box) continue;
        for (const MessageNumber mine : run.messages) {
            const Message& message = messages_[static_cast<std::size_t>(mine)].message;
            for (const MessageNumber its : other.messages) {
                if (mine == its && other.target == run.target) {
                    fail("B2", run.target + " started while an older run of it is alive", mine);
                }
                const Message& second = messages_[static_cast<std::size_t>(its)].message;
                if (box.options.lanes != Lanes::none && !message.lane.empty() &&
                    message.lane == second.lane && other.chain == run.chain && mine != its) {
                    fail("I10",
                         "two in flight in " + message.lane + ": m" + std::to_string(its) +
                             " runs " + other.target,
                         mine);
                }
            }
        }
    }
}

/// What one instance runs at once, how fast it starts, and that a pause holds once it has heard of it.
/// Calls that timed out, or whose partition is lost, no longer count: their attempts have ended.
void Checker::check_limits(const ActiveRun& run, const TargetPlan& target) {
    const BoxPlan& box = plan_.boxes[run.box];
    ProcessFacts& facts = processes_[run.process];
    const MessageNumber first = run.messages.front();
    if (std::ranges::find(facts.paused_boxes, box.name) != facts.paused_boxes.end()) {
        fail("L3", box.name + " is paused", first);
    }
    std::uint32_t in_box = 1;
    std::uint32_t in_target = 1;
    for (const ActiveRun& other : active_) {
        if (other.process != run.process || other.box != run.box || now_ >= other.deadline ||
            !is_current(other.fence)) {
            continue;
        }
        ++in_box;
        in_target += other.target == run.target ? 1U : 0U;
    }
    if (in_box > box.options.concurrency) {
        fail("L1", box.name + " runs " + std::to_string(in_box), first);
    }
    if (target.options.concurrency > 0 && in_target > target.options.concurrency) {
        fail("L1", run.target + " runs " + std::to_string(in_target), first);
    }
    if (target.options.rate <= 0) return;
    std::deque<Duration>& starts = facts.starts[box.name + "/" + run.target];
    while (!starts.empty() && starts.front() <= now_ - std::chrono::seconds{1}) starts.pop_front();
    starts.push_back(now_);
    // A tenth of a second's worth may be saved up.
    if (static_cast<double>(starts.size()) > target.options.rate * 1.1 + 2.0) {
        fail("L2", run.target + " started " + std::to_string(starts.size()) + " in a second",
             first);
    }
}

void Checker::check_times(const engine::RunItem& item) {
    if (clock_ever_stepped_) return;
    if (item.message->not_before > store_->clock(now_) + kClockSlack) {
        fail("D10", "started before its not-before", number_of(item.message->id));
    }
}

void Checker::on_return(ProcessNumber process, engine::RunId id,
                        const engine::RunResults& results) {
    processes_[process].last_return = now_;
    const auto run = std::find_if(active_.begin(), active_.end(), [&](const ActiveRun& r) {
        return r.process == process && r.id == id;
    });
    if (run == active_.end()) return;
    const bool is_late = now_ >= run->deadline;
    for (std::size_t i = 0; i < run->messages.size(); ++i) {
        DeliveryFacts& facts = deliveries_[{run->messages[i], run->target}];
        const std::optional<engine::RunResult>& result = results[i];
        const char* what = "released";
        if (is_late) ++facts.fails;  // it may have been counted as timed out
        if (result && std::holds_alternative<Done>(result->outcome)) {
            using enum InlineResult::Record;
            what = "returned done";
            // An inline success is one when the store has it (on_inline).
            if (result->record == not_done) facts.done = true;
        } else if (result && std::holds_alternative<Fail>(result->outcome)) {
            what = "returned fail";
            if (!is_late) ++facts.fails;
            if (std::get<Fail>(result->outcome).permanent) facts.hopeless = true;
        } else if (result && std::holds_alternative<Dead>(result->outcome)) {
            what = "returned dead";
            facts.hopeless = true;
        } else if (result) {
            what = "returned defer";
        }
        note(what, process, run->messages[i], 0, run->target);
    }
    active_.erase(run);
}

}  // namespace waybill::sim
