#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "boxes.hpp"
#include "waybill/store.hpp"

namespace waybill::sqlite {

/// The one connection that writes, and the queue in front of it. Whatever waits while one transaction
/// is being committed shares the next: appends, settlements and people's wishes alike, durable each,
/// paid once. The first that waits carries all of them out on its own thread, so an idle queue adds
/// neither a delay nor a thread hop.
///
/// Strangers do not share fate: each is in a savepoint of its own, and one that fails is rolled back
/// alone.
///
/// Thread safety: any thread.
/// Errors:        what the work threw; StoreError when the transaction failed, or when the turn did not
///                come within the limit.
class WriteQueue {
public:
    struct Limits {
        /// For a turn to come, and for others to leave the file.
        Duration patience{};
        /// Works that share a transaction at most.
        std::size_t batch_max = 64;
    };

    WriteQueue(Session& writer, Limits limits) : writer_(writer), limits_(limits) {}

    /// Inside a write transaction; committed when it returns. `work` may be called again when a
    /// stranger lost the transaction for all of them.
    template <class Work>
    auto write(Work work) {
        using Result = std::invoke_result_t<Work&, Session&>;
        if constexpr (std::is_void_v<Result>) {
            enter([&](Session& session) { work(session); }, false);
        } else {
            std::optional<Result> result;
            enter([&](Session& session) { result = work(session); }, false);
            return std::move(*result);
        }
    }
    /// Alone at the writer, outside any transaction.
    void exclusive(const std::function<void(Session&)>& work) { enter(work, true); }
    /// The same if nobody is there or waits; otherwise nothing, and false.
    bool exclusive_if_idle(const std::function<void(Session&)>& work);

    /// How many wait for their turn now.
    std::size_t waiting() const;
    /// Why the last transaction could not be written; empty when it could. Only the store's own trouble
    /// counts, not what was wrong with somebody's work.
    std::string trouble() const;
    /// After trouble: `small_write` finds out whether it is over, at most once a second. Nothing is
    /// tried where the last transaction was written.
    void look_again(const std::function<void(Session&)>& small_write);

    /// After each transaction, on the thread that committed it, before anybody is told.
    void on_commit(std::function<void(Session&)> hook) { hook_ = std::move(hook); }

private:
    using Work = std::function<void(Session&)>;
    struct Ticket {
        const Work& work;
        bool is_exclusive = false;
        LocalTime patient_until{};
        bool is_taken = false;
        bool is_done = false;
        std::exception_ptr error{};
        std::condition_variable changed{};
    };
    using Round = std::vector<Ticket*>;

    void enter(const Work& work, bool is_exclusive);
    bool may_lead(const Ticket& ticket) const;
    void lead(std::unique_lock<std::mutex>& lock);
    Round next_round();
    void give_up_waiting(const Ticket& ticket);

    void carry_out(Round& round);
    void be_patient(const Round& round);
    void carry_out_together(Round& round);
    void carry_out_alone(Ticket& ticket);
    /// False: the whole transaction is gone with it.
    bool carry_out_inside(Ticket& ticket);
    void carry_out_exclusive(Ticket& ticket);
    void commit();
    void abandon();
    void must_be_sound() const;
    void note(const std::exception_ptr& failure);

    Session& writer_;
    const Limits limits_;
    std::function<void(Session&)> hook_{};
    /// Nothing may be written any more. Touched only by who leads.
    bool is_broken_ = false;

    mutable std::mutex mutex_{};  ///< guards everything below, and the tickets that wait
    std::string trouble_{};
    LocalTime look_again_at_{};
    std::deque<Ticket*> waiting_{};
    bool is_busy_ = false;
    std::thread::id leader_{};
};

}  // namespace waybill::sqlite
