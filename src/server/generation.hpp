#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "server/config/config.hpp"
#include "server/log.hpp"
#include "server/metrics.hpp"
#include "server/store_access.hpp"
#include "server/targets/command_target.hpp"
#include "transport/http_out/http_out.hpp"
#include "waybill/deliver.hpp"
#include "waybill/intake.hpp"
#include "waybill/observer.hpp"
#include "waybill/waybill.hpp"

namespace waybill::server {

/// Writes down what an engine does that a person should know.
class EngineLog final : public Observer {
public:
    explicit EngineLog(Log& log) : log_(log) {}
    void on_event(const Event& event) noexcept override;

private:
    Log& log_;
};

/// Everything that follows from one reading of the configuration: boxes, targets, sources. A reload
/// makes a new one beside the old; when it stands, it takes over, and otherwise nothing has changed.
///
/// Thread safety: start and stop by one thread; `app` and `intake` say their own.
/// Lifetime:      the store, `out`, `log` and the metrics outlive it.
/// Errors:        ConfigError with all problems, before anything has changed.
class Generation {
public:
    Generation(const Config& config, StoreAccess& store, http_out::HttpOut& out, Log& log,
               Metrics& metrics);
    ~Generation();

    /// Works from now on, and knows what the store knows.
    void start();
    /// Starts nothing more, and returns at once; the destructor waits for what runs. Takes in as before.
    void begin_to_stop();

    EngineLog engine_log;
    GenerationCounts counts;
    /// Outlives the engine that hands it deliveries.
    std::shared_ptr<Deliverer> deliverer;
    Waybill app;
    /// Made when the boxes are there.
    std::unique_ptr<Intake> intake{};

private:
    Log& log_;
    std::shared_ptr<RunningCommands> commands_ = std::make_shared<RunningCommands>();
    std::thread stopping_{};  // lint: allow(seams) waits for what runs while the door drains
};

/// Ends the generation before this one on a thread of its own: that takes as long as what it runs, and a
/// signal to stop must not wait for it. One at a time, so that reload after reload keeps no more than two:
/// whoever wants the next one before it is over waits, or looks again later.
///
/// Thread safety: none; who reloads and stops.
/// Lifetime:      the destructor waits.
class Farewell {
public:
    Farewell() = default;
    ~Farewell() { wait(); }
    Farewell(const Farewell&) = delete;
    Farewell& operator=(const Farewell&) = delete;

    void to(std::unique_ptr<Generation> leaving);
    void wait();
    /// Neither to() nor wait() would have to wait.
    bool is_over() const { return is_over_; }

private:
    std::atomic<bool> is_over_{true};
    std::thread thread_{};  // lint: allow(seams) its own thread is the point
};

}  // namespace waybill::server
