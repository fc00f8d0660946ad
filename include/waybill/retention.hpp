#pragma once

#include <cstdint>

#include "waybill/problems.hpp"
#include "waybill/time.hpp"

namespace waybill {

/// How a running application deletes what its boxes no longer keep (keep_done, keep_dead,
/// keep_attempts, dedup_window). Work that is open is never deleted, however old it is.
struct SweepOptions {
    /// Pause between two sweeps, a fifth more or less; the first one after a random part of it.
    /// Zero: none, call Waybill::sweep() yourself. Otherwise 10 ms … 30 days.
    Duration interval = std::chrono::hours{1};
    /// Rows of each kind in one commit. 1 … 100,000.
    std::uint32_t batch_rows = 1'000;

    bool operator==(const SweepOptions&) const = default;
};

/// All problems of the options.
Problems check(const SweepOptions& options);

}  // namespace waybill
