#pragma once

#include <array>
#include <cstdint>

#include "waybill/runtime.hpp"

namespace waybill {

/// xoshiro256**, seeded by the kernel. Not for secrets; good enough that 128 bits of it never
/// repeat.
///
/// Thread safety: none; one per thread, or thread_random().
class SystemRandom final : public Random {
public:
    SystemRandom();
    std::uint64_t next() override;

private:
    std::array<std::uint64_t, 4> state_{};
};

/// The calling thread's own.
Random& thread_random();

}  // namespace waybill
