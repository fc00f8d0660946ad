#pragma once

#include <cstdint>

/// A layer under SQLite that ends the process in the middle of its input and output.
namespace waybill::crash {

struct Trap {
    enum class Kind : std::uint8_t {
        none,
        before,  ///< the call is not made
        torn,    ///< half of a write is made
        after,   ///< the call is made, its answer never arrives
        power,   ///< what was not synced is lost, but for some sectors; then as `before`
    };
    Kind kind = Kind::none;
    /// It closes in this call, counted from 1: writes, syncs, truncations and deletions.
    std::uint64_t at = 0;
    /// power: which unsynced sectors reach the disk all the same.
    std::uint64_t seed = 1;
};

/// The process's exit code when the trap closed.
inline constexpr int trapped = 77;

/// Every file SQLite opens from now on goes through the trap. Once per process, before SQLite is used.
void set_trap(const Trap& trap);
/// Calls counted so far.
std::uint64_t calls_seen();
/// power: what an orderly end of the machine would do.
void write_all_back();

}  // namespace waybill::crash
