#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace waybill::server {

/// One thread for what may block: operators' questions, health. Never in the way of webhooks.
///
/// Thread safety: any thread.
/// Lifetime:      the destructor finishes what is waiting.
class Desk {
public:
    static constexpr std::size_t waiting_max = 256;

    Desk();
    ~Desk();
    Desk(const Desk&) = delete;
    Desk& operator=(const Desk&) = delete;

    /// False: too much is waiting already.
    bool post(std::function<void()> task);

private:
    void run();

    std::mutex mutex_;  ///< guards the two below
    std::deque<std::function<void()>> waiting_{};
    bool stopping_ = false;
    std::condition_variable changed_{};
    std::jthread thread_;  // lint: allow(seams) its own thread is the point
};

}  // namespace waybill::server
