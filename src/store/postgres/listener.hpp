#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "core/runtime/call_thread.hpp"
#include "database.hpp"

namespace waybill::postgres {

/// Tells other instances that something new was committed, and hears it from them: LISTEN and NOTIFY on one
/// connection and thread, outside everybody's transactions. NOTIFY takes a lock of the whole database while it
/// commits, so one stands for all that was committed within a few milliseconds, or more where much is.
///
/// A connection that is lost is replaced, and whoever listens is woken then: something may have been missed.
///
/// Thread safety: any call from any thread.
/// Lifetime:      once the destructor has returned, nobody is woken any more.
class Listener {
public:
    /// `is_wanted`: otherwise nothing is heard from others and they are told nothing.
    Listener(Address address, bool is_wanted);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// Before the first call that writes. Starts to listen.
    void on_wake(std::function<void()> wake);
    /// So many were committed here: others should look. 1 or more.
    void announce(std::uint32_t messages);
    /// The same for whoever listens here.
    void wake();
    /// Why wake-ups are lost; empty while they are not, or nobody needs them.
    std::string trouble() const;
    /// The backend that tells us; 0: none at the moment. Nothing: nobody is to be told.
    std::optional<std::int32_t> backend() const;

private:
    void start();
    void run();
    /// Until the connection is lost, or the end.
    void serve(Database& db);
    void hear(Database& db);
    /// Whether the connection is still there.
    void probe(Database& db);
    /// False: nothing came.
    bool rest(int socket, int patience_ms);

    const Address address_;
    const bool is_wanted_;
    const int poke_;  ///< an eventfd: there is something to do
    std::atomic<bool> is_stopping_ = false;
    /// Not told yet.
    std::atomic<std::uint32_t> news_ = 0;
    std::atomic<std::int32_t> backend_ = 0;
    mutable std::mutex mutex_{};  ///< guards the three below; held while somebody is woken
    std::function<void()> wake_{};
    std::string trouble_{};
    struct Start {};
    std::optional<runtime::CallThread<Start>> thread_{};
};

}  // namespace waybill::postgres
