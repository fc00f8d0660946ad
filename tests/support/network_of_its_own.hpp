#pragma once

#include <cstdint>
#include <string>

namespace waybill::test {

/// A network that has nobody in it but this process, where every address is ours: whoever listens on 0.0.0.0 or :: is
/// 169.254.169.254, 10.0.0.1, fd00::1 and everybody else.
///
/// The thread that calls enter(), and those it starts, never leave it.
class NetworkOfItsOwn {
public:
    /// Empty: we are in it. Else why that is not permitted here. Throws std::runtime_error when it is permitted and
    /// does not work.
    static std::string enter();
    /// Whether a test may be left out where it is not permitted: on somebody's laptop. In CI (CI=true) it must run.
    static bool may_be_missing();
    /// Connections that were begun in it, to anywhere, with or without success.
    static std::uint64_t connections_begun();
};

}  // namespace waybill::test
