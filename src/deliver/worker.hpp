#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "waybill/time.hpp"

namespace waybill::deliver {

/// One thread for what may block: readers, secrets, the store. Also does one thing again and again.
///
/// Thread safety: any thread.
/// Lifetime:      the destructor finishes what is waiting.
class Worker {
public:
    Worker(std::function<void()> regularly, Duration pause);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void post(std::function<void()> task);

private:
    void run();

    const std::function<void()> regularly_;
    const Duration pause_;
    std::mutex mutex_{};  ///< guards the two below
    std::deque<std::function<void()>> waiting_{};
    bool stopping_ = false;
    std::condition_variable changed_{};
    std::thread thread_;  // lint: allow(seams) its own thread is the point
};

}  // namespace waybill::deliver
