#include "core/runtime/thread_shell.hpp"

#include <algorithm>
#include <utility>

#include "core/runtime/engine_calls.hpp"

namespace waybill::runtime {
ThreadShell::ThreadShell(ShellParts parts, Store& store, Clock& clock, Observer& observer)
    : store_(store),
      clock_(clock),
      engine_(std::move(parts.config), parts.random != nullptr ? *parts.random : random_, observer),
      mailbox_(std::make_shared<Mailbox>(parts.hand_overs_max)),
      budget_(parts.starts_max) {
    pool_.emplace(parts.pool, clock);
    for (std::vector<Carrier>& box : parts.carriers) {
        auto& executors = executors_.emplace_back();
        for (Carrier& carrier : box) {
            executors.push_back(carrier.executor
                                    ? std::move(carrier.executor)
                                    : std::make_shared<HandlerExecutor>(*pool_, carrier.body));
        }
        jobs_.emplace_back(executors.size());
    }
}

ThreadShell::~ThreadShell() {
    stop();
}

void ThreadShell::start() {
    const std::lock_guard lock{stop_mutex_};
    channel_thread_.emplace("waybill channel", [this](const engine::ChannelCall& what) {
        mailbox_->channel(call_channel(store_, what));
    });
    beat_thread_.emplace("waybill beat", [this](const InstanceState& state) {
        mailbox_->beat(call_beat(store_, state));
    });
    ended_ = false;
    loop_thread_ = std::thread{[this] { loop(); }};
}

void ThreadShell::stop() {
    const std::lock_guard lock{stop_mutex_};
    if (!loop_thread_.joinable()) return;
    mailbox_->stop();
    loop_thread_.join();
    channel_thread_.reset();
    beat_thread_.reset();
    pool_.reset();
}

void ThreadShell::loop() {
    name_this_thread("waybill loop");
    LocalTime now = clock_.now();
    engine_.start(now);
    act(now);
    Letters letters;
    while (!engine_.is_stopped()) {
        const LocalTime until = std::min(engine_.next_tick(), pool_->poll(now));
        mailbox_->take(letters, until, clock_);
        now = clock_.now();
        feed(letters, now);
        if (now >= engine_.next_tick()) engine_.on_tick(now);
        act(now);
        if (letters.ask) publish_status();
        if (!idle_waits_.empty()) answer_waits();
    }
    for (const auto& wait : idle_waits_) wait->answer(false);
    mailbox_->close();
    publish_status();
    const std::lock_guard lock{mutex_};
    ended_ = true;
    status_changed_.notify_all();
}

void ThreadShell::feed(Letters& letters, LocalTime now) {
    if (!letters.completed.empty()) {
        budget_.ended(letters.completed.size());
        engine_.on_outcomes(now, letters.completed);
    }
    if (letters.beat) engine_.on_beat(now, std::move(*letters.beat));
    if (letters.channel) {
        engine_.on_channel(now, std::move(*letters.channel));
        act(now);  // the store goes on while the other letters are read
    }
    if (!letters.appended.empty()) engine_.on_appended(now, letters.appended);
    for (auto& wait : letters.idle_waits) {
        // Idle is what it is after a look at the store that began now.
        idle_waits_.push_back(std::move(wait));
        letters.wake = true;
    }
    if (letters.wake) engine_.on_wake(now);
    if (letters.stop) engine_.stop(now);
}

void ThreadShell::act(LocalTime now) {
    for (auto commands = engine_.take_commands(); !commands.empty();
         commands = engine_.take_commands()) {
        if (commands.beat) beat_thread_->post(std::move(*commands.beat));
        if (commands.channel) {
            mailbox_->overtaking_reads.store(engine_.overtaking_reads(), std::memory_order_release);
            channel_thread_->post(std::move(*commands.channel));
        }
        if (!commands.runs.empty()) start_runs(commands.runs, now);
        if (!commands.cancels.empty()) cancel(commands.cancels);
    }
}

void ThreadShell::start_runs(std::vector<engine::Run>& runs, LocalTime now) {
    for (engine::Run& run : runs) {
        const std::size_t items = run.items.size();
        const std::size_t admitted = budget_.admit(items);
        if (admitted == 0) {
            engine_.on_outcome(now, run.id, {});  // released: another host's work
            continue;
        }
        jobs_[run.box][run.target].push_back(
            {delivery_of(run, admitted), Completion{mailbox_, run.id, items}});
    }
    for (const engine::Run& run : runs) {
        std::vector<Job>& jobs = jobs_[run.box][run.target];
        if (!jobs.empty()) executors_[run.box][run.target]->start(std::exchange(jobs, {}));
    }
}

void ThreadShell::cancel(std::span<const engine::RunId> runs) {
    pool_->cancel(runs);
    for (const auto& box : executors_) {
        for (const auto& executor : box) {
            if (dynamic_cast<HandlerExecutor*>(executor.get()) == nullptr) executor->cancel(runs);
        }
    }
}

void ThreadShell::answer_waits() {
    const bool is_spent = budget_.is_spent();
    if (!is_spent && !engine_.is_idle()) return;
    const bool is_empty = is_spent || engine_.status().entries == 0;
    std::erase_if(idle_waits_, [&](const auto& wait) {
        const bool over = is_empty || !wait->for_retries;
        if (over) wait->answer(true);
        return over;
    });
}

void ThreadShell::publish_status() {
    const engine::Status status = engine_.status();
    const std::lock_guard lock{mutex_};
    status_ = status;
    ++status_number_;
    status_changed_.notify_all();
}

bool ThreadShell::wait_idle(Duration timeout, bool for_retries) {
    const auto wait = std::make_shared<IdleWait>(for_retries);
    mailbox_->idle_wait(wait);
    return wait->wait(timeout);
}

engine::Status ThreadShell::status() {
    std::unique_lock lock{mutex_};
    if (ended_) return status_;
    const std::uint64_t seen = status_number_;
    mailbox_->ask();
    status_changed_.wait(lock, [&] { return ended_ || status_number_ > seen; });
    return status_;
}

}  // namespace waybill::runtime
