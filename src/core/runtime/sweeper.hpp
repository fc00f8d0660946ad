#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "waybill/retention.hpp"
#include "waybill/runtime.hpp"
#include "waybill/upkeep.hpp"

namespace waybill::runtime {

/// Sweeps in batches until nothing is left to delete, or until told to stop. Throws StoreError.
Swept sweep_all(Upkeep& upkeep, const std::vector<BoxDeclaration>& boxes, std::uint32_t batch_rows,
                const std::stop_token& stop = {});

/// Sweeps again and again on a thread of its own, so that nothing waits for it.
///
/// Thread safety: any thread.
/// Lifetime:      the store outlives it; the destructor waits for the batch in hand.
/// Errors:        a sweep that fails is repeated at its next time; last_error() has the text.
class Sweeper {
public:
    Sweeper(Upkeep& upkeep, std::vector<BoxDeclaration> boxes, SweepOptions options);
    Sweeper(const Sweeper&) = delete;
    Sweeper& operator=(const Sweeper&) = delete;

    /// Empty: the last one went well.
    std::string last_error();

private:
    void run(const std::stop_token& stop);

    Upkeep& upkeep_;
    const std::vector<BoxDeclaration> boxes_;
    const SweepOptions options_;
    std::mutex mutex_;  ///< guards error_
    std::string error_{};
    std::condition_variable_any changed_;
    std::jthread thread_;
};

}  // namespace waybill::runtime
