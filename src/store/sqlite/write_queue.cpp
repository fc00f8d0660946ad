#include "write_queue.hpp"

#include <algorithm>

#include "core/wording.hpp"
#include "error_map.hpp"
#include "waybill/system.hpp"

namespace waybill::sqlite {

void WriteQueue::enter(const Work& work, bool is_exclusive) {
    Ticket ticket{.work = work,
                  .is_exclusive = is_exclusive,
                  .patient_until = later(system_clock().now(), limits_.patience)};
    std::unique_lock lock{mutex_};
    if (is_busy_ && leader_ == std::this_thread::get_id()) {
        throw StoreError{Reaction::bad_data,
                         "sqlite store: an inline handler holds the write lock and cannot wait for "
                         "it; write through its own handle: waybill::sqlite::publish(native, …)"};
    }
    waiting_.push_back(&ticket);
    while (!ticket.is_done) {
        if (may_lead(ticket)) {
            lead(lock);
        } else if (ticket.is_taken) {
            ticket.changed.wait(lock);
        } else if (ticket.changed.wait_for(lock, ticket.patient_until - system_clock().now()) ==
                   std::cv_status::timeout) {
            if (!ticket.is_taken && !may_lead(ticket)) give_up_waiting(ticket);
        }
    }
    lock.unlock();
    if (ticket.error) std::rethrow_exception(ticket.error);
}

bool WriteQueue::exclusive_if_idle(const std::function<void(Session&)>& work) {
    {
        const std::lock_guard lock{mutex_};
        if (is_busy_ || !waiting_.empty()) return false;
    }
    enter(work, true);
    return true;
}

bool WriteQueue::may_lead(const Ticket& ticket) const {
    if (is_busy_ || ticket.is_done) return false;
    // Whoever comes first may carry out the works of others, but not what wants to be alone.
    return waiting_.front() == &ticket || !waiting_.front()->is_exclusive;
}

void WriteQueue::give_up_waiting(const Ticket& ticket) {
    std::erase(waiting_, &ticket);
    throw StoreError{Reaction::retry, "sqlite store: the writer was busy for " +
                                          detail::readable(limits_.patience) +
                                          "; nothing was written: keep inline handlers and "
                                          "transactions on the file short, or try later"};
}

void WriteQueue::lead(std::unique_lock<std::mutex>& lock) {
    Round round = next_round();
    is_busy_ = true;
    leader_ = std::this_thread::get_id();
    lock.unlock();
    carry_out(round);
    lock.lock();
    is_busy_ = false;
    leader_ = {};
    for (Ticket* ticket : round) {
        ticket->is_done = true;
        ticket->changed.notify_one();
    }
    if (!waiting_.empty()) waiting_.front()->changed.notify_one();
}

WriteQueue::Round WriteQueue::next_round() {
    Round round;
    while (!waiting_.empty() && round.size() < limits_.batch_max) {
        Ticket* ticket = waiting_.front();
        if (ticket->is_exclusive && !round.empty()) break;
        ticket->is_taken = true;
        round.push_back(ticket);
        waiting_.pop_front();
        if (ticket->is_exclusive) break;
    }
    return round;
}

/// Who has waited for its turn does not wait as long again for the file.
void WriteQueue::be_patient(const Round& round) {
    LocalTime until{};
    for (const Ticket* ticket : round) until = std::max(until, ticket->patient_until);
    writer_.db.wait_at_most(std::max(Duration{}, until - system_clock().now()));
}

void WriteQueue::carry_out(Round& round) {
    be_patient(round);
    if (round.front()->is_exclusive) {
        carry_out_exclusive(*round.front());
    } else if (round.size() == 1) {
        carry_out_alone(*round.front());
    } else {
        carry_out_together(round);
    }
}

void WriteQueue::carry_out_exclusive(Ticket& ticket) {
    try {
        must_be_sound();
        ticket.work(writer_);
    } catch (const StoreError& error) {
        is_broken_ = is_broken_ || error.reaction() == Reaction::find_out;
        ticket.error = std::current_exception();
        note(ticket.error);
    } catch (...) {
        ticket.error = std::current_exception();
    }
}

void WriteQueue::carry_out_alone(Ticket& ticket) {
    ticket.error = nullptr;
    try {
        must_be_sound();
        writer_.db.execute(sql::begin_write);
        ticket.work(writer_);
        commit();
    } catch (...) {
        ticket.error = std::current_exception();
        note(ticket.error);
        abandon();
    }
}

void WriteQueue::carry_out_together(Round& round) {
    try {
        must_be_sound();
        writer_.db.execute(sql::begin_write);
        const bool is_whole = std::ranges::all_of(
            round, [this](Ticket* ticket) { return carry_out_inside(*ticket); });
        if (is_whole) {
            commit();
            return;
        }
    } catch (...) {
        const std::exception_ptr error = std::current_exception();
        note(error);
        abandon();
        for (Ticket* ticket : round) {
            if (!ticket->error) ticket->error = error;
        }
        return;
    }
    // One of them cost all of them the transaction: each tries its own luck.
    abandon();
    for (Ticket* ticket : round) carry_out_alone(*ticket);
}

bool WriteQueue::carry_out_inside(Ticket& ticket) {
    Database& db = writer_.db;
    db.execute(sql::savepoint);
    try {
        ticket.work(writer_);
        db.execute(sql::release);
        return true;
    } catch (...) {
        ticket.error = std::current_exception();
    }
    if (!db.in_transaction()) return false;
    writer_.forget();
    db.execute(sql::rollback_to);
    db.execute(sql::release);
    return true;
}

void WriteQueue::commit() {
    try {
        writer_.db.execute(sql::commit);
    } catch (const StoreError& error) {
        // The frames may be on the disk or not, and so may those of whatever follows them.
        is_broken_ = error.reaction() == Reaction::find_out;
        throw;
    }
    {
        const std::lock_guard lock{mutex_};
        trouble_.clear();
    }
    if (hook_) hook_(writer_);
}

/// After a failure: whatever is still open is rolled back.
void WriteQueue::abandon() {
    writer_.forget();
    if (!writer_.db.in_transaction()) return;
    try {
        writer_.db.execute(sql::rollback);
    } catch (...) {
        is_broken_ = true;
        note(std::current_exception());
    }
}

void WriteQueue::must_be_sound() const {
    if (!is_broken_) return;
    throw StoreError{Reaction::give_up,
                     "sqlite store: nothing is written since the disk failed; restart the process "
                     "when it is sound again. What happened: " +
                         trouble()};
}

std::size_t WriteQueue::waiting() const {
    const std::lock_guard lock{mutex_};
    return waiting_.size();
}

std::string WriteQueue::trouble() const {
    const std::lock_guard lock{mutex_};
    return trouble_;
}

void WriteQueue::look_again(const std::function<void(Session&)>& small_write) {
    {
        const std::lock_guard lock{mutex_};
        const LocalTime now = system_clock().now();
        if (trouble_.empty() || now < look_again_at_) return;
        look_again_at_ = later(now, std::chrono::seconds{1});
    }
    try {
        enter(small_write, false);
    } catch (const StoreError&) {
        // It is not over: what was noted stays.
    }
}

void WriteQueue::note(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const StoreError& error) {
        const bool is_works_own = error.reaction() == Reaction::bad_data;
        const bool is_passing = error.reaction() == Reaction::retry;
        if (is_works_own || is_passing) return;
        const std::lock_guard lock{mutex_};
        // The first cause says more than what follows from it.
        if (trouble_.empty()) trouble_ = error.what();
    } catch (...) {
        // Somebody's work threw something of its own.
    }
}

}  // namespace waybill::sqlite
