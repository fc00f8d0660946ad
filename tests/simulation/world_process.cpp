#include <algorithm>

#include "simulation/world.hpp"

namespace waybill::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Ear final : public Observer {
public:
    Ear(Checker& checker, ProcessNumber process) : checker_(checker), process_(process) {}
    void on_event(const Event& event) noexcept override { checker_.on_event(process_, event); }

private:
    Checker& checker_;
    ProcessNumber process_;
};

}  // namespace

void World::start(Process& process) {
    ++process.life;
    process.hangs_for_ever = false;
    process.up = true;
    process.paused = false;
    process.stopping = false;
    process.started = now_;
    process.runs_new_version = process.is_new_version;
    process.reconnected = false;
    process.flight.reset();
    process.tick_pending = false;
    process.runs.clear();
    process.held.clear();
    const auto stream = static_cast<std::uint64_t>(process.number) * 1000 + process.life + 100;
    process.dice = std::make_unique<Dice>(plan_.seed, stream);
    process.observer = std::make_unique<Ear>(checker_, process.number);
    process.mutant = std::make_unique<Mutant>(mutation_, mix(plan_.seed) + stream);
    engine::Config config = config_of(plan_, process.is_new_version);
    config.options.name = "i" + std::to_string(process.number);
    config.options.guest = process.is_guest;
    process.mutant->configure(config);
    process.engine =
        std::make_unique<engine::Engine>(std::move(config), *process.dice, *process.observer);
    checker_.on_up(process.number, process.engine->incarnation(), process.is_guest);
    process.engine->start(local(process));
    pump(process);
}

void World::restart_later(Process& process, Duration delay) {
    after(delay, [this, &process, life = process.life] {
        if (process.life == life && !process.up && restarts_on_) start(process);
    });
}

/// What a frozen or dead process had sent may be on its way for long.
void World::strand_flight(Process& process) {
    if (!process.flight || !faults_on_ || dice_.chance(0.5)) return;
    process.flight->stuck_until = now_ + dice_.skewed(milliseconds{1}, plan_.engine.lease * 2);
    process.flight->fate.hold += dice_.skewed(milliseconds{1}, plan_.engine.lease);
    if (dice_.chance(plan_.faults.frozen_lock)) {
        process.flight->fate.hold += dice_.between(plan_.engine.lease / 2, plan_.engine.lease * 2);
    }
}

void World::crash(Process& process) {
    if (!process.up) return;
    strand_flight(process);
    checker_.on_gone(process.number, !process.stopping);
    process.up = false;
    ++process.life;
    process.engine.reset();
    process.runs.clear();
    process.held.clear();
}

void World::exit(Process& process) {
    checker_.on_stopped(process.number);
    checker_.on_gone(process.number, false);
    process.up = false;
    ++process.life;
    process.engine.reset();
    process.runs.clear();
    process.held.clear();
    const bool comes_back = !process.is_guest || faults_on_;
    if (comes_back) restart_later(process, dice_.skewed(milliseconds{50}, seconds{4}));
}

void World::stop(Process& process) {
    process.stopping = true;
    process.stop_asked = now_;
    checker_.note("stop", process.number);
    in_process(process.number, process.life, [this](Process& p) { p.engine->stop(local(p)); });
}

void World::pause(Process& process, Duration length) {
    process.paused = true;
    strand_flight(process);
    checker_.on_paused(process.number, true);
    after(length, [this, &process, life = process.life] {
        if (process.life != life || !process.paused) return;
        process.paused = false;
        process.resumed_at = now_;
        checker_.on_paused(process.number, false);
        const auto held = std::exchange(process.held, {});
        for (const auto& act : held) {
            if (process.life == life && !process.paused && !has_violation()) act();
        }
        if (process.life == life) {
            in_process(process.number, life, [this](Process& p) { p.engine->on_tick(local(p)); });
        }
    });
}

void World::in_process(ProcessNumber number, std::uint64_t life,
                       std::function<void(Process&)> act) {
    Process& target = process(number);
    if (target.life != life || !target.up || has_violation()) return;
    if (target.paused) {
        target.held.push_back(
            [this, number, life, act = std::move(act)] { in_process(number, life, act); });
        return;
    }
    act(target);
    if (target.life == life) pump(target);
}

void World::pump(Process& process) {
    const std::uint64_t life = process.life;
    for (std::size_t rounds = 0; process.life == life && process.up; ++rounds) {
        engine::Commands commands = process.engine->take_commands();
        if (commands.empty()) break;
        if (rounds > 1000) {
            checker_.fail("spin", "an engine that never stops commanding");
            return;
        }
        if (commands.beat) send_beat(process, std::move(*commands.beat));
        if (commands.channel) send_call(process, std::move(*commands.channel));
        for (engine::Run& run : commands.runs) {
            run.target = planned_target(plan_.boxes[run.box], process.runs_new_version, run.target);
            if (process.life == life) begin_run(process, std::move(run));
        }
        for (const engine::RunId id : commands.cancels) cancel_run(process, id);
    }
    if (process.life != life || !process.up) return;
    if (process.engine->is_stopped()) {
        exit(process);
        return;
    }
    arm_tick(process);
}

void World::arm_tick(Process& process) {
    const LocalTime next = process.engine->next_tick();
    if (next == local_never) return;
    const Duration when = std::max(next.time_since_epoch() - process.boot, now_ + Duration{1});
    if (process.tick_pending && process.tick_at <= when) return;
    process.tick_pending = true;
    process.tick_at = when;
    at(when, [this, number = process.number, life = process.life, when] {
        Process& p = this->process(number);
        if (p.life != life || !p.tick_pending || p.tick_at != when) return;
        p.tick_pending = false;
        in_process(number, life, [this](Process& self) { self.engine->on_tick(local(self)); });
    });
}

}  // namespace waybill::sim
