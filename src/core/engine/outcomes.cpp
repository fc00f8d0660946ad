#include <algorithm>
#include <string>

#include "core/engine/machine.hpp"
#include "core/text.hpp"
#include "core/wording.hpp"

/// What an attempt ended in, and what follows from it.
namespace waybill::engine {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kErrorBytesMax = 4000;
constexpr Duration kRetryAfterMax = 24h;

/// Half of a JSON text is none: one that is too long is left out as a whole.
std::string storable_detail(std::string_view detail) {
    std::string clean;
    if (detail.size() <= detail_bytes_max) {
        // What is not UTF-8 may grow threefold.
        clean = clean_text(detail, 3 * detail_bytes_max);
        if (clean.size() <= detail_bytes_max) return clean;
    }
    return R"({"left_out":"the detail is longer than )" + std::to_string(detail_bytes_max) +
           R"( bytes"})";
}

/// Something of its lane or chain goes on once it is durable that this one is done.
bool is_waited_for(const Work& work, const Delivery& delivery, const Lane* lane) {
    return any_open(work.deliveries, delivery.chain) ||
           (lane != nullptr && (lane->queue.size() > 1 || lane->skipped_from != 0));
}

}  // namespace

/// By message, not by row: a requeue of it has another row.
std::uint64_t Machine::delivery_ghost(const Uuid& message, std::uint32_t target) const {
    return std::hash<Uuid>{}(message)*31 + target * 2 + 1;
}

std::uint64_t Machine::lane_ghost(PartitionId partition, std::uint64_t lane) const {
    return (lane ^ (partition + 1) * 0x94D049BB133111EBULL) & ~1ULL;
}

void Machine::on_outcomes(LocalTime now, std::span<Completed> completed) {
    begin(now);
    for (Completed& one : completed) {
        end_run(one);
    }
    turn(now);
}

void Machine::end_run(Completed& completed) {
    RunResults& results = completed.results;
    const auto found = runs_.find(completed.run);
    if (found == runs_.end()) {
        return;
    }
    RunMap::node_type ended = runs_.extract(found);
    const RunState& run = ended.mapped();
    if (run.ghost) {
        ghost_returned(run);
        return spare_runs_.keep(std::move(ended));
    }
    if (!results.empty() && results.front() &&
        std::holds_alternative<Done>(results.front()->outcome)) {
        boxes_[run.box]->targets[run.target].unanswered = 0;
    }
    run_ended(run);
    abandoned_ -= run.timed_out ? 1 : 0;
    Partition& partition = *find_partition(run.partition);
    --partition.running;
    // A strict lane stays in order inside a batch too: what comes after a failure did not happen.
    const bool strict = run_is_strict(run);
    bool broken = false;
    for (std::size_t i = 0; i < run.parts.size(); ++i) {
        std::optional<RunResult> result;
        if (i < results.size() && !(strict && broken)) {
            result = std::move(results[i]);
        }
        broken = broken || !result || !std::holds_alternative<Done>(result->outcome);
        end_part(run, run.parts[i], std::move(result));
    }
    spare_runs_.keep(std::move(ended));
}

bool Machine::run_is_strict(const RunState& run) const {
    return run.lane != 0 && boxes_[run.box]->box->options.lanes == Lanes::strict;
}

void Machine::time_out_runs() {
    deadlines_.pass(now_, [&](RunId id) {
        const auto found = runs_.find(id);
        if (found != runs_.end() && !found->second.ghost) {
            time_out(id, found->second);
        }
    });
}

/// A handler that ignores its deadline cannot be killed: the attempt ends here, the thread does not.
void Machine::time_out(RunId id, RunState& run) {
    commands_.cancels.push_back(id);
    for (const RunState::Part& part : run.parts) {
        emit(Event::Kind::timed_out, *part.work,
             boxes_[run.box]->routes.targets()[run.target].target.key);
    }
    if (is_inline(run)) {
        // Its transaction may yet commit: only its own answer tells.
        run.timed_out = true;
        ++abandoned_;
        return;
    }
    make_ghost(run, true);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(now_ - run.started_at);
    const RunState ended = run;  // ending parts may start others and move the map
    const bool strict = run_is_strict(ended);
    for (std::size_t i = 0; i < ended.parts.size(); ++i) {
        std::optional<RunResult> result;
        if (i == 0 || !strict) {
            result = RunResult{Fail{"timed out after " + std::to_string(took.count()) + " ms"}};
        }
        end_part(ended, ended.parts[i], std::move(result));
    }
}

/// From now on its answer counts for nothing, but nothing that could collide with it may start.
void Machine::make_ghost(RunState& run, bool timed_out) {
    run.ghost = true;
    abandoned_ += timed_out && !run.timed_out ? 1 : 0;
    run.timed_out = run.timed_out || timed_out;
    run_ended(run);
    for (const RunState::Part& part : run.parts) {
        ++ghosts_[delivery_ghost(part.message, run.target)];
    }
    if (run.lane != 0) {
        ++ghosts_[lane_ghost(run.partition, run.lane)];
    }
}

void Machine::ghost_returned(const RunState& run) {
    const auto less = [&](std::uint64_t key) {
        const auto found = ghosts_.find(key);
        if (found != ghosts_.end() && --found->second == 0) {
            ghosts_.erase(found);
        }
    };
    emit({.kind = Event::Kind::ghost_returned, .partition = run.partition});
    abandoned_ -= run.timed_out ? 1 : 0;
    const std::uint32_t chain = boxes_[run.box]->routes.targets()[run.target].chain;
    for (const RunState::Part& part : run.parts) {
        less(delivery_ghost(part.message, run.target));
    }
    if (run.lane != 0) {
        less(lane_ghost(run.partition, run.lane));
    }
    Partition* partition = find_partition(run.partition);
    if (partition == nullptr) {
        return;
    }
    --partition->running;
    for (auto& [sequence, work] : partition->works) {
        const bool waited = std::ranges::any_of(run.parts, [&](const RunState::Part& part) {
            return part.message == work.message->id;
        });
        if (waited) {
            advance(work, chain);
        }
    }
    const Lane* lane = run.lane == 0 ? nullptr : partition->lanes.find(run.lane);
    if (lane != nullptr && !lane->queue.empty()) {
        advance(*lane->queue.front(), chain);
    }
}

bool Machine::is_inline(const RunState& run) const {
    const BoxState& box = *boxes_[run.box];
    return box.targets[run.target].options.calls == Calls::inline_single;
}

void Machine::end_part(const RunState& run, const RunState::Part& part,
                       std::optional<RunResult> result) {
    Work& work = *part.work;
    Delivery& delivery = work.deliveries[part.delivery];
    const std::uint32_t chain = delivery.chain;
    delivery.state = Delivery::State::ready;
    --work.running;
    work.inline_running -= is_inline(run) ? 1U : 0U;
    if (run.in_lane != nullptr) {
        --run.in_lane->running;
    }
    if (work.solo_epoch != 0) {
        work.solo_epoch = 0;
        mark_dirty(work);
    }
    if (result) {
        apply(work, delivery, run, *result);
    } else if (is_inline(run)) {
        release_after_trouble(work, delivery);
    } else {
        release(work, delivery);
    }
    if (work.settle == Work::Settle::clean) {
        advance_after_run(work, chain);
    }
}

void Machine::apply(Work& work, Delivery& delivery, const RunState& run, const RunResult& result) {
    using Record = InlineResult::Record;
    const Duration took = now_ - run.started_at;
    work.begun = work.begun || result.record == Record::unknown;
    if (result.record == Record::lost || result.record == Record::unknown) {
        return release_after_trouble(work, delivery);
    }
    delivery.troubles = 0;
    const bool recorded = result.record == Record::recorded || result.record == Record::already;
    if (recorded || std::holds_alternative<Done>(result.outcome)) {
        delivery.state = Delivery::State::done;
        delivery.changed = true;
        log_attempt(work, delivery, Attempt::Result::done, took, {}, result.detail);
        return mark_dirty(work, is_waited_for(work, delivery, run.in_lane));
    }
    if (delivery.cancel) {
        return kill(work, delivery, "cancelled by an operator", {}, false);
    }
    const auto* defer = std::get_if<Defer>(&result.outcome);
    if (defer != nullptr && defer->whole_target) {
        TargetState& target = boxes_[run.box]->targets[run.target];
        target.rests_until = later(now_, std::max(defer->delay, delay_floor));
        rests_.add(target.rests_until, {run.box, run.target});
        return release(work, delivery);
    }
    if (defer != nullptr) {
        delivery.due = later(store_now(), std::max(defer->delay, delay_floor));
        delivery.changed = true;
        emit(Event::Kind::deferred, work, target_key(work, delivery));
        return mark_dirty(work);
    }
    if (const auto* dead = std::get_if<Dead>(&result.outcome)) {
        log_attempt(work, delivery, Attempt::Result::dead, took, dead->reason, result.detail);
        return kill(work, delivery, dead->reason);
    }
    if (run.cancelled && !run.timed_out) {
        return release(work, delivery);  // we asked it to end: not its fault
    }
    fail(work, delivery, std::get<Fail>(result.outcome), took, result.detail);
}

void Machine::fail(Work& work, Delivery& delivery, const Fail& failure, Duration took,
                   std::string_view detail) {
    const BoxState& box = box_of(work);
    const RouteTarget& route = box.routes.targets()[delivery.target];
    const RetryPolicy& retry = box.targets[delivery.target].options.retry;
    std::string reason = clean_text(failure.reason, kErrorBytesMax);
    const bool last = failure.permanent || delivery.failures + 1 >= retry.max_attempts;
    log_attempt(work, delivery, last ? Attempt::Result::dead : Attempt::Result::failed, took,
                reason, detail);
    ++delivery.failures;
    delivery.last_error = reason;
    emit(Event::Kind::failed, work, route.target.key, reason, delivery.failures);
    if (last) {
        return kill(work, delivery,
                    failure.permanent
                        ? reason
                        : "failed " + detail::times(delivery.failures) + ": " + reason);
    }
    Duration wait = delay_floor;
    if (failure.retry_after) wait = std::clamp(*failure.retry_after, delay_floor, kRetryAfterMax);
    if (!failure.retry_after || failure.backs_off_too) {
        wait = std::max(wait, delay_after(retry.backoff, delivery.failures, random_.unit()));
    }
    delivery.due = later(store_now(), wait);
    delivery.changed = true;
    mark_dirty(work);
    collapse_if_pointless(work);
}

/// It did not count: again soon, but never in a spin.
void Machine::release(Work& work, Delivery& delivery, Duration pause) {
    if (delivery.cancel) {
        return kill(work, delivery, "cancelled by an operator", {}, false);
    }
    delivery.due = store_now() + pause;
    emit(Event::Kind::released, work, target_key(work, delivery));
}

/// The store could not carry out an inline run, because of a lost connection or a collision: no failure
/// of the handler, so no number of them ends it, but what goes on colliding is tried ever less often.
void Machine::release_after_trouble(Work& work, Delivery& delivery) {
    static const Backoff pauses{.base = delay_floor, .cap = std::chrono::seconds{1}};
    if (delivery.troubles < 100) ++delivery.troubles;
    release(work, delivery, delay_after(pauses, delivery.troubles, random_.unit()));
}

void Machine::kill(Work& work, Delivery& delivery, std::string_view reason,
                   std::string_view because, bool may_halt) {
    const BoxState& box = box_of(work);
    const RouteTarget& route = box.routes.targets()[delivery.target];
    delivery.state = Delivery::State::dead;
    delivery.skipped = !may_halt;
    delivery.changed = true;
    if (delivery.last_error.empty()) {
        delivery.last_error = clean_text(reason, kErrorBytesMax);
    }
    clear_timer(delivery);
    if (box.box->options.keep_dead > Duration{}) {
        work.letters.push_back({.message = work.message->id,
                                .sequence = work.sequence,
                                .target = route.target.key,
                                .reason = clean_text(reason, kErrorBytesMax),
                                .failures = delivery.failures,
                                .requeues = work.requeues,
                                .because = std::string(because),
                                .at = store_now()});
    }
    const bool halts = may_halt && box.box->options.lanes == Lanes::strict &&
                       box.box->options.on_dead == OnDead::halt && work.lane_hash != 0;
    work.halted = work.halted || halts;
    mark_dirty(work);
    // Successors that need it die with it and are revived by its requeue.
    for (Delivery& other : work.deliveries) {
        const RouteTarget& successor = box.routes.targets()[other.target];
        if (other.state == Delivery::State::ready &&
            box.routes.predecessor(other.target) == delivery.target &&
            successor.target.after_dead == AfterDead::block) {
            kill(work, other, "predecessor \"" + route.target.key + "\" is dead", route.target.key,
                 may_halt);
        }
    }
}

void Machine::log_attempt(Work& work, const Delivery& delivery, Attempt::Result result,
                          Duration took, std::string_view error, std::string_view detail) {
    const AttemptsLog log = box_of(work).box->options.attempts_log;
    if (log == AttemptsLog::none ||
        (log == AttemptsLog::failures && result == Attempt::Result::done)) {
        return;
    }
    work.attempts.push_back({.message = work.message->id,
                             .target = std::string(target_key(work, delivery)),
                             .requeues = work.requeues,
                             .number = delivery.failures + 1,
                             .result = result,
                             .at = store_now(),
                             .took = took,
                             .error = clean_text(error, kErrorBytesMax),
                             .detail = storable_detail(detail)});
}

std::string_view Machine::target_key(const Work& work, const Delivery& delivery) const {
    return box_of(work).routes.targets()[delivery.target].target.key;
}

}  // namespace waybill::engine
