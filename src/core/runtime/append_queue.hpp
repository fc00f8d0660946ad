#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/runtime/company.hpp"
#include "core/runtime/mailbox.hpp"
#include "core/runtime/nudge.hpp"
#include "waybill/store.hpp"

namespace waybill::runtime {

struct AppendLimits {
    /// Messages that may wait while a batch is being stored; beyond that append throws Overloaded.
    std::size_t waiting_max = 100'000;
    /// Messages of one commit. A single call is never split.
    std::size_t batch_max = 2'000;
    /// What the store asks to repeat is repeated this long; then it fails. Each try takes the store's
    /// own time.
    Duration patience = std::chrono::seconds{1};
    /// A thread for those who do not wait, started for the first of them. Off: their own thread
    /// carries it out.
    bool own_thread = true;
};

/// The results, or why there are none.
using Appended = std::function<void(std::vector<AppendResult>, std::exception_ptr)>;

/// Group commit: callers that wait while one batch is being stored are the next batch, with those of the
/// last one who come back at once. Whoever makes them complete carries it out on its own thread, so an
/// idle queue adds neither a delay nor a thread hop. A store that takes several batches at once gets them.
/// For those who do not wait a thread of the queue does it; they share batches with the others, and nothing
/// that came later is stored before them.
///
/// Each call is atomic. Calls that share a batch do not share fate: when a batch fails for a reason
/// that may lie in one of them, each is repeated alone.
///
/// Thread safety: any thread.
/// Lifetime:      the store outlives it. The destructor stores and answers what is still waiting.
/// Errors:        Overloaded; StoreError when nothing was stored. A lost answer is the status
///                `unknown`, not an error.
class AppendQueue {
public:
    AppendQueue(Store& store, AppendLimits limits)
        : store_(store), limits_(limits), company_(store.capabilities().appends_at_once) {}
    ~AppendQueue();
    AppendQueue(const AppendQueue&) = delete;
    AppendQueue& operator=(const AppendQueue&) = delete;

    std::vector<AppendResult> append(std::vector<Append> items);
    /// Returns at once. `answered` neither blocks nor throws.
    void append(std::vector<Append> items, Appended answered);
    /// The next one would be refused.
    bool is_full() const;
    /// Messages whose turn has not come.
    std::size_t waiting() const;
    /// Where fresh messages are handed over; null for nowhere.
    void hand_over_to(std::shared_ptr<Mailbox> mailbox);

private:
    /// A call. One that waits lives on its caller's stack until it has heard all its nudges.
    struct Ticket {
        explicit Ticket(std::vector<Append> the_items) : items(std::move(the_items)) {}
        std::vector<Append> items;
        std::vector<AppendResult> results{};
        std::exception_ptr error{};
        /// Of one that does not wait; such a ticket belongs to the queue.
        Appended answered{};
        /// Somebody carries it out. Guarded by the queue's mutex.
        bool is_taken = false;
        /// It has waited for others long enough. For its caller.
        bool is_impatient = false;
        std::atomic<bool> is_finished{false};
        /// How many it gets altogether. Guarded by the queue's mutex until it is taken, then for who
        /// carries it out, and for its caller once it is finished.
        unsigned nudges = 0;
        /// How many its caller has heard.
        unsigned heard = 0;
        Nudge nudge{};
    };
    using Round = std::vector<Ticket*>;

    void append_here(std::vector<Append> items, const Appended& answered);
    void admit(Ticket& ticket);
    void run_thread();

    /// Stores one round on behalf of everyone in it, and returns unlocked. True: with `mine`.
    bool lead(std::unique_lock<std::mutex>& lock, const Ticket* mine);
    bool is_free() const;
    bool may_lead(const Ticket& ticket) const;
    /// Until something happened, and returns unlocked. True: the ticket is finished.
    bool wait(std::unique_lock<std::mutex>& lock, Ticket& ticket);
    /// Gives the lead to whoever comes next, and unlocks.
    void pass_on(std::unique_lock<std::mutex>& lock);
    Round next_round();
    void carry_out(Round& round, const std::shared_ptr<Mailbox>& mailbox);
    void carry_out_together(Round& round, LocalTime patient_until);
    void carry_out_alone(Ticket& ticket, LocalTime patient_until);
    std::vector<AppendResult> store(std::span<const Append> items, LocalTime patient_until);
    static void hand_over(const Round& round, Mailbox& mailbox, std::uint64_t reads_before);
    static void answer(Ticket& ticket);

    Store& store_;
    const AppendLimits limits_;
    mutable std::mutex mutex_;  ///< guards everything below, and the tickets that wait
    std::deque<Ticket*> waiting_;
    std::size_t waiting_messages_ = 0;
    /// Batches that are being stored.
    std::size_t under_way_ = 0;
    std::size_t tickets_under_way_ = 0;
    /// One of them has tickets of those who do not wait: their next ones must not overtake it.
    bool is_ordered_ = false;
    Company company_;
    std::shared_ptr<Mailbox> mailbox_;
    bool stopping_ = false;
    std::condition_variable thread_wakes_;
    std::thread thread_;  ///< leads for those who do not wait
};

}  // namespace waybill::runtime
