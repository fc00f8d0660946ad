#pragma once

#include <functional>
#include <map>
#include <mutex>

namespace waybill {

/// The connections that want to hear of new work.
///
/// Thread safety: any call from any thread. A callback must not call back into this class.
class WakeList {
public:
    void set(const void* connection, std::function<void()> wake) {
        const std::lock_guard lock{mutex_};
        if (wake) {
            callbacks_.insert_or_assign(connection, std::move(wake));
        } else {
            callbacks_.erase(connection);
        }
    }

    void call_all() { call_others(nullptr); }
    /// All but this one, which knows.
    void call_others(const void* except) {
        const std::lock_guard lock{mutex_};
        for (const auto& [connection, wake] : callbacks_) {
            if (connection != except) wake();
        }
    }

private:
    /// Guards callbacks_, and is held while they run: once `set` has returned, the one it replaced
    /// runs no more.
    std::mutex mutex_{};
    std::map<const void*, std::function<void()>> callbacks_{};
};

}  // namespace waybill
