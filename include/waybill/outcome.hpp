#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

#include "waybill/time.hpp"

/// What an attempt may end in. Returning from a handler is Done, throwing is Fail; the others are
/// said explicitly. Crash, shutdown and lost ownership are none of these and cost no attempt.
namespace waybill {

/// It is done, and is never run again.
struct Done {
    bool operator==(const Done&) const = default;
};

/// Counted against max_attempts, retried with back-off.
struct Fail {
    std::string reason{};
    /// No retry can help: dead at once.
    bool permanent = false;
    /// The receiver's own wish, honoured within bounds instead of the back-off.
    std::optional<Duration> retry_after{};
    /// The wish is only the least it waits: where the back-off is longer, that counts.
    bool backs_off_too = false;

    bool operator==(const Fail&) const = default;
};

/// Not now: not counted, tried again after the delay (which has a floor). Keeps its place in the lane.
struct Defer {
    Duration delay{};
    /// The whole target rests meanwhile on this instance: nothing else of it is started, and nothing is
    /// written down.
    bool whole_target = false;

    bool operator==(const Defer&) const = default;
};

/// To the dead letters now.
struct Dead {
    std::string reason{};

    bool operator==(const Dead&) const = default;
};

/// Thrown by a handler: no retry can help. The same as returning Fail with `permanent`: dead at once,
/// with this text as the reason.
class PermanentFailure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What a handler returns.
using Outcome = std::variant<Done, Fail, Defer, Dead>;

}  // namespace waybill
