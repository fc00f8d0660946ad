#include "waybill/waybill.hpp"

#include <utility>

#include "core/facade/parts.hpp"

/// Starting, stopping and asking.
namespace waybill {
namespace {

Status status_of(const engine::Status& engine) {
    return {
        .started = true,
        .ready = engine.ready,
        .resigned = engine.resigned,
        .careful = engine.in_flight_max != UINT32_MAX,
        .late = engine.late,
        .partitions = engine.partitions,
        .entries = engine.entries,
        .window_used = engine.window_used,
        .running = engine.running,
        .ghosts = engine.ghosts,
        .unsettled = engine.unsettled,
        .blocked_lanes = engine.blocked_lanes,
        .reconciled = engine.reconciled,
        .chains_behind = engine.chains_behind,
        .refused = engine.refused,
    };
}

}  // namespace

Waybill::Waybill(Settings settings) : parts_(std::make_unique<Parts>(std::move(settings))) {}

Waybill::~Waybill() {
    stop();
}

void Waybill::start() {
    parts_->declare_once();
    const std::lock_guard lock{parts_->life_mutex};
    if (!parts_->running()) parts_->start();
}

void Waybill::stop() {
    {
        const std::lock_guard lock{parts_->signals_mutex};
        if (parts_->signals != nullptr) parts_->signals->interrupt();
    }
    const std::lock_guard lock{parts_->life_mutex};
    parts_->stop();
}

void Waybill::run() {
    if (!parts_->settings.background) {
        throw ConfigError{
            {"run() needs background = true; without it call start(), step() and stop()"}};
    }
    runtime::StopSignals signals;
    {
        const std::lock_guard lock{parts_->signals_mutex};
        parts_->signals = &signals;
    }
    try {
        start();
        signals.wait();
    } catch (...) {
        const std::lock_guard lock{parts_->signals_mutex};
        parts_->signals = nullptr;
        throw;
    }
    {
        const std::lock_guard lock{parts_->signals_mutex};
        parts_->signals = nullptr;
    }
    stop();
}

std::uint64_t Waybill::run_once(Duration at_most, std::uint64_t deliveries_max) {
    parts_->declare_once();
    const std::lock_guard lock{parts_->life_mutex};
    if (parts_->running()) {
        throw ConfigError{{"run_once() while the application runs; use one or the other"}};
    }
    Parts::Guest guest;
    if (deliveries_max != no_limit) guest.starts_max = deliveries_max;
    const std::uint64_t before = parts_->observers.ended();
    parts_->start(guest);
    parts_->running()->wait_idle(at_most, false);
    parts_->stop();
    return parts_->observers.ended() - before;
}

LocalTime Waybill::step() {
    const auto shell = std::dynamic_pointer_cast<runtime::HandShell>(parts_->running());
    if (!shell) {
        throw ConfigError{
            {"step() is for a started application with background = false; others run by "
             "themselves"}};
    }
    return shell->step();
}

Swept Waybill::sweep() {
    parts_->declare_once();
    return runtime::sweep_all(upkeep(), parts_->declarations(), parts_->settings.sweep.batch_rows);
}

DeadLetters Waybill::dead_letters() {
    return DeadLetters{catalogue()};
}

bool Waybill::wait_idle(Duration timeout) {
    const auto shell = parts_->running();
    return shell && shell->wait_idle(timeout, false);
}

bool Waybill::wait_done(Duration timeout) {
    const auto shell = parts_->running();
    return shell && shell->wait_idle(timeout, true);
}

bool Waybill::run_until_idle(Duration timeout) {
    const bool started_here = !parts_->running();
    if (started_here) start();
    const bool idle = wait_idle(timeout);
    if (started_here) stop();
    return idle;
}

Status Waybill::status() {
    const auto shell = parts_->running();
    Status status = shell ? status_of(shell->status()) : Status{};
    status.appends_waiting = parts_->appends.waiting();
    return status;
}

Health Waybill::health(const HealthLimits& limits) {
    StoreHealth store{.reachable = true};
    try {
        parts_->make_askable();
        if (parts_->settings.store.upkeep()) store = upkeep().health();
    } catch (const StoreError& error) {
        store = {.reachable = false, .text = error.what()};
    }
    Health health = judge(status(), store, limits);
    const auto degrade = [&](std::string reason) {
        health.reasons.push_back(std::move(reason));
        if (health.state == Health::State::healthy) health.state = Health::State::degraded;
    };
    if (parts_->settings.relaxed_durability) {
        degrade("durability is relaxed: a crash may lose what was acknowledged");
    }
    if (const std::string error = parts_->sweep_error(); !error.empty()) {
        degrade("what is no longer kept could not be deleted: " + error);
    }
    return health;
}

Catalogue& Waybill::catalogue() {
    Catalogue* catalogue = parts_->settings.store.catalogue();
    if (catalogue == nullptr) {
        throw ConfigError{{"this store has no catalogue; browse it with its own tools"}};
    }
    parts_->make_askable();
    return *catalogue;
}

Upkeep& Waybill::upkeep() {
    if (Upkeep* upkeep = parts_->settings.store.upkeep()) return *upkeep;
    throw ConfigError{{"this store needs no upkeep of ours"}};
}

}  // namespace waybill
