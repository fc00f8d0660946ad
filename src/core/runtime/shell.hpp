#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/runtime/handler_pool.hpp"
#include "core/runtime/mailbox.hpp"
#include "waybill/executor.hpp"
#include "waybill/runtime.hpp"
#include "waybill/store.hpp"

namespace waybill::runtime {

/// What carries a target out: a handler's body, or an executor of its own.
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
    /// Deliveries that are started in all; what is due beyond them is left alone.
    std::optional<std::uint64_t> starts_max{};
    /// Null: the shell's own.
    Random* random = nullptr;
};

/// Drives one engine through one life, from start to stop.
///
/// Lifetime: store, clock and observer outlive it; the destructor stops.
/// Errors:   ConfigError from the constructor; later failures go to the engine.
class Shell {
public:
    virtual ~Shell() = default;

    virtual void start() = 0;
    /// Drains, gives everything back. Handlers that do not end are left behind.
    virtual void stop() = 0;

    /// Until all that was appended before the call is handled and nothing is due, or with
    /// `for_retries` nothing is left in memory at all; also when starts_max is used up and those
    /// have ended. False: not by then.
    virtual bool wait_idle(Duration timeout, bool for_retries) = 0;
    virtual engine::Status status() = 0;
    virtual const std::shared_ptr<Mailbox>& mailbox() const = 0;
};

/// How many deliveries may still be started, and how many that were have not ended.
class StartBudget {
public:
    explicit StartBudget(std::optional<std::uint64_t> starts_max) : left_(starts_max) {}

    /// How many of `wanted` may start now.
    std::size_t admit(std::size_t wanted) {
        const std::size_t admitted = left_ && *left_ < wanted ? *left_ : wanted;
        if (left_) *left_ -= admitted;
        running_ += admitted > 0 ? 1 : 0;
        return admitted;
    }
    void ended(std::size_t runs) { running_ -= runs; }
    std::size_t running() const { return running_; }
    /// All that was allowed has run.
    bool is_spent() const { return left_ == 0U && running_ == 0; }

private:
    std::optional<std::uint64_t> left_;
    std::size_t running_ = 0;
};

}  // namespace waybill::runtime
