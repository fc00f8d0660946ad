#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/runtime/append_queue.hpp"
#include "core/runtime/hand_shell.hpp"
#include "core/runtime/signals.hpp"
#include "core/runtime/sweeper.hpp"
#include "waybill/waybill.hpp"

namespace waybill {

/// Passes events on, and counts those that run_once() answers with.
class Observers final : public Observer {
public:
    void add(Observer& observer) { observers_.push_back(&observer); }
    void on_event(const Event& event) noexcept override {
        if (event.kind == Event::Kind::done || event.kind == Event::Kind::died) {
            ended_.fetch_add(1, std::memory_order_relaxed);
        }
        for (Observer* observer : observers_) observer->on_event(event);
    }
    std::uint64_t ended() const { return ended_.load(std::memory_order_relaxed); }

private:
    std::vector<Observer*> observers_;
    std::atomic<std::uint64_t> ended_{0};
};

/// Passes the store's hints on to the engine that runs now, if one does. Shared with the store's
/// callback, which may outlive the application.
class WakeRelay {
public:
    void point_at(std::shared_ptr<runtime::Mailbox> mailbox) {
        const std::lock_guard lock{mutex_};
        mailbox_ = std::move(mailbox);
    }
    void wake() {
        const std::lock_guard lock{mutex_};
        if (mailbox_) mailbox_->wake();
    }

private:
    std::mutex mutex_;  ///< guards mailbox_
    std::shared_ptr<runtime::Mailbox> mailbox_;
};

/// A target and what carries it out, as registered.
struct RegisteredTarget {
    engine::LocalTarget local{};
    Handler handler{};
    BatchHandler batch_handler{};
    InlineHandler inline_handler{};
    std::shared_ptr<Executor> executor{};
};

struct RegisteredBox {
    std::string name{};
    BoxOptions options{};
    std::vector<RegisteredTarget> targets{};
    std::shared_ptr<TargetFamily> family{};
};

struct Waybill::Parts {
    explicit Parts(Settings the_settings);

    // Described while nothing runs.
    const Settings settings;
    Clock& clock;
    std::vector<RegisteredBox> boxes;
    std::map<std::string, const RegisteredBox*, std::less<>> by_name;
    Observers observers;
    std::vector<std::function<void()>> start_hooks;
    std::vector<std::function<void()>> stop_hooks;

    runtime::AppendQueue appends;
    const std::shared_ptr<WakeRelay> wakes = std::make_shared<WakeRelay>();
    /// The store knows the boxes and targets as they are now.
    std::atomic<bool> declared{false};
    /// The store has its tables, as far as that is ours to do.
    std::atomic<bool> migrated{false};

    std::mutex life_mutex;   ///< held while starting, stopping or declaring: one at a time
    std::mutex shell_mutex;  ///< guards the two below; never held for long
    std::shared_ptr<runtime::Shell> shell;
    std::shared_ptr<runtime::Sweeper> sweeper;

    std::mutex signals_mutex;  ///< guards signals
    runtime::StopSignals* signals = nullptr;

    Box add_box(Waybill& app, std::string name, BoxOptions options);
    void add_target(std::size_t box, RegisteredTarget target);
    /// Throws ConfigError while something runs.
    void must_be_stopped(const char* what);

    Append prepare(Message message);
    void declare_once();
    /// Before somebody asks about what is stored: there may be no tables yet.
    void make_askable();

    Problems problems() const;
    engine::Config config(bool guest = false) const;
    std::vector<std::vector<runtime::Carrier>> carriers() const;
    runtime::PoolOptions pool_options() const;

    std::vector<BoxDeclaration> declarations() const;

    struct Guest {
        std::optional<std::uint64_t> starts_max{};
    };
    std::shared_ptr<runtime::Shell> make_shell(const std::optional<Guest>& guest);
    /// Under life_mutex. A guest does no upkeep and stays no longer than it must.
    void start(const std::optional<Guest>& guest = {});
    void stop();
    void run_stop_hooks();
    std::shared_ptr<runtime::Shell> running();
    std::string sweep_error();
};

}  // namespace waybill
