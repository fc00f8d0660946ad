#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "waybill/observer.hpp"

namespace waybill::test {

/// What happened, to wait on and to look at afterwards: the way tests know that something is over
/// without sleeping.
///
/// Thread safety: any thread.
class EventLog final : public Observer {
public:
    struct Line {
        Event::Kind kind{};
        PartitionId partition = 0;
        Sequence sequence = 0;
        Uuid message{};
        std::string target{};
        std::string text{};
        std::uint64_t count = 0;
    };
    static constexpr std::chrono::seconds patience{20};

    void on_event(const Event& event) noexcept override {
        const std::lock_guard lock{mutex_};
        lines_.push_back({event.kind, event.partition, event.sequence, event.message,
                          std::string{event.target}, std::string{event.text}, event.count});
        ++counts_[static_cast<std::size_t>(event.kind)];
        changed_.notify_all();
    }

    /// Until `kind` happened `times` times in all. False: not by then.
    bool wait_for(Event::Kind kind, std::size_t times = 1, Duration at_most = patience) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, at_most, [&] { return tally(kind) >= times; });
    }
    /// Until a line satisfies `wanted`.
    bool wait_for_line(const std::function<bool(const Line&)>& wanted,
                       Duration at_most = patience) {
        std::unique_lock lock{mutex_};
        std::size_t seen = 0;
        return changed_.wait_for(lock, at_most, [&] {
            while (seen < lines_.size()) {
                if (wanted(lines_[seen++])) return true;
            }
            return false;
        });
    }
    std::size_t count(Event::Kind kind) {
        const std::lock_guard lock{mutex_};
        return tally(kind);
    }
    std::vector<Line> lines() {
        const std::lock_guard lock{mutex_};
        return lines_;
    }
    std::vector<Line> lines(Event::Kind kind) {
        std::vector<Line> wanted = lines();
        std::erase_if(wanted, [&](const Line& line) { return line.kind != kind; });
        return wanted;
    }

private:
    static constexpr std::size_t kKinds = static_cast<std::size_t>(Event::Kind::stopped) + 1;

    std::size_t tally(Event::Kind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

    std::mutex mutex_;  ///< guards the two below
    std::vector<Line> lines_;
    std::size_t counts_[kKinds]{};
    std::condition_variable changed_;
};

}  // namespace waybill::test
