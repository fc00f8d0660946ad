#pragma once

#include <cstdint>
#include <fstream>

#include <unistd.h>

namespace waybill::test {

/// What this process has in memory now.
inline std::uint64_t resident_bytes() {
    std::ifstream file{"/proc/self/statm"};
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    file >> size >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// How much it may grow without anything being kept: sanitizers keep what was freed, and shadows of it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t memory_that_may_vary = std::uint64_t{400} << 20;
#else
inline constexpr std::uint64_t memory_that_may_vary = std::uint64_t{24} << 20;
#endif

}  // namespace waybill::test
