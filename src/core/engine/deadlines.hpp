#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <utility>

#include "core/engine/engine.hpp"

namespace waybill::engine {

/// When runs time out. Those that have the same time end in the order in which they started: a queue for each
/// timeout that is in use, so that nothing is sorted, and targets without number cost nothing.
class Deadlines {
public:
    void add(Duration timeout, LocalTime deadline, RunId run) {
        queues_[timeout].emplace_back(deadline, run);
        first_ = std::min(first_, deadline);
        ++size_;
    }
    /// Most runs end long before their time is over, and nobody takes them out one by one: as soon as most of what
    /// is here must be of such, they go together. `running`: how many have not ended.
    template <class HasEnded>
    void tidy(std::size_t running, const HasEnded& has_ended) {
        if (size_ < kFew + 4 * running) {
            return;
        }
        size_ = 0;
        for (auto& [timeout, queue] : queues_) {
            std::erase_if(queue, [&](const auto& one) { return has_ended(one.second); });
            size_ += queue.size();
        }
    }
    std::size_t size() const { return size_; }
    /// Nothing is over before.
    LocalTime first() const { return first_; }
    /// Tells of every run whose time is over, once, whether it has ended or not. `tell` may add others.
    template <class Tell>
    void pass(LocalTime now, const Tell& tell) {
        if (now < first_) {
            return;
        }
        first_ = local_never;
        for (auto it = queues_.begin(); it != queues_.end();) {
            auto& queue = it->second;
            while (!queue.empty() && queue.front().first <= now) {
                const RunId run = queue.front().second;
                queue.pop_front();
                --size_;
                tell(run);
            }
            if (queue.empty()) {
                it = queues_.erase(it);
                continue;
            }
            first_ = std::min(first_, queue.front().first);
            ++it;
        }
    }

private:
    static constexpr std::size_t kFew = 4'096;

    std::map<Duration, std::deque<std::pair<LocalTime, RunId>>> queues_{};
    LocalTime first_ = local_never;
    std::size_t size_ = 0;
};

}  // namespace waybill::engine
