#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace waybill {

/// Something about a store that a person should know, with what to do about it.
struct Finding {
    enum class Severity : std::uint8_t {
        note,     ///< so it is; nothing has to be done
        warning,  ///< it goes on, worse than it could, or not for long
        problem,  ///< a promise is broken, or nothing goes on
    };
    Severity severity = Severity::note;
    /// For programs; never changes: "held-xmin".
    std::string name{};
    /// What is so.
    std::string what{};
    /// What follows from it.
    std::string means{};
    /// Commands or SQL to paste. Empty: there is nothing to do.
    std::string fix{};

    bool operator==(const Finding&) const = default;
};

/// The worst first.
using Findings = std::vector<Finding>;

}  // namespace waybill
