#include "server/desk.hpp"

#include <utility>

namespace waybill::server {

Desk::Desk() : thread_([this] { run(); }) {}

Desk::~Desk() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_all();
}

bool Desk::post(std::function<void()> task) {
    {
        const std::lock_guard lock{mutex_};
        if (stopping_ || waiting_.size() >= waiting_max) return false;
        waiting_.push_back(std::move(task));
    }
    changed_.notify_one();
    return true;
}

void Desk::run() {
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        const std::function<void()> task = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        task();
        lock.lock();
    }
}

}  // namespace waybill::server
