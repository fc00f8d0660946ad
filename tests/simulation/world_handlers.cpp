#include <algorithm>

#include "simulation/world.hpp"

namespace waybill::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = Behaviour::Kind;

}  // namespace

Behaviour World::behaviour_of(MessageNumber message, const TargetPlan& target) const {
    std::uint64_t name = 0;
    for (const char c : target.target.key) name = name * 131 + static_cast<std::uint8_t>(c);
    Dice dice{plan_.seed, mix(name) ^ static_cast<std::uint64_t>(message + 1)};
    const HandlerPlan& plan = plan_.handlers;
    Behaviour behaviour{.times = static_cast<std::uint32_t>(dice.between(1, 4)),
                        .takes = dice.skewed(milliseconds{0}, milliseconds{60}),
                        .bad_text = dice.chance(plan.bad_text)};
    double left = dice.unit();
    const auto share = [&](double part) {
        left -= part;
        return left < 0;
    };
    if (poisons_.contains(message)) {
        behaviour.kind = Kind::poison;
    } else if (share(plan.fails)) {
        behaviour.kind = Kind::fail;
    } else if (share(plan.permanent)) {
        behaviour.kind = dice.chance(0.5) ? Kind::permanent : Kind::dead;
    } else if (share(plan.defers)) {
        behaviour.kind = Kind::defer;
    } else if (share(plan.hangs)) {
        behaviour.kind = Kind::hang;
        behaviour.takes = target.options.timeout + dice.between(milliseconds{0}, seconds{5});
    } else if (share(plan.hangs_for_ever)) {
        behaviour.kind = Kind::hang_for_ever;
    } else if (share(plan.is_slow)) {
        behaviour.kind = Kind::slow;
        behaviour.takes = dice.between(milliseconds{50}, target.options.timeout - milliseconds{1});
    } else if (share(plan.crashes_once)) {
        behaviour.kind = Kind::crash_once;
    }
    return behaviour;
}

void World::begin_run(Process& process, engine::Run run) {
    const TargetPlan& target = plan_.boxes[run.box].targets[run.target];
    const Duration deadline = run.deadline.time_since_epoch() - process.boot;
    checker_.on_start(process.number, run, deadline);
    if (has_violation()) return;
    const engine::RunId id = run.id;
    Duration takes{};
    bool hangs = false;
    bool crashes = false;
    for (const engine::RunItem& item : run.items) {
        const MessageNumber number = checker_.number_of(item.message->id);
        const Behaviour behaviour = behaviour_of(number, target);
        const std::uint32_t attempt = ++attempts_[{number, target.target.key}];
        const bool hangs_now = behaviour.kind != Kind::hang || attempt == 1;
        takes += hangs_now ? behaviour.takes : milliseconds{1};
        hangs = hangs || (behaviour.kind == Kind::hang_for_ever && faults_on_ && attempt == 1);
        crashes = crashes || behaviour.kind == Kind::poison ||
                  (behaviour.kind == Kind::crash_once && attempt == 1);
    }
    if (mutation_ == Mutation::renewal_behind_inline &&
        target.options.calls == Calls::inline_single) {
        const Duration held =
            hangs ? plan_.engine.lease * 3 : takes + seconds{3} * (takes > milliseconds{30});
        store_.hold_liveness(process.engine->incarnation(), now_ + held);
    }
    process.hangs_for_ever = process.hangs_for_ever || hangs;
    const bool at_once = process.mutant->answers_at_once() && !run.items.empty();
    process.runs[id] = std::move(run);
    const std::uint64_t life = process.life;
    if (crashes) {
        after(takes, [this, number = process.number, life] {
            Process& p = this->process(number);
            if (p.life != life || !p.up) return;
            crash(p);
            restart_later(p, dice_.between(milliseconds{50}, seconds{2}));
        });
    } else if (!hangs) {
        after(takes, [this, number = process.number, life, id] {
            in_process(number, life, [this, id](Process& p) { finish_run(p, id); });
        });
    }
    if (!at_once) return;
    engine::RunResults results(process.runs[id].items.size(), engine::RunResult{.outcome = Done{}});
    after(Duration{1}, [this, number = process.number, life, id, results] {
        in_process(number, life, [this, id, results](Process& p) {
            p.engine->on_outcome(local(p), id, results);
        });
    });
}

/// Some handlers look at their stop token, some do not.
void World::cancel_run(Process& process, engine::RunId id) {
    if (!process.runs.contains(id) || dice_.chance(0.4)) return;
    const std::size_t count = process.runs[id].items.size();
    after(dice_.between(milliseconds{0}, milliseconds{20}),
          [this, number = process.number, life = process.life, id, count] {
              in_process(number, life, [=, this](Process& p) {
                  if (p.runs.erase(id) > 0) {
                      answer_run(number, life, id, engine::RunResults(count), {});
                  }
              });
          });
}

engine::RunResult World::result_of(const Behaviour& behaviour, std::uint32_t attempt) {
    std::string text = "it failed";
    if (behaviour.bad_text) text += unstorable;
    switch (behaviour.kind) {
        case Kind::fail:
            if (attempt > behaviour.times) break;
            return {.outcome = Fail{.reason = text}};
        case Kind::permanent: return {.outcome = Fail{.reason = text, .permanent = true}};
        case Kind::dead: return {.outcome = Dead{.reason = text}};
        case Kind::defer:
            if (attempt > behaviour.times) break;
            return {.outcome = Defer{.delay = dice_.skewed(milliseconds{0}, seconds{2})}};
        default: break;
    }
    return {.outcome = Done{}};
}

void World::finish_run(Process& process, engine::RunId id) {
    const auto ended = process.runs.extract(id);  // a commit that is on its way cannot be cancelled
    if (ended.empty()) return;
    const engine::Run& run = ended.mapped();
    const TargetPlan& target = plan_.boxes[run.box].targets[run.target];
    engine::RunResults results;
    for (const engine::RunItem& item : run.items) {
        const MessageNumber number = checker_.number_of(item.message->id);
        results.emplace_back(
            result_of(behaviour_of(number, target), attempts_[{number, target.target.key}]));
        if (run.items.size() > 1 && dice_.chance(plan_.handlers.partial)) results.back().reset();
    }
    const bool is_inline = target.options.calls == Calls::inline_single;
    if (is_inline && std::holds_alternative<Done>(results.front()->outcome)) {
        const Fate fate = draw_fate(nullptr);
        after(fate.out, [this, number = process.number, life = process.life, run, fate] {
            commit_inline(number, life, run, fate);
        });
        return;
    }
    answer_run(process.number, process.life, id, std::move(results), {});
}

void World::commit_inline(ProcessNumber number, std::uint64_t life, const engine::Run& run,
                          Fate fate) {
    const TargetPlan& target = plan_.boxes[run.box].targets[run.target];
    const engine::RunItem& item = run.items.front();
    const InlineRequest request{.fence = run.fence,
                                .sequence = item.sequence,
                                .message = item.message->id,
                                .target = target.target.key};
    engine::RunResults results(1);
    using enum InlineResult::Record;
    if (fate.kind == Fate::Kind::not_applied) {
        // Nothing was written: released. Unless nobody knows.
        if (fate.failure.reaction == Reaction::find_out) {
            results[0] = engine::RunResult{.outcome = Done{}, .record = unknown};
        }
    } else {
        if (const Duration until = store_.inline_waits_until(request); until > Duration{}) {
            at(until + Duration{1}, [=, this] { commit_inline(number, life, run, fate); });
            return;
        }
        const InlineResult::Record record = store_.commit_inline(request);
        results[0] = engine::RunResult{.outcome = Done{},
                                       .record = fate.kind == Fate::Kind::fine ? record : unknown};
    }
    answer_run(number, life, run.id, std::move(results), fate.back);
}

void World::answer_run(ProcessNumber number, std::uint64_t life, engine::RunId id,
                       engine::RunResults results, Duration delay) {
    const auto act = [this, number, id, results = std::move(results)](Process& p) {
        checker_.on_return(number, id, results);
        const bool is_late = p.resumed_at > Duration{} && now_ - p.resumed_at < seconds{1};
        if (is_late && p.mutant->drops_late_outcome()) return;
        if (p.mutant->answers_at_once()) return;
        p.engine->on_outcome(local(p), id, results);
    };
    if (delay == Duration{}) {
        in_process(number, life, act);
    } else {
        after(delay, [this, number, life, act] { in_process(number, life, act); });
    }
}

}  // namespace waybill::sim
