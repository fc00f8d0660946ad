#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/runtime/call_thread.hpp"
#include "core/runtime/shell.hpp"
#include "core/runtime/system_random.hpp"

namespace waybill::runtime {

/// Production: a loop thread that owns the engine, a channel thread and a beat thread that make the
/// store's blocking calls, and the handlers' pool.
///
/// Thread safety: any thread but the loop's own (an observer must not call back).
class ThreadShell final : public Shell {
public:
    ThreadShell(ShellParts parts, Store& store, Clock& clock, Observer& observer);
    ~ThreadShell() override;
    ThreadShell(const ThreadShell&) = delete;
    ThreadShell& operator=(const ThreadShell&) = delete;

    void start() override;
    void stop() override;
    bool wait_idle(Duration timeout, bool for_retries) override;
    engine::Status status() override;
    const std::shared_ptr<Mailbox>& mailbox() const override { return mailbox_; }

private:
    void loop();
    void feed(Letters& letters, LocalTime now);
    void act(LocalTime now);
    void start_runs(std::vector<engine::Run>& runs, LocalTime now);
    void cancel(std::span<const engine::RunId> runs);
    void answer_waits();
    void publish_status();

    Store& store_;
    Clock& clock_;
    SystemRandom random_;
    engine::Engine engine_;
    const std::shared_ptr<Mailbox> mailbox_;
    std::optional<HandlerPool> pool_;
    /// By box and target; the pool's for handlers.
    std::vector<std::vector<std::shared_ptr<Executor>>> executors_;

    // The loop thread's own.
    StartBudget budget_;
    std::vector<std::shared_ptr<IdleWait>> idle_waits_;
    std::vector<std::vector<std::vector<Job>>> jobs_;  ///< by box and target; reused

    std::mutex mutex_;  ///< guards the three below
    engine::Status status_{};
    std::uint64_t status_number_ = 0;
    bool ended_ = true;
    std::condition_variable status_changed_;

    std::mutex stop_mutex_;  ///< guards the joining of the threads
    std::optional<CallThread<engine::ChannelCall>> channel_thread_;
    std::optional<CallThread<InstanceState>> beat_thread_;
    std::thread loop_thread_;
};

}  // namespace waybill::runtime
