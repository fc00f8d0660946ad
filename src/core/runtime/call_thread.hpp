#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/runtime/thread_name.hpp"

namespace waybill::runtime {

/// A thread that makes one blocking call at a time, so that the loop never does.
///
/// Thread safety: post from one thread, and only when the last call was answered.
/// Lifetime:      the destructor waits for the call in hand.
template <class Call>
class CallThread {
public:
    /// `name` is a literal.
    CallThread(const char* name, std::function<void(Call)> make)
        : make_(std::move(make)), thread_([this, name] {
              name_this_thread(name);
              run();
          }) {}
    ~CallThread() {
        {
            const std::lock_guard lock{mutex_};
            stopping_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    CallThread(const CallThread&) = delete;
    CallThread& operator=(const CallThread&) = delete;

    void post(Call call) {
        {
            const std::lock_guard lock{mutex_};
            call_ = std::move(call);
        }
        changed_.notify_one();
    }

private:
    void run() {
        for (;;) {
            std::unique_lock lock{mutex_};
            changed_.wait(lock, [this] { return stopping_ || call_; });
            if (!call_) return;
            Call call = std::move(*call_);
            call_.reset();
            lock.unlock();
            make_(std::move(call));
        }
    }

    const std::function<void(Call)> make_;
    std::mutex mutex_;  ///< guards the two below
    std::optional<Call> call_{};
    bool stopping_ = false;
    std::condition_variable changed_;
    std::thread thread_;
};

}  // namespace waybill::runtime
