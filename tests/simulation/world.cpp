#include "simulation/world.hpp"

#include <algorithm>

namespace waybill::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

}  // namespace

World::World(std::uint64_t seed, Mutation mutation, bool trace)
    : plan_(draw_plan(seed)),
      mutation_(mutation),
      history_(trace),
      checker_(plan_, history_, mutation),
      store_(checker_, mutation, plan_.is_in_order),
      dice_(seed, 2),
      order_(seed, 3) {
    checker_.watch(store_);
    std::vector<BoxDeclaration> boxes;
    for (const BoxPlan& box : plan_.boxes) {
        boxes.push_back({.name = box.name, .options = box.options});
    }
    store_.declare(boxes, {});
    const std::uint32_t count = plan_.instances + (plan_.has_guest ? 1 : 0);
    for (std::uint32_t i = 0; i < count; ++i) {
        auto process = std::make_unique<Process>();
        process->number = static_cast<ProcessNumber>(i);
        process->is_guest = i == plan_.instances;
        process->is_new_version = !plan_.is_rolling;
        process->boot = dice_.between(seconds{1}, seconds{100000});
        processes_.push_back(std::move(process));
    }
    for (std::uint32_t i = 0; i < plan_.handlers.poisons; ++i) {
        poisons_.insert(static_cast<MessageNumber>(dice_.index(plan_.messages)));
    }
}

World::~World() = default;

void World::at(Duration when, std::function<void()> act) {
    queue_.push_back({std::max(when, now_), order_.next(), serial_++, std::move(act)});
    std::push_heap(queue_.begin(), queue_.end(), is_later);
}

bool World::step() {
    if (queue_.empty() || has_violation()) return false;
    std::pop_heap(queue_.begin(), queue_.end(), is_later);
    Event event = std::move(queue_.back());
    queue_.pop_back();
    events_now_ = event.at == now_ ? events_now_ + 1 : 0;
    now_ = event.at;
    ++events_;
    if (events_now_ > 100'000) checker_.fail("spin", "time stands still");
    store_.tell_time(now_);
    checker_.tell_time(now_);
    event.act();
    return true;
}

void World::run_until(Duration when) {
    bool is_there = false;
    at(when, [&] { is_there = true; });
    while (!is_there && step()) {
    }
}

void World::run() {
    for (auto& process : processes_) {
        const Duration delay = dice_.skewed(milliseconds{1}, seconds{5});
        restart_later(*process, delay);
        if (plan_.is_rolling) {
            const Duration when = dice_.between(seconds{1}, plan_.faults_until);
            after(when, [this, p = process.get()] {
                p->is_new_version = true;
                if (p->up && !p->stopping) stop(*p);
            });
        }
    }
    plan_publications();
    after(milliseconds{200}, [this] { disturb(); });
    after(milliseconds{300}, [this] { operate(); });
    after(milliseconds{500}, [this] { watch(); });
    run_until(plan_.faults_until);
    end_faults();
    wait_for_quiet();
    stop_all();
    if (!has_violation()) checker_.at_end();
}

/// Everyone is well again: what still goes wrong from here on is the engine's doing.
void World::end_faults() {
    faults_on_ = false;
    checker_.note("faults end");
    outage_until_ = {};
    for (const BoxPlan& box : plan_.boxes) store_.pause(box.name, false);
    for (auto& process : processes_) {
        process->is_new_version = true;
        if (process->is_guest || has_violation()) continue;
        // A thread that hangs for ever ends with its process.
        if (process->up && process->paused && !process->hangs_for_ever) {
            in_process(process->number, process->life, [](Process&) {});
            continue;
        }
        if (process->up &&
            (checker_.has_ghosts(process->number) || process->hangs_for_ever || plan_.is_rolling)) {
            crash(*process);
            restart_later(*process, dice_.between(milliseconds{100}, seconds{2}));
        }
    }
}

/// Once nobody is left who has them; again when a call that was on its way for long declares one.
void World::forget_retired() {
    const bool any_old = std::any_of(processes_.begin(), processes_.end(),
                                     [](const auto& p) { return p->up && !p->runs_new_version; });
    if (faults_on_ || any_old) return;
    for (const BoxPlan& box : plan_.boxes) {
        for (const TargetPlan& target : box.targets) {
            if (!target.is_retired || !store_.forget_target(box.name, target.target.key)) continue;
            checker_.on_forgotten(box.name, target.target.key);
        }
    }
}

/// I11: everything that can end has ended within a virtual hour.
void World::wait_for_quiet() {
    const Duration until = std::max(now_, plan_.publish_for) + minutes{60};
    while (!has_violation()) {
        run_until(now_ + milliseconds{500});
        const bool is_published = open_publications_ == 0 && now_ > plan_.publish_for;
        const std::vector<const OpenRow*> open = checker_.unfinished();
        if (is_published && open.empty()) return;
        if (now_ < until || has_violation()) continue;
        const OpenRow* first = open.empty() ? nullptr : open.front();
        checker_.fail("I11",
                      std::to_string(open.size()) + " messages do not end; #" +
                          std::to_string(first == nullptr ? 0 : first->entry.sequence),
                      first == nullptr ? no_message : checker_.number_of(first->entry.message->id));
    }
}

/// I17: a graceful stop, without faults, ends in time.
void World::stop_all() {
    run_until(now_ + seconds{2});
    restarts_on_ = false;
    for (auto& process : processes_) {
        if (process->up && !process->stopping && !has_violation()) stop(*process);
    }
    const Duration until = now_ + plan_.engine.shutdown_timeout + seconds{10};
    const auto any_up = [&] {
        return std::any_of(processes_.begin(), processes_.end(),
                           [](const auto& p) { return p->up; });
    };
    while (any_up() && !has_violation()) {
        run_until(now_ + milliseconds{200});
        if (now_ > until && any_up()) checker_.fail("I17", "a process does not stop");
    }
}

void World::watch() {
    for (auto& process : processes_) {
        if (!process->up || process->paused) continue;
        const engine::Status status = process->engine->status();
        checker_.on_status(process->number, status);
        const Duration slack = plan_.engine.shutdown_timeout + seconds{5};
        if (status.resigned ||
            (process->stopping && faults_on_ && now_ > process->stop_asked + slack)) {
            crash(*process);
            restart_later(*process, dice_.between(milliseconds{100}, seconds{3}));
            continue;
        }
        const bool is_done = process->engine->is_idle() && now_ > process->started + seconds{2};
        if (process->is_guest && !process->stopping &&
            (is_done || now_ > process->started + seconds{8})) {
            stop(*process);
        }
        if (process->mutant->releases_while_running()) {
            for (const PartitionId id : checker_.partitions_running(process->number)) {
                const Token token = store_.db().partitions.at(id).token;
                const GiveRequest give{.partition = id, .token = token};
                store_.give({&give, 1});
            }
        }
    }
    forget_retired();
    store_.expire_open(seconds{20});
    after(milliseconds{500}, [this] { watch(); });
}

}  // namespace waybill::sim
