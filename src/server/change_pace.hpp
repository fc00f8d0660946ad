#pragma once

#include <chrono>
#include <mutex>

#include "waybill/runtime.hpp"

namespace waybill::server {

/// How often a change is looked at at once, where that means looking at everything: always while it is cheap, and with
/// thousands of subscriptions a small part of the time. What is left out, whoever looks regularly sees a moment later.
///
/// Thread safety: any thread.
class ChangePace {
public:
    static constexpr Duration cheap = std::chrono::milliseconds{20};
    /// A look may follow the last one after so many times what that took.
    static constexpr int pause = 20;

    explicit ChangePace(Clock& clock) : clock_(clock) {}

    template <class Look>
    void look(const Look& look) {
        {
            const std::lock_guard lock{mutex_};
            if (took_ > cheap && clock_.now() < ended_ + pause * took_) return;
        }
        const LocalTime begin = clock_.now();
        look();
        const std::lock_guard lock{mutex_};
        ended_ = clock_.now();
        took_ = ended_ - begin;
    }

private:
    Clock& clock_;
    std::mutex mutex_{};  ///< guards the two below
    LocalTime ended_{};
    Duration took_{};
};

}  // namespace waybill::server
