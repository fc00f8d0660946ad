#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/runtime/call_thread.hpp"
#include "core/runtime/handler_pool.hpp"
#include "core/runtime/mailbox.hpp"
#include "core/runtime/system_random.hpp"
#include "waybill/executor.hpp"
#include "waybill/runtime.hpp"
#include "waybill/store.hpp"

namespace waybill::runtime {

/// What carries a target out: a handler on the pool, or an executor of its own.
struct Carrier {
    std::shared_ptr<HandlerBody> body{};
    std::shared_ptr<Executor> executor{};
};

struct ShellParts {
    engine::Config config{};
    /// By box and target, as in `config`.
    std::vector<std::vector<Carrier>> carriers{};
    PoolOptions pool{};
    /// Hand-overs that may wait for the loop; more become a read.
    std::size_t hand_overs_max = 20'000;
};

/// Drives one engine through one life, from start to stop: a loop thread that owns the engine, a
/// channel thread and a beat thread that make the store's blocking calls, and the handlers' pool.
///
/// Thread safety: any thread but the loop's own (an observer must not call back).
/// Lifetime:      store, clock and observer outlive it; the destructor stops and joins.
/// Errors:        ConfigError from the constructor; later failures go to the engine.
class Shell {
public:
    Shell(ShellParts parts, Store& store, Clock& clock, Observer& observer);
    ~Shell();
    Shell(const Shell&) = delete;
    Shell& operator=(const Shell&) = delete;

    void start();
    /// Drains, gives everything back, joins. Handlers that do not end are left behind.
    void stop();

    /// Until all that was appended before the call is handled and nothing is due, or with
    /// `for_retries` nothing is left in memory at all. False: not by then.
    bool wait_idle(Duration timeout, bool for_retries = false);
    engine::Status status();
    const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }

private:
    void loop();
    void feed(Letters& letters, LocalTime now);
    void act();
    void start_runs(std::vector<engine::Run>& runs);
    void cancel(std::span<const engine::RunId> runs);
    void answer_waits();
    void publish_status();
    engine::ChannelReply call(const engine::ChannelCall& call);
    engine::BeatAnswer beat(const InstanceState& state);

    Store& store_;
    Clock& clock_;
    SystemRandom random_;
    engine::Engine engine_;
    const std::shared_ptr<Mailbox> mailbox_;
    std::optional<HandlerPool> pool_;
    /// By box and target; the pool's for handlers.
    std::vector<std::vector<std::shared_ptr<Executor>>> executors_;

    // The loop thread's own.
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
