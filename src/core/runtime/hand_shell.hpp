#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "core/runtime/shell.hpp"
#include "core/runtime/system_random.hpp"

namespace waybill::runtime {

/// No thread of its own: store calls and handlers happen on the thread that steps or waits, one
/// after the other. For tests with a clock in their own hand, for hosts that allow no threads, and
/// for programs with a loop of their own. A deadline that passes while a handler runs is noticed when
/// it returns.
///
/// Thread safety: any thread, one at a time. A handler may ask for the status; its waiting is
///                answered "no" at once.
class HandShell final : public Shell {
public:
    HandShell(ShellParts parts, Store& store, Clock& clock, Observer& observer);
    ~HandShell() override;
    HandShell(const HandShell&) = delete;
    HandShell& operator=(const HandShell&) = delete;

    void start() override;
    void stop() override;
    bool wait_idle(Duration timeout, bool for_retries) override;
    engine::Status status() override;
    const std::shared_ptr<Mailbox>& mailbox() const override { return mailbox_; }

    /// One round. Returns when the next one is due, which may be now.
    LocalTime step();

private:
    /// Somebody's turn at the engine; not his when a handler calls back.
    class Turn {
    public:
        explicit Turn(HandShell& shell);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        bool is_nested() const { return nested_; }

    private:
        HandShell& shell_;
        const bool nested_;
    };

    /// Letters (waits for the first one until `wait_until` of this host's clock), time, commands.
    /// False: there was nothing to do.
    bool round(LocalTime wait_until = LocalTime::min());
    LocalTime now() { return std::max(clock_.now(), not_before_); }
    void carry_out(engine::Commands& commands);
    void run(engine::Run& run);
    void cancel(std::span<const engine::RunId> runs);
    bool is_over(bool for_retries) const;

    Store& store_;
    Clock& clock_;
    SystemRandom random_;
    const Duration shutdown_timeout_;
    /// Of a stop: until then answers may come.
    LocalTime patience_ = LocalTime::min();
    engine::Engine engine_;
    const std::shared_ptr<Mailbox> mailbox_;
    const std::vector<std::vector<Carrier>> carriers_;

    std::mutex mutex_;  ///< guards the engine and everything below
    std::atomic<std::thread::id> whose_turn_{};
    StartBudget budget_;
    Letters letters_{};
    bool started_ = false;
    /// How far stop() has told the engine that time went.
    LocalTime not_before_ = LocalTime::min();
};

}  // namespace waybill::runtime
