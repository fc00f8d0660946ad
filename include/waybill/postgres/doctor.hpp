#pragma once

#include <cstdint>
#include <string>

#include "waybill/finding.hpp"
#include "waybill/time.hpp"

namespace waybill::postgres {

/// From where on something is worth a word.
struct DoctorOptions {
    std::string schema = "waybill";
    /// The role of the servers, whose rights are looked at. Empty: who asks.
    std::string server{};
    /// A role that publishes by SQL; its rights are looked at, too. Empty: nobody's.
    std::string publisher{};
    /// A transaction that is open for so long.
    Duration old_transaction = std::chrono::minutes{1};
    /// A message that has waited for so long.
    Duration old_message = std::chrono::minutes{5};
    /// Between the database's clock and this host's.
    Duration clock_skew = std::chrono::milliseconds{500};
    /// Rows that were deleted and are still there, in one table.
    std::uint64_t dead_rows = 10'000;
    /// For each question.
    Duration deadline = std::chrono::seconds{10};

    bool operator==(const DoctorOptions&) const = default;
};

/// Looks at a database and at the store in it, and changes nothing: needs no rights but to connect, and works
/// on a schema that is missing, older or newer, beside servers that run. What it may not see it says. The
/// worst comes first; one that cannot be reached is a finding.
Findings examine(const std::string& conninfo, const DoctorOptions& options = {});

}  // namespace waybill::postgres
