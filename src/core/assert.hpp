#pragma once

#include <cstdio>
#include <cstdlib>

namespace waybill::detail {

/// Our own bug: nothing that follows can be trusted, so nothing follows.
[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: waybill: assertion failed: %s\n", file, line, condition);
    std::fflush(stderr);
    std::abort();
}

}  // namespace waybill::detail

/// Checked in every build type.
#define WAYBILL_ASSERT(condition) \
    ((condition) ? void() : ::waybill::detail::assertion_failed(#condition, __FILE__, __LINE__))
