#include "deliver/worker.hpp"

#include <utility>

#include "core/runtime/thread_name.hpp"
#include "waybill/system.hpp"

namespace waybill::deliver {

Worker::Worker(std::function<void()> regularly, Duration pause)
    : regularly_(std::move(regularly)), pause_(pause), thread_([this] { run(); }) {}

Worker::~Worker() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void Worker::post(std::function<void()> task) {
    {
        const std::lock_guard lock{mutex_};
        waiting_.push_back(std::move(task));
    }
    changed_.notify_one();
}

void Worker::run() {
    runtime::name_this_thread("waybill deliver");
    LocalTime due = later(system_clock().now(), pause_);
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait_for(lock, due - system_clock().now(),
                          [this] { return stopping_ || !waiting_.empty(); });
        if (!waiting_.empty()) {
            const std::function<void()> task = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            task();
            lock.lock();
        } else if (stopping_) {
            return;
        }
        if (!stopping_ && system_clock().now() >= due) {
            lock.unlock();
            regularly_();
            lock.lock();
            due = later(system_clock().now(), pause_);
        }
    }
}

}  // namespace waybill::deliver
