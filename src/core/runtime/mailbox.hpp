#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/engine/engine.hpp"
#include "waybill/executor.hpp"
#include "waybill/runtime.hpp"

namespace waybill::runtime {

/// Somebody who waits until there is nothing left to do. Guarded by the mutex inside.
class IdleWait {
public:
    explicit IdleWait(bool wait_for_retries) : for_retries(wait_for_retries) {}

    /// What waits for its time counts too.
    const bool for_retries;

    /// False: not idle by `timeout`, or nothing runs any more.
    bool wait(Duration timeout);
    void answer(bool idle);

private:
    std::mutex mutex_;  ///< guards answer_
    std::condition_variable changed_;
    std::optional<bool> answer_{};
};

/// What has happened since the loop looked last.
struct Letters {
    std::vector<engine::Completed> completed{};
    std::vector<engine::HandOver> appended{};
    std::vector<std::shared_ptr<IdleWait>> idle_waits{};
    std::optional<engine::BeatAnswer> beat{};
    std::optional<engine::ChannelReply> channel{};
    bool wake = false;
    bool stop = false;
    /// Somebody wants a fresh status.
    bool ask = false;

    bool empty() const {
        return completed.empty() && appended.empty() && idle_waits.empty() && !beat && !channel &&
               !wake && !stop && !ask;
    }
};

/// Events on their way to the loop thread: written by many, taken all at once by one.
///
/// Bounded: one beat and one channel answer at most, completions by what the engine runs, hand-overs
/// by `hand_overs_max`; beyond that they become a wake-up, because the store has them anyway.
///
/// Thread safety: any thread; take() from one.
/// Lifetime:      shared by completions that may come late.
class Mailbox final : public Completion::Sink {
public:
    explicit Mailbox(std::size_t hand_overs_max) : hand_overs_max_(hand_overs_max) {}

    void complete(std::uint64_t number, DeliveryResults results) noexcept override;
    void append(std::vector<engine::HandOver> messages);
    void beat(engine::BeatAnswer answer);
    void channel(engine::ChannelReply reply);
    void idle_wait(std::shared_ptr<IdleWait> wait);
    void wake();
    void stop();
    void ask();
    /// Nobody will take letters any more: answers those who wait, now and later.
    void close();

    /// Engine::overtaking_reads(), published before a read goes out. Reads with a higher number than an
    /// append saw before it was sent may have brought what it stored.
    std::atomic<std::uint64_t> overtaking_reads{0};

    /// Waits for the first letter, at most until `until`. `letters` is reused and emptied.
    void take(Letters& letters, LocalTime until, Clock& clock);

private:
    template <class Write>
    void post(Write write);

    const std::size_t hand_overs_max_;
    std::mutex mutex_;  ///< guards the three below
    Letters letters_{};
    bool closed_ = false;
    bool asleep_ = false;
    std::condition_variable arrived_;
};

}  // namespace waybill::runtime
