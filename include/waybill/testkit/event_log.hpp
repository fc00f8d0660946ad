#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "waybill/observer.hpp"

namespace waybill::testkit {

/// What happened, to wait on and to look at afterwards: the way a test knows that something is over
/// without sleeping.
///
/// Thread safety: any thread.
/// Lifetime:      outlives the application it observes.
class EventLog final : public Observer {
public:
    /// An event, kept.
    struct Line {
        Event::Kind kind{};
        PartitionId partition = 0;
        Sequence sequence = 0;
        Uuid message{};
        std::string target{};
        std::string text{};
        std::uint64_t count = 0;
    };
    /// Far more than anything takes; a test that needs it has failed.
    static constexpr std::chrono::seconds patience{20};

    void on_event(const Event& event) noexcept override;

    /// Until `kind` happened `times` times in all. False: not by then.
    bool wait_for(Event::Kind kind, std::size_t times = 1, Duration at_most = patience);
    /// Until a line satisfies `wanted`.
    bool wait_for_line(const std::function<bool(const Line&)>& wanted, Duration at_most = patience);
    /// Until every delivery of the message is done or dead, durably.
    bool wait_for_message(const Uuid& message, Duration at_most = patience);

    std::size_t count(Event::Kind kind);
    std::vector<Line> lines();
    std::vector<Line> lines(Event::Kind kind);

private:
    static constexpr std::size_t kKinds = static_cast<std::size_t>(Event::Kind::stopped) + 1;

    std::size_t tally(Event::Kind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

    std::mutex mutex_;  ///< guards the two below
    std::vector<Line> lines_;
    std::array<std::size_t, kKinds> counts_{};
    std::condition_variable changed_;
};

}  // namespace waybill::testkit
