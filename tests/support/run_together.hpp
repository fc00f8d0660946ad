#pragma once

#include <barrier>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace waybill::test {

/// Runs `body(0)` … `body(count - 1)` on threads that start in the same moment, and waits for all.
/// The first exception is passed on.
inline void run_together(int count, const std::function<void(int)>& body) {
    std::barrier gate{count};
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < count; ++i) {
            threads.emplace_back([&, i] {
                gate.arrive_and_wait();
                try {
                    body(i);
                } catch (...) {
                    failures[static_cast<std::size_t>(i)] = std::current_exception();
                }
            });
        }
    }
    for (const std::exception_ptr& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

}  // namespace waybill::test
