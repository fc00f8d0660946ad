#include "waybill/waybill.hpp"

#include <utility>

#include "core/facade/parts.hpp"
#include "waybill/system.hpp"

/// Starting, stopping and asking.
namespace waybill {
namespace {

Status status_of(const engine::Status& engine) {
    return {
        .started = true,
        .ready = engine.ready,
        .resigned = engine.resigned,
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
    };
}

}  // namespace

/// The store must know a box before a message can go into it, whether an engine runs or not.
void Waybill::Parts::declare_once() {
    if (declared.load(std::memory_order_acquire)) return;
    const std::lock_guard lock{life_mutex};
    if (declared.load(std::memory_order_relaxed)) return;
    if (Problems found = problems(); !found.empty()) throw ConfigError{std::move(found)};

    by_name.clear();
    std::vector<BoxDeclaration> declarations;
    std::vector<Target> targets;
    for (const RegisteredBox& box : boxes) {
        by_name.emplace(box.name, &box);
        declarations.push_back({box.name, box.options});
        for (const RegisteredTarget& target : box.targets) targets.push_back(target.local.target);
    }
    if (settings.migrate && settings.store.upkeep()) settings.store.upkeep()->migrate();
    settings.store.store().declare(declarations, targets);
    declared.store(true, std::memory_order_release);
}

void Waybill::Parts::start(bool guest) {
    const auto fresh = std::make_shared<runtime::Shell>(
        runtime::ShellParts{
            .config = config(guest), .carriers = carriers(), .pool = pool_options()},
        settings.store.store(), system_clock(), observers);
    wakes->point_at(fresh->mailbox());
    appends.hand_over_to(fresh->mailbox());
    fresh->start();
    const std::lock_guard lock{shell_mutex};
    shell = fresh;
}

void Waybill::Parts::stop() {
    const auto old = running();
    if (!old) return;
    appends.hand_over_to(nullptr);
    old->stop();
    wakes->point_at(nullptr);
    const std::lock_guard lock{shell_mutex};
    shell.reset();
}

std::shared_ptr<runtime::Shell> Waybill::Parts::running() {
    const std::lock_guard lock{shell_mutex};
    return shell;
}

Waybill::Waybill(Settings settings) : parts_(std::make_unique<Parts>(std::move(settings))) {}

Waybill::~Waybill() {
    stop();
}

void Waybill::start() {
    parts_->declare_once();
    const std::lock_guard lock{parts_->life_mutex};
    if (!parts_->running()) parts_->start(false);
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

std::uint64_t Waybill::run_once(Duration at_most) {
    parts_->declare_once();
    const std::lock_guard lock{parts_->life_mutex};
    if (parts_->running()) {
        throw ConfigError{{"run_once() while the application runs; use one or the other"}};
    }
    const std::uint64_t before = parts_->observers.ended();
    parts_->start(true);
    parts_->running()->wait_idle(at_most);
    parts_->stop();
    return parts_->observers.ended() - before;
}

bool Waybill::wait_idle(Duration timeout) {
    const auto shell = parts_->running();
    return shell && shell->wait_idle(timeout);
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
    return shell ? status_of(shell->status()) : Status{};
}

Health Waybill::health(const HealthLimits& limits) {
    StoreHealth store{.reachable = true};
    try {
        if (parts_->settings.store.upkeep()) store = upkeep().health();
    } catch (const StoreError& error) {
        store = {.reachable = false, .text = error.what()};
    }
    Health health = judge(status(), store, limits);
    if (parts_->settings.relaxed_durability) {
        health.reasons.push_back("durability is relaxed: a crash may lose what was acknowledged");
        if (health.state == Health::State::healthy) health.state = Health::State::degraded;
    }
    return health;
}

Catalogue& Waybill::catalogue() {
    if (Catalogue* catalogue = parts_->settings.store.catalogue()) return *catalogue;
    throw ConfigError{{"this store has no catalogue; browse it with its own tools"}};
}

Upkeep& Waybill::upkeep() {
    if (Upkeep* upkeep = parts_->settings.store.upkeep()) return *upkeep;
    throw ConfigError{{"this store needs no upkeep of ours"}};
}

}  // namespace waybill
