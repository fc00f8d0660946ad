#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/runtime/handler_body.hpp"
#include "waybill/executor.hpp"
#include "waybill/runtime.hpp"

namespace waybill::runtime {

struct PoolOptions {
    /// Threads for handlers that keep their deadline. 1 … 4,096.
    std::uint32_t threads_max = 64;
    /// Threads started in place of ones that are stuck in a handler past its deadline.
    std::uint32_t replacements_max = 8;
};

/// Threads that call handlers.
///
/// Jobs come in vectors, one lock per vector; a worker claims one job at a time with an atomic
/// counter, so that a slow handler never has others queued behind it in its own pocket. Threads
/// are started when work waits and nobody takes it for a millisecond: quick handlers are served by
/// two threads, blocking ones by as many as are allowed.
///
/// C++ cannot kill a thread. A worker whose job passed its deadline is abandoned: another takes its
/// place, and it ends when its handler returns.
///
/// Thread safety: start, cancel, poll from one thread (the loop's).
/// Lifetime:      the destructor waits `grace` for handlers and then leaves the stuck ones behind;
///                what they use is shared with them. The clock outlives the process' threads.
class HandlerPool {
public:
    HandlerPool(PoolOptions options, Clock& clock);
    ~HandlerPool();
    HandlerPool(const HandlerPool&) = delete;
    HandlerPool& operator=(const HandlerPool&) = delete;

    void start(const std::shared_ptr<HandlerBody>& body, std::vector<Job> jobs);
    /// Signals the stop token of a running job; one that has not begun is released unheard.
    void cancel(std::span<const std::uint64_t> numbers);
    /// Starts threads that are missing and replaces abandoned ones. Returns when to look again.
    LocalTime poll(LocalTime now);

    std::uint32_t threads() const;

    struct State;
    struct Worker;

private:
    void spawn();
    void replace_overdue(LocalTime now);
    void grow(LocalTime now);

    const PoolOptions options_;
    std::shared_ptr<State> state_;
    std::vector<std::shared_ptr<Worker>> workers_;
    LocalTime next_growth_ = local_never;
    LocalTime next_overdue_ = local_never;
    /// What the queue looked like at the last look: no progress since means more threads.
    std::uint64_t seen_claims_ = 0;
};

/// One target's handler behind the Executor seam.
class HandlerExecutor final : public Executor {
public:
    HandlerExecutor(HandlerPool& pool, std::shared_ptr<HandlerBody> body)
        : pool_(pool), body_(std::move(body)) {}
    void start(std::vector<Job> jobs) override { pool_.start(body_, std::move(jobs)); }
    void cancel(std::span<const std::uint64_t> numbers) override { pool_.cancel(numbers); }

private:
    HandlerPool& pool_;
    std::shared_ptr<HandlerBody> body_;
};

}  // namespace waybill::runtime
