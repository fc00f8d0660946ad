#include "core/runtime/append_queue.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/runtime/thread_name.hpp"
#include "waybill/append.hpp"
#include "waybill/system.hpp"

namespace waybill::runtime {
namespace {

constexpr int kTries = 3;

/// How many rows each transaction wrote. Nearly always all of them are of one, or the store names none.
void count_rows(std::vector<engine::HandOver>& handed) {
    std::uint64_t counted = 0;
    std::uint32_t rows = 0;
    for (engine::HandOver& one : handed) {
        if (one.transaction != counted) {
            counted = one.transaction;
            rows = static_cast<std::uint32_t>(
                std::ranges::count(handed, counted, &engine::HandOver::transaction));
        }
        one.transaction_rows = rows;
    }
}

std::vector<AppendResult> all_unknown(std::span<const Append> items) {
    std::vector<AppendResult> results;
    results.reserve(items.size());
    for (const Append& item : items) {
        results.push_back({.status = AppendResult::Status::unknown, .id = item.message->id});
    }
    return results;
}

/// Whether one of several may be the cause, rather than the store's own state.
bool may_be_ones_fault(Reaction reaction) {
    return reaction == Reaction::bad_data || reaction == Reaction::give_up ||
           reaction == Reaction::retry;
}

}  // namespace

AppendQueue::~AppendQueue() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
    }
    thread_wakes_.notify_one();
    if (thread_.joinable()) thread_.join();
}

std::vector<AppendResult> AppendQueue::append(std::vector<Append> items) {
    if (items.empty()) return {};
    Ticket ticket{std::move(items)};
    std::unique_lock lock{mutex_};
    admit(ticket);
    for (bool is_over = false; !is_over;) {
        is_over = may_lead(ticket) ? lead(lock, &ticket) : wait(lock, ticket);
        if (!is_over) lock.lock();
    }
    // One that was to lead and was overtaken may still be on its way.
    for (; ticket.heard < ticket.nudges; ++ticket.heard) ticket.nudge.wait();
    if (ticket.error) std::rethrow_exception(ticket.error);
    return std::move(ticket.results);
}

void AppendQueue::append(std::vector<Append> items, Appended answered) {
    if (!limits_.own_thread) return append_here(std::move(items), answered);
    auto ticket = std::make_unique<Ticket>(std::move(items));
    ticket->answered = std::move(answered);
    const std::lock_guard lock{mutex_};
    admit(*ticket);
    static_cast<void>(ticket.release());  // whoever stores it answers and deletes it
    if (!thread_.joinable()) thread_ = std::thread{[this] { run_thread(); }};
    if (is_free()) thread_wakes_.notify_one();
}

void AppendQueue::append_here(std::vector<Append> items, const Appended& answered) {
    std::vector<AppendResult> results;
    std::exception_ptr error;
    try {
        results = append(std::move(items));
    } catch (const StoreError&) {
        error = std::current_exception();
    }
    answered(std::move(results), error);
}

bool AppendQueue::is_full() const {
    const std::lock_guard lock{mutex_};
    return waiting_messages_ >= limits_.waiting_max;
}

std::size_t AppendQueue::waiting() const {
    const std::lock_guard lock{mutex_};
    return waiting_messages_;
}

void AppendQueue::admit(Ticket& ticket) {
    const std::size_t together = waiting_messages_ + ticket.items.size();
    if (waiting_messages_ > 0 && together > limits_.waiting_max) {
        throw Overloaded{"append: " + std::to_string(waiting_messages_) +
                         " messages already wait for the store and at most " +
                         std::to_string(limits_.waiting_max) +
                         " may; nothing was stored: slow down or try later"};
    }
    waiting_.push_back(&ticket);
    waiting_messages_ = together;
}

void AppendQueue::run_thread() {
    name_this_thread("waybill append");
    std::unique_lock lock{mutex_};
    for (;;) {
        thread_wakes_.wait(lock, [this] { return waiting_.empty() ? stopping_ : is_free(); });
        if (waiting_.empty()) return;
        lead(lock, nullptr);
        lock.lock();
    }
}

void AppendQueue::hand_over_to(std::shared_ptr<Mailbox> mailbox) {
    const std::lock_guard lock{mutex_};
    mailbox_ = std::move(mailbox);
}

bool AppendQueue::is_free() const {
    return under_way_ < company_.parts() && !is_ordered_;
}

bool AppendQueue::may_lead(const Ticket& ticket) const {
    if (!is_free() || ticket.is_taken) return false;
    return ticket.is_impatient || company_.is_complete(waiting_.size());
}

/// While nobody leads, the first in the queue looks at the clock for all of them: either the one who makes
/// them complete leads, or it does. While somebody does, it hears of the end.
bool AppendQueue::wait(std::unique_lock<std::mutex>& lock, Ticket& ticket) {
    const bool has_clock = under_way_ == 0 && !ticket.is_taken && waiting_.front() == &ticket;
    const LocalTime until = company_.until();
    lock.unlock();
    if (has_clock && !ticket.nudge.wait_for(until - system_clock().now())) {
        ticket.is_impatient = true;
        return false;
    }
    if (!has_clock) ticket.nudge.wait();
    ++ticket.heard;
    return ticket.is_finished.load(std::memory_order_acquire);
}

bool AppendQueue::lead(std::unique_lock<std::mutex>& lock, const Ticket* mine) {
    company_.came(company_.is_complete(waiting_.size()));
    Round round = next_round();
    const bool is_ordered =
        std::ranges::any_of(round, [](const Ticket* ticket) { return bool{ticket->answered}; });
    ++under_way_;
    tickets_under_way_ += round.size();
    is_ordered_ = is_ordered_ || is_ordered;
    const std::shared_ptr<Mailbox> mailbox = mailbox_;
    // What found no room in this batch may be the next one at once.
    if (is_free()) {
        pass_on(lock);
    } else {
        lock.unlock();
    }
    const LocalTime start = system_clock().now();
    carry_out(round, mailbox);
    const LocalTime end = system_clock().now();
    lock.lock();
    --under_way_;
    company_.note(tickets_under_way_ + waiting_.size(), end, end - start);
    tickets_under_way_ -= round.size();
    if (is_ordered) is_ordered_ = false;
    // First whoever goes on, then those who are done.
    pass_on(lock);
    for (Ticket* ticket : round) {
        if (ticket != mine) answer(*ticket);
    }
    return std::ranges::find(round, mine) != round.end();
}

void AppendQueue::pass_on(std::unique_lock<std::mutex>& lock) {
    Ticket* next = waiting_.empty() ? nullptr : waiting_.front();
    if (next != nullptr && next->answered) {
        thread_wakes_.notify_one();
        next = nullptr;
    }
    if (next != nullptr) ++next->nudges;
    lock.unlock();
    if (next != nullptr) next->nudge.give();
}

void AppendQueue::answer(Ticket& ticket) {
    if (ticket.answered) {
        const std::unique_ptr<Ticket> ours{&ticket};
        ours->answered(std::move(ours->results), ours->error);
        return;
    }
    ++ticket.nudges;
    ticket.is_finished.store(true, std::memory_order_release);
    ticket.nudge.give();
}

AppendQueue::Round AppendQueue::next_round() {
    Round round;
    std::size_t messages = 0;
    while (!waiting_.empty()) {
        Ticket* ticket = waiting_.front();
        if (!round.empty() && messages + ticket->items.size() > limits_.batch_max) break;
        messages += ticket->items.size();
        ticket->is_taken = true;
        round.push_back(ticket);
        waiting_.pop_front();
    }
    waiting_messages_ -= messages;
    return round;
}

void AppendQueue::carry_out(Round& round, const std::shared_ptr<Mailbox>& mailbox) {
    // Before the append is sent: what a later read may have brought is not handed over.
    const std::uint64_t reads_before =
        mailbox ? mailbox->overtaking_reads.load(std::memory_order_acquire) : 0;
    const LocalTime patient_until = later(system_clock().now(), limits_.patience);
    if (round.size() == 1) {
        carry_out_alone(*round.front(), patient_until);
    } else {
        carry_out_together(round, patient_until);
    }
    if (mailbox) hand_over(round, *mailbox, reads_before);
}

void AppendQueue::carry_out_together(Round& round, LocalTime patient_until) {
    std::vector<Append> batch;
    for (const Ticket* ticket : round) {
        batch.insert(batch.end(), ticket->items.begin(), ticket->items.end());
    }
    try {
        const std::vector<AppendResult> results = store(batch, patient_until);
        auto from = results.begin();
        for (Ticket* ticket : round) {
            const auto to = std::next(from, std::ssize(ticket->items));
            ticket->results.assign(from, to);
            from = to;
        }
    } catch (const StoreError& error) {
        for (Ticket* ticket : round) {
            // A store that is busy for all of them is busy for each, and all of them wait.
            const bool is_too_late =
                error.reaction() == Reaction::retry && system_clock().now() >= patient_until;
            if (may_be_ones_fault(error.reaction()) && !is_too_late) {
                carry_out_alone(*ticket, patient_until);
            } else {
                ticket->error = std::current_exception();
            }
        }
    } catch (...) {
        for (Ticket* ticket : round) ticket->error = std::current_exception();
    }
}

void AppendQueue::carry_out_alone(Ticket& ticket, LocalTime patient_until) {
    try {
        ticket.results = store(ticket.items, patient_until);
    } catch (...) {
        ticket.error = std::current_exception();
    }
}

std::vector<AppendResult> AppendQueue::store(std::span<const Append> items,
                                             LocalTime patient_until) {
    for (int attempt = 1;; ++attempt) {
        try {
            return store_.append(items);
        } catch (const StoreError& error) {
            const bool again =
                error.reaction() == Reaction::retry || error.reaction() == Reaction::reconnect;
            if (error.reaction() == Reaction::find_out) return all_unknown(items);
            if (!again || attempt == kTries || system_clock().now() >= patient_until) throw;
        }
    }
}

void AppendQueue::hand_over(const Round& round, Mailbox& mailbox, std::uint64_t reads_before) {
    std::vector<engine::HandOver> fresh;
    bool is_unknown = false;
    for (const Ticket* ticket : round) {
        if (ticket->error) continue;
        for (std::size_t i = 0; i < ticket->items.size(); ++i) {
            const AppendResult& result = ticket->results[i];
            is_unknown = is_unknown || result.status == AppendResult::Status::unknown;
            if (result.status != AppendResult::Status::fresh) continue;
            fresh.push_back({.message = ticket->items[i].message,
                             .sequence = result.sequence,
                             .partition = result.partition,
                             .reads_before = reads_before,
                             .transaction = result.transaction});
        }
    }
    count_rows(fresh);
    if (!fresh.empty()) mailbox.append(std::move(fresh));
    if (is_unknown) mailbox.wake();  // a read finds out
}

}  // namespace waybill::runtime
