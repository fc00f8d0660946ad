#include "core/runtime/system_random.hpp"

#include <bit>

#include <sys/random.h>

#include "core/assert.hpp"

namespace waybill {

SystemRandom::SystemRandom() {
    // Up to 256 bytes are never cut short once the kernel's pool is ready, and the call waits for it.
    const ssize_t got = ::getrandom(state_.data(), sizeof state_, 0);
    WAYBILL_ASSERT(got == static_cast<ssize_t>(sizeof state_));
    state_[0] |= 1;  // All zero is the one state that never leaves itself.
}

std::uint64_t SystemRandom::next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
}

Random& thread_random() {
    thread_local SystemRandom random;
    return random;
}

}  // namespace waybill
