#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace waybill {

/// How far the tables of a store are.
struct Schema {
    /// The last migration it has; 0: none yet.
    std::uint32_t version = 0;
    /// The last one this version of the library knows. A store may be newer.
    std::uint32_t newest = 0;
    /// What migrate() would apply, in order: "2 append".
    std::vector<std::string> missing{};

    bool operator==(const Schema&) const = default;
};

}  // namespace waybill
