#include "core/runtime/hand_shell.hpp"

#include <algorithm>
#include <utility>

#include "core/runtime/engine_calls.hpp"
#include "waybill/system.hpp"

namespace waybill::runtime {

namespace {

engine::Config without_company(engine::Config config) {
    config.options.company = false;
    return config;
}

}  // namespace

HandShell::Turn::Turn(HandShell& shell)
    : shell_(shell), nested_(shell.whose_turn_.load() == std::this_thread::get_id()) {
    if (nested_) return;
    shell_.mutex_.lock();
    shell_.whose_turn_ = std::this_thread::get_id();
}

HandShell::Turn::~Turn() {
    if (nested_) return;
    shell_.whose_turn_ = std::thread::id{};
    shell_.mutex_.unlock();
}

HandShell::HandShell(ShellParts parts, Store& store, Clock& clock, Observer& observer)
    : store_(store),
      clock_(clock),
      shutdown_timeout_(parts.config.options.shutdown_timeout),
      engine_(without_company(std::move(parts.config)),
              parts.random != nullptr ? *parts.random : random_, observer),
      mailbox_(std::make_shared<Mailbox>(parts.hand_overs_max)),
      carriers_(std::move(parts.carriers)),
      budget_(parts.starts_max) {}

HandShell::~HandShell() {
    stop();
}

void HandShell::start() {
    const Turn turn{*this};
    engine_.start(now());
    started_ = true;
}

/// What nobody will hear of may as well happen at once: where only time could bring the end nearer,
/// the engine is told that it has passed.
void HandShell::stop() {
    const Turn turn{*this};
    if (!started_ || engine_.is_stopped() || turn.is_nested()) return;
    // As in wait_idle().
    const bool time_passes = &clock_ == &system_clock();
    patience_ = later(system_clock().now(), shutdown_timeout_);
    engine_.stop(now());
    while (!engine_.is_stopped()) {
        // Before anybody is waited for: who is told now may answer now.
        if (round()) continue;
        if (budget_.running() > 0 && system_clock().now() < patience_) {
            round(time_passes ? std::min(patience_, engine_.next_tick()) : patience_);
            continue;
        }
        if (engine_.next_tick() == local_never) break;
        not_before_ = std::max(later(now(), std::chrono::milliseconds{1}), engine_.next_tick());
    }
    mailbox_->close();
}

LocalTime HandShell::step() {
    const Turn turn{*this};
    if (turn.is_nested() || !started_ || engine_.is_stopped()) return local_never;
    return round() ? now() : engine_.next_tick();
}

bool HandShell::wait_idle(Duration timeout, bool for_retries) {
    const Turn turn{*this};
    if (turn.is_nested() || !started_) return false;
    // A clock of the caller's moves only in the caller's hand, which is here.
    const bool time_passes = &clock_ == &system_clock();
    const LocalTime until = later(system_clock().now(), timeout);
    engine_.on_wake(now());
    for (bool has_time = true; has_time; has_time = system_clock().now() < until) {
        if (round()) continue;
        if (is_over(for_retries)) return true;
        const bool may_answer = budget_.running() > 0;
        if (!time_passes && !may_answer) return false;
        round(time_passes ? std::min(until, engine_.next_tick()) : until);
    }
    return false;
}

bool HandShell::is_over(bool for_retries) const {
    if (budget_.is_spent()) return true;
    return engine_.is_idle() && (!for_retries || engine_.status().entries == 0);
}

engine::Status HandShell::status() {
    const Turn turn{*this};
    return engine_.status();
}

bool HandShell::round(LocalTime wait_until) {
    mailbox_->take(letters_, wait_until, system_clock());
    const bool had_letters = !letters_.empty();
    const LocalTime then = now();
    if (!letters_.completed.empty()) {
        budget_.ended(letters_.completed.size());
        engine_.on_outcomes(then, letters_.completed);
    }
    if (!letters_.appended.empty()) engine_.on_appended(then, letters_.appended);
    if (letters_.wake) engine_.on_wake(then);
    // Also before it asked for it: it keeps a millisecond between two ticks, which on a clock in
    // somebody's hand may be the difference between now and never.
    engine_.on_tick(then);
    engine::Commands commands = engine_.take_commands();
    const bool had_commands = !commands.empty();
    carry_out(commands);
    return had_letters || had_commands;
}

void HandShell::carry_out(engine::Commands& commands) {
    if (commands.beat) {
        engine::BeatAnswer answer = call_beat(store_, *commands.beat);
        engine_.on_beat(now(), std::move(answer));
    }
    if (commands.channel) {
        mailbox_->overtaking_reads.store(engine_.overtaking_reads(), std::memory_order_release);
        engine::ChannelReply reply = call_channel(store_, *commands.channel);
        engine_.on_channel(now(), std::move(reply));
    }
    for (engine::Run& run : commands.runs) this->run(run);
    if (!commands.cancels.empty()) cancel(commands.cancels);
}

void HandShell::run(engine::Run& run) {
    const engine::RunId id = run.id;
    const std::size_t items = run.items.size();
    const std::size_t admitted = budget_.admit(items);
    if (admitted == 0) return engine_.on_outcome(now(), id, {});

    const Carrier& carrier = carriers_[run.box][run.target];
    Delivery delivery = delivery_of(run, admitted);
    if (carrier.executor) {
        std::vector<Job> one;
        one.push_back({std::move(delivery), Completion{mailbox_, id, items}});
        return carrier.executor->start(std::move(one));
    }
    DeliveryResults results = carrier.body->call(delivery, std::stop_token{}, clock_);
    budget_.ended(1);
    // As with threads: a deadline that passed meanwhile is seen before the answer.
    const LocalTime then = now();
    if (then >= engine_.next_tick()) engine_.on_tick(then);
    engine_.on_outcome(then, id, std::move(results));
}

void HandShell::cancel(std::span<const engine::RunId> runs) {
    // Whoever is told when the time of a stop is over answers a moment later.
    patience_ = std::max(patience_, later(system_clock().now(), engine::last_moment));
    for (const auto& box : carriers_) {
        for (const Carrier& carrier : box) {
            if (carrier.executor) carrier.executor->cancel(runs);
        }
    }
}

}  // namespace waybill::runtime
