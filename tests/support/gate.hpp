#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stop_token>

namespace waybill::test {

/// A door that handlers wait at until a test opens it.
///
/// Thread safety: any thread.
/// Lifetime:      whoever waits at it must have left first; share it with handlers that get stuck.
class Gate {
public:
    static constexpr std::chrono::seconds patience{20};

    void open() {
        const std::lock_guard lock{mutex_};
        open_ = true;
        changed_.notify_all();
    }
    /// Until it is open.
    void pass() {
        std::unique_lock lock{mutex_};
        ++arrived_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
    }
    /// Until it is open or `stop` is signalled; true when open.
    bool pass(const std::stop_token& stop) {
        std::unique_lock lock{mutex_};
        ++arrived_;
        changed_.notify_all();
        return changed_.wait(lock, stop, [this] { return open_; });
    }
    /// Until that many have come to it, in all.
    bool wait_for_arrivals(std::size_t count) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, patience, [&] { return arrived_ >= count; });
    }
    std::size_t arrived() {
        const std::lock_guard lock{mutex_};
        return arrived_;
    }

private:
    std::mutex mutex_;  ///< guards the two below
    bool open_ = false;
    std::size_t arrived_ = 0;
    std::condition_variable_any changed_;
};

/// Whatever happens, nobody waits at it for ever.
struct OpenAtTheEnd {
    Gate& gate;
    ~OpenAtTheEnd() { gate.open(); }
};

}  // namespace waybill::test
