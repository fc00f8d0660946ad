#pragma once

#include <cstdint>

/// What the guards of all stores have in common: sqlite/guard.hpp, postgres/guard.hpp.
namespace waybill {

/// What a message without any key is worth.
enum class WithoutKey : std::uint8_t {
    reject,  ///< InvalidMessage, and nothing runs
    allow,   ///< runs in a transaction, unguarded, and is counted
};

/// What became of a guarded call.
enum class Guarded : std::uint8_t {
    ran,
    duplicate,  ///< the mark was there: not run
    unguarded,  ///< ran without any key
};

}  // namespace waybill
