#include "core/runtime/shell.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace waybill::runtime {
namespace {

template <class... Cases>
struct Match : Cases... {
    using Cases::operator()...;
};

/// The exception in hand, as the engine wants to hear of it.
engine::Failure failure_in_hand() {
    try {
        throw;
    } catch (const StoreError& error) {
        return {error.reaction(), error.what()};
    } catch (const std::exception& error) {
        return {Reaction::give_up, std::string{"the store threw: "} + error.what()};
    } catch (...) {
        return {Reaction::give_up, "the store threw something that is no exception"};
    }
}

engine::RunResults run_results(DeliveryResults& results) {
    engine::RunResults converted;
    converted.reserve(results.size());
    for (auto& result : results) {
        if (result) {
            converted.emplace_back(engine::RunResult{std::move(result->outcome), result->record});
        } else {
            converted.emplace_back();
        }
    }
    return converted;
}

Delivery delivery_of(engine::Run& run) {
    Delivery delivery{.number = run.id, .fence = std::move(run.fence), .deadline = run.deadline};
    delivery.items.reserve(run.items.size());
    for (engine::RunItem& item : run.items) {
        delivery.items.push_back(
            {std::move(item.message), item.sequence, item.attempt, item.requeues});
    }
    return delivery;
}

}  // namespace

Shell::Shell(ShellParts parts, Store& store, Clock& clock, Observer& observer)
    : store_(store),
      clock_(clock),
      engine_(std::move(parts.config), random_, observer),
      mailbox_(std::make_shared<Mailbox>(parts.hand_overs_max)) {
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

Shell::~Shell() {
    stop();
}

void Shell::start() {
    const std::lock_guard lock{stop_mutex_};
    channel_thread_.emplace("waybill channel", [this](const engine::ChannelCall& what) {
        mailbox_->channel(call(what));
    });
    beat_thread_.emplace("waybill beat",
                         [this](const InstanceState& state) { mailbox_->beat(beat(state)); });
    ended_ = false;
    loop_thread_ = std::thread{[this] { loop(); }};
}

void Shell::stop() {
    const std::lock_guard lock{stop_mutex_};
    if (!loop_thread_.joinable()) return;
    mailbox_->stop();
    loop_thread_.join();
    channel_thread_.reset();
    beat_thread_.reset();
    pool_.reset();
}

void Shell::loop() {
    name_this_thread("waybill loop");
    LocalTime now = clock_.now();
    engine_.start(now);
    act();
    Letters letters;
    while (!engine_.is_stopped()) {
        const LocalTime until = std::min(engine_.next_tick(), pool_->poll(now));
        mailbox_->take(letters, until, clock_);
        now = clock_.now();
        feed(letters, now);
        if (now >= engine_.next_tick()) engine_.on_tick(now);
        act();
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

void Shell::feed(Letters& letters, LocalTime now) {
    for (auto& [run, results] : letters.completed) {
        engine_.on_outcome(now, run, run_results(results));
    }
    if (letters.beat) engine_.on_beat(now, std::move(*letters.beat));
    if (letters.channel) engine_.on_channel(now, std::move(*letters.channel));
    if (!letters.appended.empty()) engine_.on_appended(now, letters.appended);
    for (auto& wait : letters.idle_waits) {
        // Idle is what it is after a look at the store that began now.
        idle_waits_.push_back(std::move(wait));
        letters.wake = true;
    }
    if (letters.wake) engine_.on_wake(now);
    if (letters.stop) engine_.stop(now);
}

void Shell::act() {
    engine::Commands commands = engine_.take_commands();
    if (commands.beat) beat_thread_->post(std::move(*commands.beat));
    if (commands.channel) {
        mailbox_->reads_issued.store(engine_.reads_issued(), std::memory_order_release);
        channel_thread_->post(std::move(*commands.channel));
    }
    if (!commands.runs.empty()) start_runs(commands.runs);
    if (!commands.cancels.empty()) cancel(commands.cancels);
}

void Shell::start_runs(std::vector<engine::Run>& runs) {
    for (engine::Run& run : runs) {
        const std::size_t items = run.items.size();
        jobs_[run.box][run.target].push_back(
            {delivery_of(run), Completion{mailbox_, run.id, items}});
    }
    for (const engine::Run& run : runs) {
        std::vector<Job>& jobs = jobs_[run.box][run.target];
        if (!jobs.empty()) executors_[run.box][run.target]->start(std::exchange(jobs, {}));
    }
}

void Shell::cancel(std::span<const engine::RunId> runs) {
    pool_->cancel(runs);
    for (const auto& box : executors_) {
        for (const auto& executor : box) {
            if (dynamic_cast<HandlerExecutor*>(executor.get()) == nullptr) executor->cancel(runs);
        }
    }
}

void Shell::answer_waits() {
    if (!engine_.is_idle()) return;
    const bool is_empty = engine_.status().entries == 0;
    std::erase_if(idle_waits_, [&](const auto& wait) {
        const bool over = is_empty || !wait->for_retries;
        if (over) wait->answer(true);
        return over;
    });
}

void Shell::publish_status() {
    const engine::Status status = engine_.status();
    const std::lock_guard lock{mutex_};
    status_ = status;
    ++status_number_;
    status_changed_.notify_all();
}

bool Shell::wait_idle(Duration timeout, bool for_retries) {
    const auto wait = std::make_shared<IdleWait>(for_retries);
    mailbox_->idle_wait(wait);
    return wait->wait(timeout);
}

engine::Status Shell::status() {
    std::unique_lock lock{mutex_};
    if (ended_) return status_;
    const std::uint64_t seen = status_number_;
    mailbox_->ask();
    status_changed_.wait(lock, [&] { return ended_ || status_number_ > seen; });
    return status_;
}

engine::ChannelReply Shell::call(const engine::ChannelCall& call) {
    using Reply = engine::ChannelReply;
    try {
        return std::visit(
            Match{
                [&](const engine::DeclareCall& declare) -> Reply {
                    store_.declare(declare.boxes, declare.targets);
                    return engine::Declared{};
                },
                [&](const engine::TakeCall& take) -> Reply {
                    return store_.take(take.self, take.wanted);
                },
                [&](const engine::GiveCall& give) -> Reply {
                    store_.give(give.partitions);
                    return engine::Given{};
                },
                [&](const ReadRequest& request) -> Reply { return store_.read(request); },
                [&](const SettleBatch& batch) -> Reply { return store_.settle(batch); },
            },
            call);
    } catch (...) {
        return failure_in_hand();
    }
}

engine::BeatAnswer Shell::beat(const InstanceState& state) {
    try {
        return store_.beat(state);
    } catch (...) {
        return failure_in_hand();
    }
}

}  // namespace waybill::runtime
