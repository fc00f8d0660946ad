#pragma once

#include <algorithm>

#include "waybill/system.hpp"
#include "waybill/time.hpp"

namespace waybill::server {

/// Something that takes the store time to find out: asked so rarely that it is busy with it for a
/// twentieth of its time at most.
///
/// Thread safety: none.
template <class Value>
class Seldom {
public:
    explicit Seldom(Duration good_for) : good_for_(good_for) {}

    template <class Ask>
    const Value& get(Ask ask) {
        constexpr int kShare = 20;
        const LocalTime before = system_clock().now();
        if (before < ask_at_) return value_;
        value_ = ask();
        const LocalTime after = system_clock().now();
        ask_at_ = later(after, std::max<Duration>(good_for_, (after - before) * kShare));
        return value_;
    }
    /// It is asked again at once.
    void forget() { ask_at_ = {}; }

private:
    const Duration good_for_;
    Value value_{};
    LocalTime ask_at_{};
};

}  // namespace waybill::server
