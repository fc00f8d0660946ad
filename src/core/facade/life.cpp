#include <exception>
#include <utility>

#include "core/facade/parts.hpp"
#include "core/runtime/thread_shell.hpp"
#include "core/text.hpp"

/// What happens when an application is declared, started and stopped.
namespace waybill {

/// The store must know a box before a message can go into it, whether an engine runs or not.
void Waybill::Parts::declare_once() {
    if (declared.load(std::memory_order_acquire)) return;
    const std::lock_guard lock{life_mutex};
    if (declared.load(std::memory_order_relaxed)) return;
    if (Problems found = problems(); !found.empty()) throw ConfigError{std::move(found)};

    by_name.clear();
    std::vector<Target> targets;
    for (const RegisteredBox& box : boxes) {
        by_name.emplace(box.name, &box);
        for (const RegisteredTarget& target : box.targets) targets.push_back(target.local.target);
    }
    if (settings.migrate && settings.store.upkeep()) settings.store.upkeep()->migrate();
    settings.store.store().declare(declarations(), targets);
    declared.store(true, std::memory_order_release);
}

void Waybill::Parts::make_askable() {
    if (!boxes.empty()) return declare_once();
    // Whoever only looks describes nothing.
    if (migrated.load(std::memory_order_acquire)) return;
    const std::lock_guard lock{life_mutex};
    if (settings.migrate && settings.store.upkeep()) settings.store.upkeep()->migrate();
    migrated.store(true, std::memory_order_release);
}

std::vector<BoxDeclaration> Waybill::Parts::declarations() const {
    std::vector<BoxDeclaration> all;
    for (const RegisteredBox& box : boxes) all.push_back({box.name, box.options});
    return all;
}

std::shared_ptr<runtime::Shell> Waybill::Parts::make_shell(const std::optional<Guest>& guest) {
    runtime::ShellParts what{
        .config = config(guest.has_value()), .carriers = carriers(), .pool = pool_options()};
    what.random = settings.random;
    if (guest) what.starts_max = guest->starts_max;
    Store& store = settings.store.store();
    if (settings.background) {
        return std::make_shared<runtime::ThreadShell>(std::move(what), store, clock, observers);
    }
    return std::make_shared<runtime::HandShell>(std::move(what), store, clock, observers);
}

void Waybill::Parts::start(const std::optional<Guest>& guest) {
    const std::shared_ptr<runtime::Shell> fresh = make_shell(guest);
    try {
        for (const RegisteredBox& box : boxes) {
            if (box.family) box.family->prepare();
        }
        for (const auto& hook : start_hooks) hook();
    } catch (...) {
        run_stop_hooks();
        throw;
    }
    wakes->point_at(fresh->mailbox());
    appends.hand_over_to(fresh->mailbox());
    fresh->start();
    const bool sweeps = settings.background && !guest && settings.store.upkeep() != nullptr &&
                        settings.sweep.interval > Duration::zero();
    const std::lock_guard lock{shell_mutex};
    shell = fresh;
    if (sweeps) {
        sweeper = std::make_shared<runtime::Sweeper>(*settings.store.upkeep(), declarations(),
                                                     settings.sweep);
    }
}

void Waybill::Parts::stop() {
    const auto old = running();
    if (!old) return;
    {
        std::unique_lock lock{shell_mutex};
        const auto old_sweeper = std::move(sweeper);
        lock.unlock();  // The sweeper's last batch may take a while.
    }
    appends.hand_over_to(nullptr);
    old->stop();
    wakes->point_at(nullptr);
    {
        const std::lock_guard lock{shell_mutex};
        shell.reset();
    }
    run_stop_hooks();
}

void Waybill::Parts::run_stop_hooks() {
    for (auto hook = stop_hooks.rbegin(); hook != stop_hooks.rend(); ++hook) {
        std::string text = "something that is no exception";
        try {
            (*hook)();
            continue;
        } catch (const std::exception& error) {
            text = clean_text(error.what(), runtime::reason_bytes_max);
        } catch (...) {
        }
        observers.on_event({.kind = Event::Kind::hook_failed, .text = text});
    }
}

std::shared_ptr<runtime::Shell> Waybill::Parts::running() {
    const std::lock_guard lock{shell_mutex};
    return shell;
}

std::string Waybill::Parts::sweep_error() {
    std::shared_ptr<runtime::Sweeper> now;
    {
        const std::lock_guard lock{shell_mutex};
        now = sweeper;
    }
    return now ? now->last_error() : std::string{};
}

}  // namespace waybill
