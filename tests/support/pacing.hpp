#pragma once

#include <chrono>
#include <thread>

/// Real time, for tests of real processes and servers: how fast a load comes, how long a handler works, how
/// often one looks for what nobody announces. Never in place of a signal.
namespace waybill::test {

using SteadyTime = std::chrono::steady_clock::time_point;

inline SteadyTime steady_now() {
    return std::chrono::steady_clock::now();
}
inline void pause_for(std::chrono::steady_clock::duration time) {
    std::this_thread::sleep_for(time);
}

/// Looks again and again. False: not within `at_most`.
template <class Test>
bool look_until(Test test, std::chrono::steady_clock::duration at_most) {
    const SteadyTime until = steady_now() + at_most;
    while (!test()) {
        if (steady_now() > until) return false;
        pause_for(std::chrono::milliseconds{10});
    }
    return true;
}

}  // namespace waybill::test
