#pragma once

#include <cerrno>
#include <chrono>
#include <ctime>

#include <semaphore.h>

namespace waybill::runtime {

/// What one thread waits for and others give, counted. Cheaper than a condition: who is woken takes no
/// mutex again. And std::counting_semaphore spins first, which with many threads on few processors
/// takes the time from those who are waited for.
///
/// Thread safety: give from any thread, wait from one.
/// Lifetime:      may end when as many waits have returned as nudges were given.
class Nudge {
public:
    Nudge() { ::sem_init(&count_, 0, 0); }
    ~Nudge() { ::sem_destroy(&count_); }
    Nudge(const Nudge&) = delete;
    Nudge& operator=(const Nudge&) = delete;

    void give() { ::sem_post(&count_); }
    void wait() {
        while (::sem_wait(&count_) != 0 && errno == EINTR) {
        }
    }
    /// False: none came in time.
    bool wait_for(std::chrono::nanoseconds at_most) {
        timespec until{};
        ::clock_gettime(CLOCK_MONOTONIC, &until);
        const auto end =
            at_most + std::chrono::seconds{until.tv_sec} + std::chrono::nanoseconds{until.tv_nsec};
        const auto seconds = std::chrono::floor<std::chrono::seconds>(end);
        until = {seconds.count(), (end - seconds).count()};
        int code = 0;
        while ((code = ::sem_clockwait(&count_, CLOCK_MONOTONIC, &until)) != 0 && errno == EINTR) {
        }
        return code == 0;
    }

private:
    ::sem_t count_{};
};

}  // namespace waybill::runtime
