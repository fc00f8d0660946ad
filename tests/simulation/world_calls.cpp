#include <algorithm>

#include "simulation/world.hpp"

namespace waybill::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kLockTimeout = milliseconds{200};

template <class... Ts>
struct Overloaded : Ts... {
    using Ts::operator()...;
};

}  // namespace

Duration World::latency() {
    return dice_.skewed(microseconds{80}, milliseconds{3});
}

Fate World::draw_fate(const Process* process) {
    Fate fate{.out = latency(),
              .hold = dice_.skewed(microseconds{20}, milliseconds{1}),
              .back = latency()};
    if (!faults_on_) return fate;
    const FaultPlan& faults = plan_.faults;
    if (now_ < outage_until_) {
        fate.kind = Fate::Kind::not_applied;
        fate.failure = {dice_.chance(0.5) ? Reaction::back_off : Reaction::reconnect, "outage"};
    } else if (dice_.chance(faults.error_before)) {
        static const std::vector<Reaction> kReactions{Reaction::retry, Reaction::reconnect,
                                                      Reaction::back_off};
        fate.kind = Fate::Kind::not_applied;
        fate.failure = {dice_.pick(kReactions), "error before"};
    } else if (dice_.chance(faults.error_after)) {
        fate.kind = dice_.chance(0.6) ? Fate::Kind::answer_lost : Fate::Kind::not_applied;
        fate.failure = {Reaction::find_out, "answer lost"};
    }
    // An adapter's deadline is below a third of the lease.
    if (dice_.chance(faults.stall)) {
        Duration& side = dice_.chance(0.5) ? fate.out : fate.back;
        side += dice_.between(milliseconds{50}, plan_.engine.lease / 4);
        if (process != nullptr) checker_.on_trouble(process->number);
    }
    if (fate.kind != Fate::Kind::fine && process != nullptr) checker_.on_trouble(process->number);
    return fate;
}

void World::hint(ProcessNumber except) {
    for (auto& process : processes_) {
        if (process->number == except) continue;
        if (faults_on_ && dice_.chance(plan_.faults.lost_hint)) continue;
        if (!process->up) continue;
        after(latency(), [this, number = process->number, life = process->life] {
            in_process(number, life, [this](Process& p) {
                p.mutant->on_hint();
                p.engine->on_wake(local(p));
            });
        });
    }
}

void World::send_beat(Process& process, InstanceState state) {
    process.mutant->before_beat(state);
    const Fate fate = draw_fate(&process);
    after(fate.out, [this, number = process.number, life = process.life, state = std::move(state),
                     fate] { arrive_beat(number, life, state, fate); });
}

void World::arrive_beat(ProcessNumber number, std::uint64_t life, const InstanceState& state,
                        Fate fate) {
    engine::BeatAnswer answer = fate.failure;
    if (fate.kind != Fate::Kind::not_applied) {
        if (const Duration until = store_.beat_waits_until(state.incarnation); until > Duration{}) {
            at(until + Duration{1}, [=, this] { arrive_beat(number, life, state, fate); });
            return;
        }
        BeatReply reply = store_.beat(state);
        if (fate.kind == Fate::Kind::fine) answer = std::move(reply);
    }
    after(fate.back, [this, number, life, answer = std::move(answer)] {
        in_process(number, life, [this, number, answer](Process& p) {
            engine::BeatAnswer mine = answer;
            if (auto* reply = std::get_if<BeatReply>(&mine)) {
                checker_.on_heard(number, *reply);
                p.mutant->after_beat(*reply);
                if (!reply->registry.empty()) checker_.on_registry(number, reply->registry);
            }
            p.engine->on_beat(local(p), std::move(mine));
        });
    });
}

void World::send_call(Process& process, engine::ChannelCall call) {
    checker_.on_call(process.number);
    process.mutant->before_call(call);
    auto flight = std::make_shared<Flight>();
    flight->process = process.number;
    flight->life = process.life;
    flight->fate = draw_fate(&process);
    flight->sent = now_;
    const bool is_take = std::holds_alternative<engine::TakeCall>(call);
    const bool is_settle = std::holds_alternative<SettleBatch>(call);
    if (faults_on_ && ((is_take && dice_.chance(plan_.faults.slow_take)) ||
                       (is_settle && dice_.chance(plan_.faults.slow_settle)))) {
        flight->fate.hold += dice_.between(milliseconds{10}, plan_.engine.lease / 4);
        if (is_take) checker_.on_trouble(process.number);
    }
    // Its owner freezes with the settle under way, and comes back about when it has lost its lease.
    const double frozen = plan_.faults.frozen_lock;
    if (faults_on_ && is_settle && frozen > 0 && dice_.chance(frozen * 0.04)) {
        const Duration lease = plan_.engine.lease;
        flight->fate.hold += dice_.between(lease / 2, lease * 2);
        after(Duration{1}, [this, flight, length = dice_.between(lease, lease * 2)] {
            Process& p = this->process(flight->process);
            if (p.life == flight->life && p.up && !p.paused) pause(p, length);
        });
    }
    flight->call = std::move(call);
    process.flight = flight;
    after(flight->fate.out, [this, flight] {
        Process& p = this->process(flight->process);
        if (p.life == flight->life) p.mutant->at_store(flight->call, store_);
        arrive(flight);
    });
}

void World::arrive(const std::shared_ptr<Flight>& flight) {
    if (flight->stuck_until > now_) {
        at(flight->stuck_until, [this, flight] { arrive(flight); });
        return;
    }
    if (flight->fate.kind == Fate::Kind::not_applied) {
        answer(flight, flight->fate.failure);
        return;
    }
    std::visit(
        Overloaded{
            [&](const engine::DeclareCall& call) {
                if (const Duration until = store_.declare_waits_until(); until > Duration{}) {
                    at(until + Duration{1}, [this, flight] { arrive(flight); });
                    return;
                }
                store_.declare(call.boxes, call.targets);
                answer(flight, engine::Declared{});
            },
            [&](const engine::TakeCall& call) { arrive_take(flight, call); },
            [&](const engine::GiveCall& call) {
                if (const Duration until = store_.give_waits_until(call.partitions);
                    until > Duration{}) {
                    at(until + Duration{1}, [this, flight] { arrive(flight); });
                    return;
                }
                store_.give(call.partitions);
                answer(flight, engine::Given{});
            },
            [&](const ReadRequest& call) {
                const bool is_old =
                    mutation_ == Mutation::old_lane_read && call.kind == ReadRequest::Kind::lanes;
                ReadPage page = is_old ? store_.read_old_lanes(call, std::chrono::seconds{2})
                                       : store_.read(call, flight->process);
                Process& p = process(flight->process);
                if (p.life == flight->life) page.reconnected = std::exchange(p.reconnected, false);
                answer(flight, std::move(page));
            },
            [&](const SettleBatch& call) { arrive_settle(flight, call); },
        },
        flight->call);
}

void World::arrive_take(const std::shared_ptr<Flight>& flight, const engine::TakeCall& take) {
    if (const Duration until = store_.take_waits_until(take.wanted); until > Duration{}) {
        if (until > flight->sent + kLockTimeout * 2) {
            answer(flight, engine::Failure{Reaction::retry, "lock timeout"});
        } else {
            at(until + Duration{1}, [this, flight] { arrive(flight); });
        }
        return;
    }
    const auto ticket = store_.begin_take(take.self, take.wanted, flight->fate.hold);
    after(flight->fate.hold, [this, flight, ticket] {
        if (const auto taken = store_.finish_take(ticket)) {
            answer(flight, *taken);
        } else {
            answer(flight, engine::Failure{Reaction::find_out, "failover"});
        }
    });
}

void World::arrive_settle(const std::shared_ptr<Flight>& flight, const SettleBatch& batch) {
    if (!SimStore::is_storable(batch)) {
        const bool is_hidden = mutation_ == Mutation::bad_text_is_retried;
        answer(flight,
               engine::Failure{is_hidden ? Reaction::retry : Reaction::bad_data, "bad text"});
        return;
    }
    if (const Duration until = store_.settle_waits_until(batch); until > Duration{}) {
        at(until + Duration{1}, [this, flight] { arrive(flight); });
        return;
    }
    const auto ticket = store_.begin_settle(batch, flight->fate.hold);
    after(flight->fate.hold, [this, flight, ticket] {
        if (const auto reply = store_.finish_settle(ticket)) {
            answer(flight, *reply);
        } else {
            answer(flight, engine::Failure{Reaction::find_out, "failover"});
        }
    });
}

void World::answer(const std::shared_ptr<Flight>& flight, engine::ChannelReply reply) {
    if (flight->fate.kind == Fate::Kind::answer_lost) reply = flight->fate.failure;
    if (const auto* failure = std::get_if<engine::Failure>(&reply)) {
        // A read changes nothing: there is nothing to find out.
        const bool is_read = std::holds_alternative<ReadRequest>(flight->call);
        const bool is_unknown = failure->reaction == Reaction::find_out;
        Process& p = process(flight->process);
        if (p.life == flight->life && (is_unknown || failure->reaction == Reaction::reconnect)) {
            p.reconnected = true;
        }
        if (is_read && is_unknown) reply = engine::Failure{Reaction::reconnect, "connection lost"};
    }
    after(flight->fate.back, [this, flight, reply = std::move(reply)] {
        in_process(flight->process, flight->life, [this, flight, reply](Process& p) {
            engine::ChannelReply mine = reply;
            if (const auto* page = std::get_if<ReadPage>(&mine)) {
                checker_.on_page(p.number, std::get<ReadRequest>(flight->call), *page);
            }
            p.flight.reset();
            checker_.on_call_answered(p.number);
            p.mutant->after_call(flight->call, mine);
            p.engine->on_channel(local(p), std::move(mine));
        });
    });
}

}  // namespace waybill::sim
