#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "waybill/observer.hpp"
#include "waybill/uuid.hpp"

namespace demo {

using Clock = std::chrono::steady_clock;

inline constexpr std::array<std::string_view, 6> lane_names{"ada",    "barbara", "bjarne",
                                                            "dennis", "grace",   "ken"};

struct Counts {
    std::uint64_t appended = 0;
    std::uint64_t finished = 0;
    std::uint64_t done = 0;
    std::uint64_t retried = 0;
    std::uint64_t dead = 0;
    std::uint64_t requeued = 0;
    std::uint64_t taken_over = 0;
    std::uint64_t out_of_order = 0;
};

/// What ended well: a dead letter has finished too, and a second time after its requeue.
inline std::uint64_t done_messages(const Counts& counts) {
    return counts.finished - counts.dead;
}

struct LaneView {
    std::uint64_t appended = 0;
    std::uint64_t ended = 0;
    /// The last number that was durably charged: the next one must be larger.
    std::uint64_t last = 0;
    /// Empty: it flows.
    std::string trouble{};
};

struct InstanceView {
    std::string name{};
    std::string state{};
    bool alive = false;
    std::uint32_t partitions = 0;
    std::uint64_t running = 0;
};

struct Line {
    double at = 0;
    std::string text{};
};

/// Everything the demo knows, written by the instances' threads and read by the screen.
///
/// Thread safety: any thread.
class Board {
public:
    struct View {
        Counts counts{};
        std::array<LaneView, lane_names.size()> lanes{};
        std::vector<InstanceView> instances{};
        std::deque<Line> lines{};
        /// How many lines there have been in all.
        std::uint64_t lines_told = 0;
        double seconds = 0;
    };

    /// The next message of a lane is about to be appended.
    std::uint64_t next_number(std::size_t lane);
    void appended(std::size_t lane, std::uint64_t number, const waybill::Uuid& id);
    /// An order outside the lanes on show that nobody can charge.
    void poisoned();
    void requeued();
    void tell(std::string text);
    void on_event(std::string_view instance, const waybill::Event& event);
    void show_instances(std::vector<InstanceView> instances);

    View view() const;
    double seconds() const;

private:
    struct Place {
        std::size_t lane = 0;
        std::uint64_t number = 0;
    };
    void charged(const Place& place);
    void tell_locked(std::string text);

    const Clock::time_point start_ = Clock::now();
    mutable std::mutex mutex_;  ///< guards the two below
    View view_{};
    std::unordered_map<waybill::Uuid, Place> places_;
};

}  // namespace demo
