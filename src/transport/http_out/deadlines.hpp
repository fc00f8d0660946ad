#pragma once

#include <optional>
#include <string>

#include "transport/http_out/exchange.hpp"

/// Which deadline has passed, and when to look again. Pure.
namespace waybill::http_out {

/// When each part was over, from the beginning of the request; 0: it is not.
struct Progress {
    Duration name{};
    Duration connected{};
    /// The connection can be used: TLS is done.
    Duration ready{};
    Duration first_byte{};
};

Phase phase_of(const Progress& progress);

struct Look {
    /// What has passed. 0: none.
    Duration limit{};
    /// From the beginning of the request: no deadline passes before.
    Duration again{};
};
Look look(const Deadlines& deadlines, const Progress& progress, Duration elapsed);

/// "timed out while connecting, after 10 s"
std::string timed_out(Phase phase, Duration limit);

/// From moments to lengths.
Timings timings_of(const Progress& progress, Duration total);

}  // namespace waybill::http_out
